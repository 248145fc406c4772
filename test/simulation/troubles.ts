import type { TransportChoice } from '../../shared/transports/carriers.ts';
import type { Seeded } from '../audit/seeded.ts';
import type { Boundary, Fault, Workflow } from './plan.ts';

/** Faults that are known to matter together, with what the first workflow must be like for them to meet. Each can still be left out alone. */
export interface Trouble { faults: Fault[]; first?: Partial<Workflow>; carriers?: Partial<TransportChoice> }

/** Past the limit of a submission, so that the rescue has booked it as unknown before its answer is heard. */
const heardLate = (random: Seeded, pass: number): Fault => ({
  kind: 'stop', boundary: random.pick<Boundary>(['bytes', 'answer', 'append-answer']), side: random.pick(['before', 'after']), pass, forMs: random.pick([16_500, 18_000, 21_000, 25_000, 45_000]),
});

const refusal = (random: Seeded, pass: number): Fault => (random.chance(0.4)
  ? { kind: 'rate-limited', pass, retryAfterMs: random.pick([null, 2_000]) }
  : { kind: 'refused', pass, as: random.pick(['rejected', 'suppressed', 'provider_unavailable']) });

/** Paused from the start and set free that long before it expires. */
const resumedLate = (random: Seeded, beforeExpiryMs: number): Partial<Workflow> => {
  const expiresInMs = random.between(100_000, 150_000);
  return {
    expiresInMs, closeAfterMs: null, bar: random.pick([null, 'sms', 'email']),
    acts: [{ kind: 'pause', afterMs: random.between(0, 5) }, { kind: 'resume', afterMs: expiresInMs - beforeExpiryMs }],
  };
};

/** One email alone, under a policy that replays what is unknown, at a provider that drops duplicates. */
const replayed = (more: Partial<Workflow> = {}): Pick<Trouble, 'first' | 'carriers'> => ({
  first: { policy: 6, bar: 'sms', closeAfterMs: null, region: 'US', unrenderable: false, acts: [], ...more }, carriers: { email: 'resend' },
});
const againLate = (random: Seeded): Fault => ({ kind: 'job-late', pass: 1, byMs: random.between(2_000, 12_000), again: true });

const SHAPES: readonly ((random: Seeded) => Trouble)[] = [
  // A refusal that is heard once everybody believes the submission to be unknown.
  (random) => ({ faults: [heardLate(random, 1), refusal(random, 1)] }),
  (random) => ({ faults: [heardLate(random, 1), refusal(random, 1)], first: resumedLate(random, random.between(500, 40_000)) }),
  // A refusal that is on its way while the notification expires.
  (random) => ({
    faults: [{ kind: 'rate-limited', pass: 1, retryAfterMs: null }, { kind: 'slow-answer', pass: 1, byMs: random.between(1_000, 7_500) }],
    first: resumedLate(random, random.between(100, 6_000)),
  }),
  // An acceptance that is heard while the same message waits to be submitted again.
  (random) => ({ faults: [heardLate(random, 1), againLate(random)], ...replayed() }),
  // A resubmission that waits so long that it is taken back.
  (random) => ({ faults: [{ kind: 'response-lost', pass: 1, taken: random.chance(0.5) }, againLate(random)], ...replayed({ closeAfterMs: random.between(1_500, 9_000) }) }),
  // A look-up of what is unknown that finds several.
  (random) => ({
    faults: [{ kind: 'response-lost', pass: 1, taken: true }, { kind: 'look-up-ambiguous', pass: 1 }],
    first: { policy: random.pick([0, 1, 2, 3, 5, 6]), bar: null, closeAfterMs: null, region: 'US', unrenderable: false },
  }),
  // A message that is delivered before its first poll and bounces after it, while a second reader of the same poll is still on its way.
  (random) => {
    const deliveredAfterMs = random.between(500, 4_300);
    const bounceAt = random.between(5_600, 8_500);
    return {
      faults: [
        { kind: 'bounced-later', pass: 1, deliveredAfterMs, bouncesAfterMs: bounceAt - deliveredAfterMs }, { kind: 'job-twice', pass: 2 },
        { kind: 'slow-read', pass: random.between(1, 2), byMs: random.between(bounceAt - 4_500, 7_500) },
      ],
      first: { policy: random.pick([0, 1, 3, 5]), bar: null, closeAfterMs: null, region: 'US', unrenderable: false, acts: [] },
    };
  },
];

/** One of them. */
export const drawTrouble = (random: Seeded): Trouble => random.pick(SHAPES)(random);
