import type { Seeded } from '../audit/seeded.ts';
import type { Fault, FaultKind, Plan } from './plan.ts';
import { drawFault } from './plan.ts';
import { stream } from './random.ts';

const times = (count: number, kind: FaultKind, random: Seeded): Fault[] => Array.from({ length: count }, () => drawFault(kind, random));

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
  /** More of what is lost on the way back, so that truth comes late. */
  'lost-answers': (plan: Plan, random: Seeded): Plan => ({ ...plan, faults: [...plan.faults, ...times(2, 'response-lost', random), ...times(1, 'slow-coordinators', random)] }),
} as const;
export type FocusName = keyof typeof FOCUSES;

export const isFocus = (name: string): name is FocusName => name in FOCUSES;

/** The plan as it is, or under a focus. */
export const focused = (plan: Plan, focus: FocusName | undefined): Plan => (focus === undefined ? plan : FOCUSES[focus](plan, stream(plan.seed, 'focus', focus)));
