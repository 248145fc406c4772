import { expect } from '@jest/globals';
import { testOnRedis } from '../audit/redis-tests.ts';
import { runChaos } from './chaos.ts';

/** About a minute on an idle machine. The long form is `npm run chaos`. */
const LIMIT_MS = 600_000;

testOnRedis('under kills, stops, restarts, flushes and outages, on Redis, nothing is lost, sent twice, or sent after close, pause or expiry', async () => {
  const { findings, counts } = await runChaos({
    backend: 'redis', seed: 83, durationMs: 24_000, load: 240, plant: null, expiresAfterMs: 35_000, untilSettled: false, say: () => undefined, keep: false,
  });
  expect(findings).toEqual([]);
  expect(counts).toMatchObject({ accepted: 240, ended: 240, restarts: 1, flushes: 1, outages: 2 });
  expect(counts.stops).toBeGreaterThan(0);
  // Some five on an idle machine; on a busy one a worker may get up too late to have work when it is killed.
  expect(counts.submitting).toBeGreaterThanOrEqual(1);
}, LIMIT_MS);
