import { expect } from '@jest/globals';
import { ALL_POINTS, crashAudit } from '../audit/crash-audit.ts';
import { tabulate } from '../audit/report.ts';
import type { BackendName } from '../audit/surroundings.ts';

/** Real processes, killed and started again: some five seconds a kill. `npm run audit:crash` is the long form. */
export const LIMIT_MS = 600_000;

/** Kills the standalone once at every point and once at random, under a few tickets: nothing may be lost, nothing sent twice, and every ticket ends. */
export const killedOnceAtEveryPoint = async (backend: BackendName, seed: number): Promise<void> => {
  const { tallies, results, folder } = await crashAudit({
    backend, points: ALL_POINTS, times: 1, randomKills: 1, load: 12, seed, untilSettled: false, say: () => undefined,
  });
  const { rows, findings } = tabulate(tallies, results);
  expect({ findings, folder }).toEqual({ findings: [], folder });
  expect(Object.fromEntries([...rows].map(([point, row]) => [point, row.kills]))).toEqual({ ...Object.fromEntries(ALL_POINTS.map((point) => [point, 1])), random: 1 });
  expect([...rows.values()].reduce((sum, row) => sum + row.accepted - row.ended, 0)).toBe(0);
};
