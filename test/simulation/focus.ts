import type { Seeded } from '../audit/seeded.ts';
import type { Fault, Plan } from './plan.ts';
import { ASKING, FLOODED, SHADOWED, SILENT } from './policies.ts';
import { stream } from './random.ts';

/** A plan made richer in what leads to one kind of mistake; the seed still decides everything. */
const FOCUSES = {
  /** Answers of status reads come around the deadline, and the sweeps later still. */
  'late-reads': (plan: Plan, random: Seeded): Plan => ({
    ...plan,
    faults: [...plan.faults.filter((fault) => fault.kind !== 'slow-coordinators'), { kind: 'slow-coordinators', ticksByMs: random.between(2_000, 4_000), readsByMs: random.between(1_500, 5_000) }],
  }),
  /** The queue is away while the first enqueues are due. */
  'queue-away': (plan: Plan, random: Seeded): Plan => ({ ...plan, faults: [...plan.faults, { kind: 'queue-away', at: random.between(0, 3_000), forMs: random.between(500, 8_000) }] }),
  /** An operator asks for another try once the fallback has had its time. */
  'late-retries': (plan: Plan, random: Seeded): Plan => ({
    ...plan,
    carriers: { ...plan.carriers, email: 'resend' },
    workflows: plan.workflows.map((workflow) => ({ ...workflow, acts: [...workflow.acts, { kind: 'retry', afterMs: random.between(40_000, 150_000) }] })),
  }),
  /** One channel is put off for long while the other one's truth comes; under policies that hold what is unknown. */
  'late-truth': (plan: Plan, random: Seeded): Plan => ({
    ...plan,
    workflows: plan.workflows.map((workflow) => ({ ...workflow, policy: random.pick([2, 2, 2, 1, 3]) })),
    faults: [...plan.faults, ...[1, 2, 3].map((pass): Fault => ({ kind: 'rate-limited', pass, retryAfterMs: random.pick([null, 20_000, 90_000]) }))],
  }),
  /** Workers die with a call on its way. */
  'dead-workers': (plan: Plan, random: Seeded): Plan => ({
    ...plan,
    faults: [...plan.faults, ...[1, 2].map((pass): Fault => ({ kind: 'crash', boundary: random.pick(['connect', 'bytes', 'answer', 'append-answer']), side: random.pick(['before', 'after']), pass, forMs: random.between(50, 20_000) }))],
  }),
  /** Pollers stop with a lease in hand. */
  'stopped-pollers': (plan: Plan, random: Seeded): Plan => ({
    ...plan,
    faults: [...plan.faults, ...[2, 3, 4].map((pass): Fault => ({ kind: random.pick(['stop', 'crash']), boundary: 'status', side: 'before', pass, forMs: random.between(18_000, 45_000) }))],
  }),
  /** Several notifications meet a provider that refuses our account, and are left alone until it is back. */
  'refused-accounts': (plan: Plan, random: Seeded): Plan => ({
    ...plan,
    workflows: [0, 1, 2].map((index) => ({ ...(plan.workflows[0] as Plan['workflows'][number]), at: index * random.between(100, 2_000), closeAfterMs: null, expiresInMs: null, bar: null, acts: [], unrenderable: false, region: 'US', person: index })),
    faults: [...plan.faults, ...(['sms', 'email'] as const).map((channel): Fault => ({ kind: 'account-refused', channel, at: 0, forMs: random.between(3_000, 40_000) }))],
  }),
  /** Steps run in shadow, of messages that sometimes cannot be made. */
  'in-shadow': (plan: Plan, random: Seeded): Plan => ({
    ...plan,
    workflows: plan.workflows.map((workflow) => ({ ...workflow, policy: random.pick(SHADOWED), origin: null, region: 'US', unrenderable: random.chance(0.3), closeAfterMs: null })),
  }),
  /** An origin system is asked, fails first, and says no in the end. */
  'asked-origins': (plan: Plan, random: Seeded): Plan => ({
    ...plan,
    workflows: plan.workflows.map((workflow) => ({
      ...workflow, policy: random.pick(ASKING), closeAfterMs: null, region: 'US',
      origin: { errors: random.pick([0, 0, 1, 2]), noAfterMs: random.between(500, 40_000), slowMs: random.pick([5, 300, 1_500]) },
    })),
  }),
  /** Quiet hours begin while the first submission is put off. */
  'quiet-hours': (plan: Plan, random: Seeded): Plan => ({
    ...plan,
    workflows: plan.workflows.map((workflow) => {
      const policy = random.pick(SILENT);
      return { ...workflow, policy, at: policy === SILENT[1] ? random.between(50_000, 59_900) : workflow.at, origin: null, closeAfterMs: null, expiresInMs: null, bar: null, acts: [], unrenderable: false, region: 'US' };
    }),
    faults: [...plan.faults, ...[1, 2].map((pass): Fault => ({ kind: 'rate-limited', pass, retryAfterMs: random.pick([null, 2_000, 20_000]) }))],
  }),
  /** A consent is taken back while a submission is about to start. */
  withdrawals: (plan: Plan, random: Seeded): Plan => ({
    ...plan, workflows: plan.workflows.map((workflow) => ({ ...workflow, acts: [{ kind: random.pick(['withdraw-sms', 'withdraw-sms', 'withdraw-email']), afterMs: random.between(0, 12) }] })),
  }),
  /** Several to one recipient at the same time, under a throttle. */
  floods: (plan: Plan, random: Seeded): Plan => ({
    ...plan,
    workflows: [0, 1, 2].map((index) => ({ ...(plan.workflows[0] as Plan['workflows'][number]), at: index * random.between(0, 40), policy: FLOODED, origin: null, closeAfterMs: null, expiresInMs: null, bar: null, acts: [], unrenderable: false, region: 'US', person: 0 })),
  }),
} as const;
export type FocusName = keyof typeof FOCUSES;

export const isFocus = (name: string): name is FocusName => name in FOCUSES;

/** The plan as it is, or under a focus. */
export const focused = (plan: Plan, focus: FocusName | undefined): Plan => (focus === undefined ? plan : FOCUSES[focus](plan, stream(plan.seed, 'focus', focus)));
