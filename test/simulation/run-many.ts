import { addRun, noCoverage } from './coverage.ts';
import type { Coverage } from './coverage.ts';
import type { FocusName } from './focus.ts';
import { focused } from './focus.ts';
import { planOf } from './plan.ts';
import { simulate } from './simulate.ts';

export interface Range { from: number; runs: number; step?: number }

/** Runs the seeds `from, from + step, …`; ends at the first broken promise where `untilBroken` is set. */
export const runMany = async ({ from, runs, step = 1 }: Range, how: { untilBroken: boolean; focus?: FocusName | undefined; onRun?: (coverage: Coverage) => void }): Promise<Coverage> => {
  const coverage = noCoverage();
  for (let index = 0; index < runs; index += 1) {
    addRun(coverage, await simulate(focused(planOf(from + index * step), how.focus)));
    how.onRun?.(coverage);
    if (how.untilBroken && coverage.broken.length > 0) break;
  }
  return coverage;
};
