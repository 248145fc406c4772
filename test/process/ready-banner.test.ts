import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RunningStandalone } from '../../services/standalone/standalone.ts';
import { startStandalone } from '../../services/standalone/standalone.ts';
import { readyBanner } from '../../services/standalone/ready-banner.ts';
import { freePort } from '../../shared/http/free-port.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

const PORTS = { INTAKE_PORT: '0', DASHBOARD_PORT: '0', SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: '0' };
const SECRET = 'a-password-of-redis';

describe('what the standalone says once it is up', () => {
  let database: TestDatabase;
  let dataDir: string;
  const running: RunningStandalone[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'tocsin-banner-'));
  });
  afterAll(async () => {
    for (const one of running) await one.close();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const bannerOn = async (redisUrl: string | undefined): Promise<string> => {
    const one = await startStandalone({ ...PORTS, ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }) }, { dataDir, databaseUrl: database.url, redisUrl, logLevel: 'silent' }, () => undefined);
    running.push(one);
    return readyBanner(one.file, { seconds: 1, queueAnswers: one.queueAnswers });
  };

  test('is where everything is, and nothing of a queue that answers', async () => {
    const text = await bannerOn(undefined);
    expect(text).toMatch(/^\nTocsin is ready \(1\.0 s\)\.\n\n {2}Support form {4}http:/);
    expect(text).not.toContain('Redis');
    await running.pop()?.close();
  });

  test('is also that Redis is away, what goes on without it, and what to do; never its address', async () => {
    const text = await bannerOn(`redis://:${SECRET}@127.0.0.1:${await freePort()}`);
    expect(text).toMatch(/Redis does not answer at REDIS_URL\. What is handed over is accepted, decided and sent all the same, .*npx tocsin doctor/s);
    expect(text).not.toContain(SECRET);
  });
});
