import type { RetryOutcome } from '../../shared/delivery/retry-attempt.ts';
import type { Channel } from '../../shared/domain/words.ts';

/** Which appends of a process wait between load and append: those of that event that hold such an entry. */
export interface Gate {
  eventId: string;
  kind: string;
  /** Holds so many of them, and lets the others pass. */
  times: number;
  /** Instead of waiting before the append, the process stops itself right after the commit, as a machine that falls asleep does. */
  stopAfterCommit?: boolean;
}

export interface PartSettings {
  part: Channel | 'coordinator';
  submitStartWithinMs?: number;
  /** A shorter lock than the service's own, so that a lost one is found soon. */
  lockDurationMs?: number;
}

/** What the test asks of a process; each is answered. */
export type Asked =
  | { ask: 'start'; part: PartSettings }
  | { ask: 'stop-parts' }
  | { ask: 'gate'; gates: Gate[] }
  | { ask: 'release' }
  | { ask: 'clock'; at: number }
  | { ask: 'retry'; attempt: string; actor: string; requestId: string };
export type Answer = { retried?: RetryOutcome };

/** An append that waits at the gate, with what its entries would say. */
export interface Held { told: 'held'; eventId: string; decidedOn: number; actor: string; requestId: string; kinds: string[] }

/** What a process tells of itself. */
export type Told =
  | { told: 'ready' }
  | Held
  /** It has this instant to live before it stops itself. */
  | { told: 'stopping'; eventId: string }
  | { told: 'appended'; eventId: string; version: number; kinds: string[]; actor: string; requestId: string }
  | { told: 'took'; queue: string; jobId: string }
  | { told: 'finished'; queue: string; jobId: string }
  | { told: 'logged'; line: Record<string, unknown> }
  | { told: 'answer'; id: number; answer: Answer }
  | { told: 'failed'; id: number; error: string };
