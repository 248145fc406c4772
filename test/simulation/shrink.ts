import type { Plan } from './plan.ts';
import { simulate } from './simulate.ts';
import type { Outcome } from './simulate.ts';

/** The smallest plan found that breaks the same promise: faults and workflows are left out one by one while it still does. */
export const shrink = async (plan: Plan, run: (plan: Plan) => Promise<Outcome> = (one) => simulate(one)): Promise<{ plan: Plan; outcome: Outcome }> => {
  let best = { plan, outcome: await run(plan) };
  const invariant = best.outcome.violation?.invariant;
  const attempt = async (smaller: Plan): Promise<boolean> => {
    const outcome = await run(smaller);
    if (outcome.violation?.invariant !== invariant) return false;
    best = { plan: smaller, outcome };
    return true;
  };
  for (let smaller = true; smaller;) {
    smaller = false;
    for (let index = best.plan.faults.length - 1; index >= 0; index -= 1) {
      if (await attempt({ ...best.plan, faults: best.plan.faults.filter((_, at) => at !== index) })) smaller = true;
    }
    for (let index = best.plan.workflows.length - 1; index >= 0 && best.plan.workflows.length > 1; index -= 1) {
      if (await attempt({ ...best.plan, workflows: best.plan.workflows.filter((_, at) => at !== index) })) smaller = true;
    }
  }
  return best;
};
