import type { Seeded } from '../audit/seeded.ts';
import type { TransportChoice } from '../../shared/transports/carriers.ts';
import { stream } from './random.ts';
import { ASKING, FLOODED, SHADOWED, SILENT } from './policies.ts';
import { drawTrouble } from './troubles.ts';

/** Boundaries behind which something is durable, or on its way to be: where a process may die, stop, or lose an answer. */
export const BOUNDARIES = [
  'load', 'append-start', 'append-answer', 'append-claim', 'append-other', 'accept', 'due', 'lease', 'take-outbox', 'remove-outbox', 'enqueue',
  'connect', 'bytes', 'answer', 'status',
] as const;
export type Boundary = (typeof BOUNDARIES)[number];
/** Where an answer can be lost although what was asked for stands: every statement of the ledger, and the enqueue. At the provider `response-lost` does it. */
export const ANSWERED: readonly Boundary[] = ['load', 'append-start', 'append-answer', 'append-claim', 'append-other', 'accept', 'due', 'lease', 'take-outbox', 'remove-outbox', 'enqueue'];

/** A fault with everything that it needs: what is left out of a plan leaves the rest as it was. */
export type Fault =
  | { kind: 'crash' | 'stop'; boundary: Boundary; side: 'before' | 'after'; pass: number; forMs: number }
  /** The statement was committed, or the jobs were put in, and the answer is lost with the connection. */
  | { kind: 'commit-answer-lost'; boundary: Boundary; pass: number }
  | { kind: 'database-away' | 'queue-away'; at: number; forMs: number }
  | { kind: 'queue-flushed'; at: number }
  | { kind: 'job-lost' | 'job-twice'; pass: number }
  /** With `again`, of the nth job that brings back an attempt which had a job before. */
  | { kind: 'job-late'; pass: number; byMs: number; again: boolean }
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
  | { kind: 'refused'; pass: number; as: 'rejected' | 'suppressed' | 'provider_unavailable' }
  /** Of the nth message that is taken: delivered, and returned after that. */
  | { kind: 'bounced-later'; pass: number; deliveredAfterMs: number; bouncesAfterMs: number }
  /** Of the nth read of a status. */
  | { kind: 'read-failed'; pass: number; retryAfterMs: number | null }
  /** It takes that long to reach the provider. */
  | { kind: 'slow-read'; pass: number; byMs: number }
  | { kind: 'not-found-first'; pass: number; times: number }
  | { kind: 'status-regression' | 'status-malformed' | 'look-up-ambiguous'; pass: number };
export type FaultKind = Fault['kind'];

export const FAULT_KINDS: readonly FaultKind[] = [
  'crash', 'stop', 'commit-answer-lost', 'database-away', 'queue-away', 'queue-flushed', 'job-lost', 'job-twice', 'job-late', 'clock-skew', 'double-tick', 'slow-coordinators',
  'double-post', 'slow-answer', 'response-lost', 'error-though-taken', 'answer-without-id', 'connection-refused', 'provider-busy', 'account-refused', 'rate-limited', 'refused', 'bounced-later',
  'read-failed', 'slow-read', 'not-found-first', 'status-regression', 'status-malformed', 'look-up-ambiguous',
];

/** What an operator does about a notification, that long after it was accepted. */
export interface Act { kind: 'pause' | 'resume' | 'retry' | 'erase' | 'suppress-sms' | 'suppress-email' | 'withdraw-sms' | 'withdraw-email'; afterMs: number; /** A retry that takes a second message upon itself. */ overrides?: boolean }
export interface Workflow {
  at: number; policy: number; closeAfterMs: number | null; region: 'US' | 'ZZ'; bar: 'sms' | 'email' | null; expiresInMs: number | null; acts: Act[];
  /** To whom it goes; several may go to one. */
  person: number;
  /** A ticket whose text no template takes. */
  unrenderable: boolean;
  /** What its origin system says, where it is to be asked. */
  origin: OriginSays | null;
}
/** The first questions bring an error; from `noAfterMs` on, counted from the first question, nothing is needed any more; each answer takes `slowMs`. */
export interface OriginSays { errors: number; noAfterMs: number | null; slowMs: number }
export interface Plan { seed: number; carriers: TransportChoice; workflows: Workflow[]; faults: Fault[] }

const SIDES = ['before', 'after'] as const;
/** Every fault of every boundary; the seeds take turns at them. */
const PAIRS: readonly { kind: 'crash' | 'stop' | 'commit-answer-lost'; boundary: Boundary; side: 'before' | 'after' }[] = [
  ...BOUNDARIES.flatMap((boundary) => (['crash', 'stop'] as const).flatMap((kind) => SIDES.map((side) => ({ kind, boundary, side })))),
  ...ANSWERED.map((boundary) => ({ kind: 'commit-answer-lost', boundary, side: 'after' } as const)),
];
/** The other kinds; the seeds take turns at them too. */
const ELSEWHERE: readonly FaultKind[] = FAULT_KINDS.filter((kind) => PAIRS.every((pair) => pair.kind !== kind));
const DRAWN: readonly FaultKind[] = [...FAULT_KINDS, 'crash', 'stop', 'response-lost', 'look-up-ambiguous', 'look-up-ambiguous', 'look-up-ambiguous', 'look-up-ambiguous'];

const MINUTE = 60_000;

const atBoundary = ({ kind, boundary, side }: (typeof PAIRS)[number], random: Seeded): Fault => {
  // A workflow passes few of them once, and none of them often.
  const pass = random.between(1, random.chance(0.6) || boundary === 'append-claim' || boundary === 'accept' ? 2 : 8);
  if (kind === 'commit-answer-lost') return { kind, boundary, pass };
  const forMs = kind === 'crash' ? random.between(50, 20_000) : random.pick([1_500, 2_500, 9_000, 18_000, 25_000, 45_000]);
  return { kind, boundary, side, pass, forMs };
};

const drawFault = (kind: FaultKind, random: Seeded): Fault => {
  const pass = random.between(1, random.chance(0.6) ? 2 : 8);
  switch (kind) {
    case 'crash':
    case 'stop':
    case 'commit-answer-lost': return atBoundary(random.pick(PAIRS.filter((pair) => pair.kind === kind)), random);
    case 'database-away':
    case 'queue-away': return { kind, at: random.between(0, 2 * MINUTE), forMs: random.between(200, 20_000) };
    case 'queue-flushed': return { kind, at: random.between(0, MINUTE) };
    case 'provider-busy': return { kind, at: random.between(0, random.chance(0.6) ? 3_000 : 20_000), forMs: random.between(5_000, 200_000), slowMs: random.between(50, 7_500) };
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
    case 'job-late': return random.chance(0.3) ? { kind, pass: 1, byMs: random.between(1_000, 12_000), again: true } : { kind, pass, byMs: random.between(20, 12_000), again: false };
    case 'clock-skew': return { kind, process: random.between(0, 7), byMs: random.between(-1_500, 1_500), at: random.chance(0.5) ? 0 : random.between(0, MINUTE) };
    case 'double-post': return { kind, workflow: random.between(0, 1) };
    case 'slow-answer': return { kind, pass: random.between(1, 2), byMs: random.between(300, 12_000) };
    case 'response-lost': return { kind, pass: random.between(1, 2), taken: random.chance(0.6) };
    case 'rate-limited': return { kind, pass: random.between(1, 2), retryAfterMs: random.pick([null, 0, 2_000, 20_000, 3_600_000]) };
    case 'refused': return { kind, pass: random.between(1, 2), as: random.pick(['rejected', 'suppressed', 'provider_unavailable']) };
    case 'bounced-later': return { kind, pass: random.between(1, 2), deliveredAfterMs: random.between(500, 20_000), bouncesAfterMs: random.between(50, 10_000) };
    case 'slow-read': return { kind, pass: random.between(1, 4), byMs: random.between(200, 7_500) };
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
  if (random.chance(0.25)) acts.push({ kind: 'retry', afterMs: random.between(2_000, 120_000), overrides: random.chance(0.2) });
  if (random.chance(0.05)) acts.push({ kind: 'erase', afterMs: random.between(0, random.chance(0.6) ? 20 : 40_000) });
  return acts;
};

/** An operator puts a destination on the suppression list; half of the time while its first submission is about to start. */
const drawSuppressions = (random: Seeded): Act[] => {
  if (!random.chance(0.25)) return [];
  const afterMs = random.between(0, random.chance(0.5) ? 20 : 45_000);
  return [{ kind: random.chance(0.7) ? 'suppress-sms' : 'suppress-email', afterMs }];
};

const drawWorkflow = (random: Seeded, carriers: TransportChoice): Omit<Workflow, 'person' | 'origin'> => ({
  at: random.between(0, 3_000),
  policy: (carriers.sms === 'sinch' || carriers.email === 'resend') && random.chance(0.5) ? 6 : random.between(0, 6),
  closeAfterMs: random.chance(0.25) ? random.between(0, random.chance(0.5) ? 500 : 40_000) : null,
  region: random.chance(0.03) ? 'ZZ' : 'US',
  bar: random.chance(0.06) ? random.pick(['sms', 'email']) : null,
  expiresInMs: random.chance(0.1) ? random.between(100_000, 150_000) : null,
  acts: drawActs(random),
  unrenderable: random.chance(0.03),
});

/** Now and then an origin system is asked: under policies of their own, from a stream of its own, so that other seeds stay as they were. */
const drawOrigin = (random: Seeded): Partial<Workflow> => (!random.chance(0.05) ? {} : {
  policy: random.pick(ASKING),
  origin: { errors: random.pick([0, 0, 0, 1, 2]), noAfterMs: random.chance(0.6) ? random.between(0, 45_000) : null, slowMs: random.pick([5, 40, 300, 1_500, 2_500]) },
});

/** Now and then a step runs in shadow, from a stream of its own as well. */
const inShadow = (random: Seeded, workflow: Workflow): Workflow => {
  const policy = random.pick(SHADOWED);
  return random.chance(0.05) && workflow.origin === null ? { ...workflow, policy } : workflow;
};

/** Now and then a consent is taken back, half of the time while a first submission is about to start. */
const drawWithdrawals = (random: Seeded): Act[] => (!random.chance(0.1) ? [] : [{
  kind: random.chance(0.7) ? 'withdraw-sms' : 'withdraw-email', afterMs: random.between(0, random.chance(0.5) ? 20 : 70_000),
}]);

/** Now and then a channel has quiet hours: from streams of their own, so that other seeds stay as they were. */
const drawSilence = (random: Seeded): Partial<Workflow> => {
  if (!random.chance(0.08)) return {};
  const policy = random.pick(SILENT);
  return { policy, origin: null, ...(policy === SILENT[1] ? { at: random.between(40_000, 59_800) } : {}) };
};

/** In turn a boundary with its fault and another kind; a few more by chance; and now and then faults that belong together. */
const drawFaults = (seed: number, random: Seeded): Fault[] => [
  atBoundary(PAIRS[seed % PAIRS.length] as (typeof PAIRS)[number], random),
  drawFault(ELSEWHERE[seed % ELSEWHERE.length] as FaultKind, random),
  ...Array.from({ length: random.between(0, 4) }, () => drawFault(random.pick(DRAWN), random)),
];

/** Our account is refused from the first submission on: drawn late and elsewhere it would seldom meet one. */
const drawRefusal = (seed: number): Fault[] => {
  const random = stream(seed, 'refusal');
  return random.chance(0.04) ? [{ kind: 'account-refused', channel: 'sms', at: 0, forMs: random.between(4_000, 120_000) }] : [];
};

/** Reads that fail or bring old news: what is skipped or waits for its opening is read less often than anything was before. */
const drawReads = (seed: number): Fault[] => {
  const random = stream(seed, 'reads');
  return random.chance(0.03) ? [{ kind: 'read-failed', pass: random.between(1, 2), retryAfterMs: random.pick([null, null, 5_000]) }, { kind: 'status-regression', pass: random.between(1, 2) }] : [];
};

/** Everything that a seed stands for. */
export const planOf = (seed: number, withFaults = true): Plan => {
  const random = stream(seed, 'plan');
  const trouble = withFaults && random.chance(0.25) ? drawTrouble(random) : { faults: [] };
  const carriers: TransportChoice = { sms: random.pick(['twilio', 'twilio', 'sinch']), email: random.pick(['smtp', 'smtp', 'resend']), ...trouble.carriers };
  const suppressing = stream(seed, 'suppressions');
  const asking = stream(seed, 'origins');
  const shadows = stream(seed, 'shadows');
  const together = suppressing.chance(0.4);
  const [withdrawing, silencing] = [stream(seed, 'withdrawals'), stream(seed, 'silence')];
  // Now and then all of them go to one recipient, under a throttle.
  const flood: Partial<Workflow> = stream(seed, 'flood').chance(0.05) ? { policy: FLOODED, person: 0, origin: null } : {};
  const workflows = Array.from({ length: random.pick([1, 1, 1, 1, 2, 2, 3]) }, (_, index) => ({ ...drawWorkflow(random, carriers), ...(index === 0 ? trouble.first : {}) }))
    .map((workflow, index): Workflow => ({ ...workflow, person: together ? 0 : index, acts: [...workflow.acts, ...drawSuppressions(suppressing), ...drawWithdrawals(withdrawing)], origin: null, ...drawOrigin(asking), ...drawSilence(silencing), ...flood }))
    .map((workflow) => inShadow(shadows, workflow));
  const faults = withFaults ? [...trouble.faults, ...drawFaults(seed, random), ...drawRefusal(seed), ...drawReads(seed)] : [];
  return { seed, carriers, workflows, faults };
};
