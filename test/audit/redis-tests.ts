import { spawnSync } from 'node:child_process';
import { test } from '@jest/globals';

const hasRedis = (): boolean => spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0;

/** A test that starts a Redis of its own. Without a redis-server on the PATH it is skipped by name, or fails where Redis is required. */
export const testOnRedis = (name: string, body: () => Promise<void>, limitMs: number): void => {
  if (hasRedis() || process.env.REQUIRE_REDIS === '1') test(name, body, limitMs);
  else test.skip(`${name}: SKIPPED, there is no redis-server on the PATH`, body, limitMs);
};
