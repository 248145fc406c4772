import { createHash } from 'node:crypto';
import type { FaultPoint } from '../../shared/telemetry/fault-points.ts';
import type { Seeded } from '../audit/seeded.ts';
import { seeded } from '../audit/seeded.ts';
import type { Script } from './repertoire.ts';
import { drawEmailScript, drawSmsScript } from './repertoire.ts';

export const SERVICES = ['intake', 'sms', 'email', 'coordinator'] as const;
export type ServiceName = (typeof SERVICES)[number];
export interface Slot { service: ServiceName; copy: 1 | 2 }

/** Instants in ms from the first notification on. */
export type ProcessFault =
  /** kill -9, whatever it is doing, or (`inMidCall`) as soon as a submission of it is under way; its successor dies by itself where `then` says, and only that one's successor lives on. */
  | { kind: 'kill'; atMs: number; slot: Slot; inMidCall: boolean; then: { point: FaultPoint; pass: number } | null }
  | { kind: 'stop'; atMs: number; slot: Slot; forMs: number };
export type OutageKind = 'refuse' | 'hang' | 'error500' | 'closed';
export type WorldFault =
  | { kind: 'database'; atMs: number }
  | { kind: 'flush'; atMs: number }
  | { kind: 'outage'; atMs: number; channel: 'sms' | 'email'; outage: OutageKind; forMs: number };

/** What the client does with a notification once it has its receipt. `twice`: both at once, to both intakes. */
export type ClientAct =
  | { kind: 'close'; afterMs: number; twice: boolean }
  | { kind: 'pause'; afterMs: number; forMs: number; resumes: boolean };

export interface PlannedNotice { atMs: number; sms: { to: string; script: Script }; email: { to: string; script: Script }; postedTwice: boolean; act: ClientAct | null }

export interface ChaosPlan { digest: string; processFaults: ProcessFault[]; worldFaults: WorldFault[]; notices: PlannedNotice[] }

export interface PlanSettings { seed: number; durationMs: number; load: number }

/** Longer than the fence, shorter than a lock; and longer than a lock: `jobLockMs` of `chaos-policies.ts` plus the queue's own slack. */
const SHORT_STOP_MS = [2_500, 4_500] as const;
const LONG_STOP_MS = [14_500, 18_000] as const;
const POINTS: Record<ServiceName, readonly FaultPoint[]> = {
  intake: ['intake-committed', 'outbox-enqueued'],
  sms: ['submission-started', 'bytes-sent', 'answer-received'],
  email: ['submission-started', 'bytes-sent', 'answer-received'],
  coordinator: ['mid-tick', 'fallback-claimed', 'outbox-enqueued'],
};
const VICTIMS: readonly ServiceName[] = ['sms', 'sms', 'sms', 'sms', 'sms', 'email', 'email', 'email', 'coordinator', 'coordinator', 'intake'];
/** Under the full load, some thousand a run; a small run has fewer faults of each kind, but the same kinds. */
const PROCESS_FAULT_EVERY_MS = 5_000;
const KILL_SHARE = 0.75;

const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value));

const planProcessFaults = (random: Seeded, durationMs: number): ProcessFault[] => {
  const everyMs = clamp(durationMs / 12, 2_500, PROCESS_FAULT_EVERY_MS);
  const faults: ProcessFault[] = [];
  // The first of them is a long stop, so that the shortest run has one too.
  for (let atMs = everyMs; atMs < durationMs - 1_000; atMs += random.between(everyMs * 0.6, everyMs * 1.4)) {
    const service = random.pick(VICTIMS);
    const slot: Slot = { service, copy: random.chance(0.5) ? 1 : 2 };
    if (faults.length > 0 && random.chance(KILL_SHARE)) {
      const then = random.chance(0.85) ? { point: random.pick(POINTS[service]), pass: random.pick([1, 1, 2, 4]) } : null;
      faults.push({ kind: 'kill', atMs: Math.round(atMs), slot, inMidCall: random.chance(0.9) && (service === 'sms' || service === 'email'), then });
    } else {
      const [least, most] = faults.length === 0 || random.chance(0.4) ? LONG_STOP_MS : SHORT_STOP_MS;
      faults.push({ kind: 'stop', atMs: Math.round(atMs), slot, forMs: random.between(least, most) });
    }
  }
  return faults;
};

const drawWorldFault = (random: Seeded, what: string, atMs: number): WorldFault => {
  if (what === 'database' || what === 'flush') return { kind: what, atMs };
  return { kind: 'outage', atMs, channel: what as 'sms' | 'email', outage: random.pick(['refuse', 'hang', 'error500', 'closed'] as const), forMs: random.between(2_000, 6_000) };
};

const planWorldFaults = (random: Seeded, durationMs: number): WorldFault[] => {
  const everyMs = clamp(durationMs / 12, 6_000, 24_000);
  const faults: WorldFault[] = [];
  let round: string[] = [];
  for (let atMs = everyMs * 0.7; atMs < durationMs - 1_500; atMs += everyMs) {
    if (round.length === 0) round = random.shuffled(['database', 'flush', 'sms', 'email']);
    faults.push(drawWorldFault(random, round.pop() as string, Math.round(atMs)));
  }
  return faults;
};

const drawAct = (random: Seeded): ClientAct | null => {
  const dice = random.next();
  if (dice < 0.12) return { kind: 'close', afterMs: random.between(0, 7_000), twice: random.chance(0.5) };
  if (dice < 0.22) return { kind: 'pause', afterMs: random.between(0, 4_000), forMs: random.between(300, 9_000), resumes: random.chance(0.85) };
  return null;
};

/** Numbers reserved for fiction exist in every area code; 0100 to 0109 have outcomes of their own in the sandbox. */
const AREA_CODES = [
  201, 202, 203, 205, 206, 207, 208, 209, 210, 212, 213, 214, 215, 216, 217, 218, 219, 220, 223, 224, 225, 228, 229, 231, 234, 239, 240, 248, 251, 252,
  253, 254, 256, 260, 262, 267, 269, 270, 272, 276, 281, 301, 302, 303, 304, 305, 307, 308, 309, 310, 312, 313, 314, 315, 316, 317, 318, 319, 320, 321,
];
const NUMBERS_EACH = 90;
const numberOf = (index: number): string => `+1${AREA_CODES[Math.floor(index / NUMBERS_EACH) % AREA_CODES.length] as number}5550${110 + (index % NUMBERS_EACH)}`;

const planNotices = (random: Seeded, { durationMs, load }: PlanSettings): PlannedNotice[] => Array.from({ length: load }, (_, index) => ({
  atMs: Math.round((durationMs * index) / load),
  sms: { to: numberOf(index), script: drawSmsScript(random) },
  email: { to: `notice-${index}@example.com`, script: drawEmailScript(random) },
  postedTwice: random.chance(0.05),
  act: drawAct(random),
}));

/** Everything that will happen from outside, drawn from the seed alone. The digest tells two plans apart. */
export const drawPlan = (settings: PlanSettings): ChaosPlan => {
  const { seed, durationMs } = settings;
  const drawn = {
    processFaults: planProcessFaults(seeded(seed * 4 + 1), durationMs),
    worldFaults: planWorldFaults(seeded(seed * 4 + 2), durationMs),
    notices: planNotices(seeded(seed * 4 + 3), settings),
  };
  return { digest: createHash('sha256').update(JSON.stringify(drawn)).digest('hex').slice(0, 16), ...drawn };
};
