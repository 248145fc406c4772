import { expect, test } from '@jest/globals';
import { fleetAudit } from '../audit/fleet-audit.ts';
import { testOnRedis } from '../audit/redis-tests.ts';

/** Ten processes each time, on whatever machine the tests run: what is late by the clock is judged by `npm run audit:fleet`, the long form. */
const LIMIT_MS = 600_000;
const common = { load: 60, loadMs: 10_000, untilSettled: false, leniency: 4, say: () => undefined };

testOnRedis('two copies of each service share the work, and what a killed one had in hand is neither lost nor sent twice', async () => {
  const { faults, result, shares } = await fleetAudit({ ...common, backend: 'redis', fault: 'kill', seed: 21 });
  expect(faults).toEqual([]);
  expect(result.phases).toMatchObject([{ accepted: 60, ended: 60 }]);
  expect(shares).toHaveLength(8);
}, LIMIT_MS);

test('the queues can be dropped under load: nothing is lost, nothing doubled, and deadlines are kept', async () => {
  const { faults, result } = await fleetAudit({ ...common, backend: 'postgres', fault: 'flush', seed: 22 });
  expect(faults).toEqual([]);
  expect(result.phases).toMatchObject([{ accepted: 60, ended: 60 }]);
  expect(result.deadlineClaims.count).toBeGreaterThan(0);
}, LIMIT_MS);
