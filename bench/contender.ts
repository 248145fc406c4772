import type { ClockSet } from './clocks.ts';

/** As the image sets it: young objects get room to die young. The same for every contender. */
export const NODE_FLAGS = '--max-semi-space-size=64';

/** Something that takes notices over HTTP and brings them to the sandbox: the product in one of its shapes, or the unsafe baseline. */
export interface Contender {
  readonly name: string;
  /** Its node processes. */
  readonly pids: readonly number[];
  /** Posts one notice and resolves to its id once it was accepted. Rejects on any other answer. */
  post: (index: number, clocks: ClockSet) => Promise<string>;
  /** Those of the ids whose workflow is over: the SMS known as delivered, or the email taken by the provider and recorded. */
  completed: (ids: readonly string[]) => Promise<string[]>;
  /** The instant (ms) at which each SMS had to be confirmed. */
  deadlines: (ids: readonly string[]) => Promise<Map<string, number>>;
  /** Stops its processes in their tracks, so that they cost nothing while another one is measured. */
  tell: (signal: NodeJS.Signals) => void;
  freeze: () => void;
  thaw: () => void;
}
