import type { Append } from '../../shared/ledger/rows.ts';
import type { Appender } from '../../shared/ledger/appender.ts';
import type { Gate, Held, Told } from './messages.ts';

export interface GatedAppend {
  append: Appender;
  set: (gates: readonly Gate[]) => void;
  release: () => void;
  /** How long appends have waited here, in ms: that is the test's time and not the product's. */
  heldMs: () => number;
}

const textOf = (append: Append, column: 'actor' | 'request_id'): string => String(append.rows.entries[0]?.[column]);

const heldOf = (append: Append, kinds: string[]): Held =>
  ({ told: 'held', eventId: append.eventId, decidedOn: append.expectedVersion, actor: textOf(append, 'actor'), requestId: textOf(append, 'request_id'), kinds });

/** The product's append behind a gate: what the gate speaks of has been loaded and decided on, and waits for its release. */
export const gatedAppend = (append: Appender, tell: (told: Told, sent?: () => void) => void): GatedAppend => {
  let gates: Gate[] = [];
  let heldMs = 0;
  const waiting: (() => void)[] = [];

  const gateOf = ({ eventId }: Append, kinds: string[]): Gate | null => {
    const found = gates.find((gate) => gate.times > 0 && gate.eventId === eventId && kinds.includes(gate.kind));
    if (found) found.times -= 1;
    return found ?? null;
  };
  const wait = async (held: Held): Promise<void> => {
    const from = performance.now();
    const released = new Promise<void>((resolve) => { waiting.push(resolve); });
    tell(held);
    await released;
    heldMs += performance.now() - from;
  };
  // Told first and in full: a process that has stopped says nothing more.
  const stop = (eventId: string): Promise<void> => new Promise((resolve) => {
    tell({ told: 'stopping', eventId }, () => {
      process.kill(process.pid, 'SIGSTOP');
      resolve();
    });
  });

  return {
    append: async (one) => {
      const kinds = one.rows.entries.map((entry) => String(entry['kind']));
      const found = gateOf(one, kinds);
      if (found && !found.stopAfterCommit) await wait(heldOf(one, kinds));
      const won = await append(one);
      if (won) tell({ told: 'appended', eventId: one.eventId, version: one.version, kinds, actor: textOf(one, 'actor'), requestId: textOf(one, 'request_id') });
      if (won && found?.stopAfterCommit) await stop(one.eventId);
      return won;
    },
    set: (next) => { gates = next.map((gate) => ({ ...gate })); },
    release: () => { for (const resolve of waiting.splice(0)) resolve(); },
    heldMs: () => heldMs,
  };
};
