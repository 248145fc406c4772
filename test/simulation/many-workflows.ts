import { describe, expect, it } from '@jest/globals';
import { addRun, gapsOf, noCoverage } from './coverage.ts';
import { planOf } from './plan.ts';
import { simulate } from './simulate.ts';

/** A plain `npm test` simulates twenty thousand workflows, in as many files as Jest may run side by side. */
export const PARTS = 4;
export const WORKFLOWS_OF_A_PART = 5_000;
const SEEDS_OF_A_PART = 5_000;

/** Simulates the workflows of one part; `npm run simulate -- --runs 100000` is the long form. */
export const describePart = (part: number): void => {
  describe(`a simulated deployment, part ${part} of ${PARTS}`, () => {
    it(`keeps every promise through ${WORKFLOWS_OF_A_PART} workflows among crashes, stops, lost jobs and lying providers`, async () => {
      const coverage = noCoverage();
      for (let seed = 1 + (part - 1) * SEEDS_OF_A_PART; coverage.workflows < WORKFLOWS_OF_A_PART && coverage.broken.length === 0; seed += 1) addRun(coverage, await simulate(planOf(seed)));
      expect(coverage.broken).toEqual([]);
      expect(coverage.workflows).toBeGreaterThanOrEqual(WORKFLOWS_OF_A_PART);
      // What was never struck was never proved.
      expect(gapsOf(coverage, 1).filter((gap) => gap.includes(' x '))).toEqual([]);
      expect(Object.keys(coverage.statuses)).toEqual(expect.arrayContaining(['delivered', 'sent', 'unknown', 'closed', 'expired', 'policy_rejected', 'undelivered', 'partially_delivered']));
    }, 900_000);
  });
};
