import type { Seeded } from '../audit/seeded.ts';
import type { TransportChoice } from '../../shared/transports/carriers.ts';
import { stream } from './random.ts';

/** Boundaries behind which something is durable, or on its way to be: where a process may die, stop, or lose an answer. */
export const BOUNDARIES = [
  'load', 'append-start', 'append-answer', 'append-claim', 'append-other', 'accept', 'due', 'lease', 'take-outbox', 'remove-outbox', 'enqueue',
  'connect', 'bytes', 'answer', 'status',
] as const;
export type Boundary = (typeof BOUNDARIES)[number];
const LEDGER: readonly Boundary[] = ['load', 'append-start', 'append-answer', 'append-claim', 'append-other', 'accept', 'due', 'lease', 'take-outbox', 'remove-outbox'];

/** A fault with everything that it needs: what is left out of a plan leaves the rest as it was. */
export type Fault =
  | { kind: 'crash' | 'stop'; boundary: Boundary; side: 'before' | 'after'; pass: number; forMs: number }
  /** The statement was committed, and its answer is lost with the connection. */
  | { kind: 'commit-answer-lost'; boundary: Boundary; pass: number }
  | { kind: 'database-away' | 'queue-away'; at: number; forMs: number }
  | { kind: 'queue-flushed'; at: number }
  | { kind: 'job-lost' | 'job-twice'; pass: number }
  | { kind: 'job-late'; pass: number; byMs: number }
  | { kind: 'clock-skew'; process: number; byMs: number; at: number }
  | { kind: 'double-tick'; pass: number }
  /** Every tick and every read of a status takes that much longer, for the whole run. */
  | { kind: 'slow-coordinators'; ticksByMs: number; readsByMs: number }
  | { kind: 'double-post'; workflow: number }
  /** Of the nth provider call that submits. */
  | { kind: 'slow-answer'; pass: number; byMs: number }
  | { kind: 'response-lost'; pass: number; taken: boolean }
  | { kind: 'error-though-taken' | 'answer-without-id' | 'connection-refused'; pass: number }
  /** The provider refuses for a while, and takes its time to say so. */
  | { kind: 'provider-busy'; at: number; forMs: number; slowMs: number }
  /** Our account is refused for a while, whatever is sent. */
  | { kind: 'account-refused'; channel: 'sms' | 'email'; at: number; forMs: number }
  | { kind: 'rate-limited'; pass: number; retryAfterMs: number | null }
  /** Of the nth read of a status. */
  | { kind: 'read-failed'; pass: number; retryAfterMs: number | null }
  | { kind: 'not-found-first'; pass: number; times: number }
  | { kind: 'status-regression' | 'status-malformed' | 'look-up-ambiguous'; pass: number };
export type FaultKind = Fault['kind'];

export const FAULT_KINDS: readonly FaultKind[] = [
  'crash', 'stop', 'commit-answer-lost', 'database-away', 'queue-away', 'queue-flushed', 'job-lost', 'job-twice', 'job-late', 'clock-skew', 'double-tick', 'slow-coordinators',
  'double-post', 'slow-answer', 'response-lost', 'error-though-taken', 'answer-without-id', 'connection-refused', 'provider-busy', 'account-refused', 'rate-limited', 'read-failed',
  'not-found-first', 'status-regression', 'status-malformed', 'look-up-ambiguous',
];

/** What an operator does about a notification, that long after it was accepted. */
export interface Act { kind: 'pause' | 'resume' | 'retry' | 'erase'; afterMs: number }
export interface Workflow {
  at: number; policy: number; closeAfterMs: number | null; region: 'US' | 'ZZ'; bar: 'sms' | 'email' | null; expiresInMs: number | null; acts: Act[];
  /** A ticket whose text no template takes. */
  unrenderable: boolean;
}
export interface Plan { seed: number; carriers: TransportChoice; workflows: Workflow[]; faults: Fault[] }

/** Crashes and stops are drawn more often: each boundary has to be met, on both sides. */
const DRAWN: readonly FaultKind[] = [...FAULT_KINDS, 'crash', 'crash', 'crash', 'stop', 'stop', 'response-lost', 'account-refused', 'account-refused', 'look-up-ambiguous', 'look-up-ambiguous', 'look-up-ambiguous', 'look-up-ambiguous'];

const MINUTE = 60_000;

const drawFault = (kind: FaultKind, random: Seeded): Fault => {
  const pass = random.between(1, random.chance(0.6) ? 2 : 8);
  switch (kind) {
    case 'crash':
    case 'stop': {
      const forMs = kind === 'crash' ? random.between(50, 20_000) : random.pick([1_500, 2_500, 9_000, 18_000, 25_000, 45_000]);
      return { kind, boundary: random.pick(BOUNDARIES), side: random.pick(['before', 'after']), pass, forMs };
    }
    case 'commit-answer-lost': return { kind, boundary: random.pick(LEDGER), pass };
    case 'database-away':
    case 'queue-away': return { kind, at: random.between(0, 2 * MINUTE), forMs: random.between(200, 20_000) };
    case 'queue-flushed': return { kind, at: random.between(0, MINUTE) };
    case 'provider-busy': return { kind, at: random.between(0, 20_000), forMs: random.between(5_000, 200_000), slowMs: random.between(50, 7_500) };
    case 'account-refused': return { kind, channel: random.pick(['sms', 'email']), at: random.between(0, 3_000), forMs: random.between(2_000, random.chance(0.5) ? 30_000 : 200_000) };
    case 'slow-coordinators': return { kind, ticksByMs: random.between(500, 4_000), readsByMs: random.between(200, 5_000) };
    case 'job-twice': return { kind, pass: random.between(1, random.chance(0.5) ? 3 : 14) };
    case 'job-lost':
    case 'double-tick':
    case 'error-though-taken':
    case 'answer-without-id':
    case 'connection-refused':
    case 'status-regression':
    case 'status-malformed': return { kind, pass: random.between(1, kind === 'double-tick' ? 6 : 2) };
    case 'look-up-ambiguous': return { kind, pass: 1 };
    case 'job-late': return { kind, pass, byMs: random.between(20, 12_000) };
    case 'clock-skew': return { kind, process: random.between(0, 7), byMs: random.between(-1_500, 1_500), at: random.chance(0.5) ? 0 : random.between(0, MINUTE) };
    case 'double-post': return { kind, workflow: random.between(0, 1) };
    case 'slow-answer': return { kind, pass: random.between(1, 2), byMs: random.between(300, 12_000) };
    case 'response-lost': return { kind, pass: random.between(1, 2), taken: random.chance(0.6) };
    case 'rate-limited': return { kind, pass: random.between(1, 2), retryAfterMs: random.pick([null, 0, 2_000, 20_000, 3_600_000]) };
    case 'read-failed': return { kind, pass: random.between(1, 4), retryAfterMs: random.pick([null, null, 5_000]) };
    case 'not-found-first': return { kind, pass: 1, times: random.between(1, 3) };
  }
};

const drawActs = (random: Seeded): Act[] => {
  const acts: Act[] = [];
  if (random.chance(0.2)) {
    const afterMs = random.between(0, random.chance(0.5) ? 300 : 60_000);
    acts.push({ kind: 'pause', afterMs });
    if (random.chance(0.7)) acts.push({ kind: 'resume', afterMs: afterMs + random.between(100, 60_000) });
  }
  if (random.chance(0.25)) acts.push({ kind: 'retry', afterMs: random.between(2_000, 120_000) });
  if (random.chance(0.05)) acts.push({ kind: 'erase', afterMs: random.between(0, random.chance(0.6) ? 20 : 40_000) });
  return acts;
};

const drawWorkflow = (random: Seeded, carriers: TransportChoice): Workflow => ({
  at: random.between(0, 3_000),
  policy: (carriers.sms === 'sinch' || carriers.email === 'resend') && random.chance(0.5) ? 6 : random.between(0, 6),
  closeAfterMs: random.chance(0.25) ? random.between(0, random.chance(0.5) ? 500 : 40_000) : null,
  region: random.chance(0.03) ? 'ZZ' : 'US',
  bar: random.chance(0.06) ? random.pick(['sms', 'email']) : null,
  expiresInMs: random.chance(0.1) ? random.between(100_000, 150_000) : null,
  acts: drawActs(random),
  unrenderable: random.chance(0.03),
});

/** Everything that a seed stands for. */
export const planOf = (seed: number, withFaults = true): Plan => {
  const random = stream(seed, 'plan');
  const carriers: TransportChoice = { sms: random.pick(['twilio', 'twilio', 'sinch']), email: random.pick(['smtp', 'smtp', 'resend']) };
  const workflows = Array.from({ length: random.pick([1, 1, 1, 1, 2, 2, 3]) }, () => drawWorkflow(random, carriers));
  const faults = withFaults ? Array.from({ length: random.between(2, 6) }, () => drawFault(random.pick(DRAWN), random)) : [];
  return { seed, carriers, workflows, faults };
};
