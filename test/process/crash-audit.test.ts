import { expect, test } from '@jest/globals';
import { ALL_POINTS, crashAudit } from '../audit/crash-audit.ts';
import { tabulate } from '../audit/report.ts';
import type { BackendName } from '../audit/surroundings.ts';
import { testOnRedis } from '../audit/redis-tests.ts';

/** Real processes, killed and started again: some five seconds a kill. `npm run audit:crash` is the long form. */
const LIMIT_MS = 600_000;
const said: string[] = [];

const audited = async (backend: BackendName, seed: number) => {
  const { tallies, results, folder } = await crashAudit({
    backend, points: ALL_POINTS, times: 1, randomKills: 1, load: 12, seed, untilSettled: false, say: (line) => said.push(line),
  });
  const { rows, findings } = tabulate(tallies, results);
  return { kills: Object.fromEntries([...rows].map(([point, row]) => [point, row.kills])), open: [...rows.values()].reduce((sum, row) => sum + row.accepted - row.ended, 0), findings, folder };
};
const everyPointOnce = { ...Object.fromEntries(ALL_POINTS.map((point) => [point, 1])), random: 1 };

test('killed with -9 at every point, on Postgres alone, it loses no ticket and sends none twice', async () => {
  const { kills, open, findings } = await audited('postgres', 11);
  expect(findings).toEqual([]);
  expect(kills).toEqual(everyPointOnce);
  expect(open).toBe(0);
}, LIMIT_MS);

testOnRedis('killed with -9 at every point, on Redis, it loses no ticket and sends none twice', async () => {
  const { kills, open, findings } = await audited('redis', 12);
  expect(findings).toEqual([]);
  expect(kills).toEqual(everyPointOnce);
  expect(open).toBe(0);
}, LIMIT_MS);
