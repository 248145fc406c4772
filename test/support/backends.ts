import { describe } from '@jest/globals';

export type TestBackend = { kind: 'redis'; redisUrl: string } | { kind: 'postgres'; redisUrl?: undefined };

/** Runs the same tests on both queue backends; on Redis only where the global setup found one, and skipped by name else. */
export const describeOnBackends = (name: string, tests: (backend: TestBackend) => void): void => {
  const redisUrl = process.env.TOCSIN_TEST_REDIS;
  if (redisUrl?.startsWith('redis+cluster:')) {
    // What a cluster changes is Redis: the other backend is tested by every other run.
    describe(`${name}, on a Redis Cluster`, () => tests({ kind: 'redis', redisUrl }));
    return;
  }
  if (redisUrl) describe(`${name}, on Redis`, () => tests({ kind: 'redis', redisUrl }));
  else describe.skip(`${name}, on Redis: SKIPPED, there is no Redis`, () => tests({ kind: 'redis', redisUrl: 'redis://127.0.0.1:1' }));
  describe(`${name}, on Postgres`, () => tests({ kind: 'postgres' }));
};
