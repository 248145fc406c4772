import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { run } from './support.ts';

const DEAD_REDIS = 'redis://127.0.0.1:1';

describe('doctor, of the queue', () => {
  let database: TestDatabase;
  let dataDir: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'tocsin-doctor-'));
    await writeFile(join(dataDir, 'keys'), `${generateKeyRingText()}\n`, { mode: 0o600 });
    expect(await run(['migrate'], { env: { TOCSIN_DATA_DIR: dataDir, DATABASE_URL: database.url } })).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    await database?.drop();
    if (dataDir) await rm(dataDir, { recursive: true });
  });

  /** What doctor finds of the queue, where a standalone says that it uses that one. */
  const found = async (queue: string, env: Record<string, string> = {}): Promise<unknown[]> => {
    await writeFile(join(dataDir, 'standalone.json'), JSON.stringify({
      intake: 'http://127.0.0.1:1', dashboard: 'http://127.0.0.1:1', sandbox: 'http://127.0.0.1:1', smtp: 'smtp://127.0.0.1:1', database: database.url, queue, api_key: 'tk_own', operator: { user: 'u', password: 'p' },
    }));
    const { code, out } = await run(['doctor', '--json'], { env: { TOCSIN_DATA_DIR: dataDir, ...env } });
    expect(code).toBe(1);
    return (JSON.parse(out) as { findings: { name: string }[] }).findings.filter(({ name }) => name === 'queue');
  };

  it('looks at the Redis that the running standalone says it uses, whatever the shell knows', async () => {
    expect(await found(DEAD_REDIS)).toEqual([{ name: 'queue', verdict: 'fault', text: 'Redis does not answer.', cure: 'start Redis, or correct REDIS_URL' }]);
    expect(await found(DEAD_REDIS, { DATABASE_URL: database.url })).toMatchObject([{ verdict: 'fault' }]);
  });

  it('looks into Postgres where the standalone has its queue there', async () => {
    expect(await found('postgres')).toEqual([{ name: 'queue', verdict: 'ok', text: 'the Postgres backend answers' }]);
  });

  it('looks at the shell\'s own REDIS_URL first, and says where the standalone uses another queue, without its URL', async () => {
    const differing = await found('redis://user:hunter2@127.0.0.1:2', { REDIS_URL: DEAD_REDIS });
    expect(differing).toMatchObject([{ verdict: 'fault' }, { verdict: 'note', text: 'REDIS_URL was looked at; the running standalone uses another queue', cure: 'unset REDIS_URL to look at that one' }]);
    expect(JSON.stringify(differing)).not.toContain('hunter2');
    expect(await found(`${DEAD_REDIS}/`, { REDIS_URL: DEAD_REDIS })).toMatchObject([{ verdict: 'fault' }]);
  });
});
