import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { ensureDataDir, keptSecret } from '../../services/standalone/data-dir.ts';
import { startStandalone } from '../../services/standalone/standalone.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';

const PORTS = { INTAKE_PORT: '0', DASHBOARD_PORT: '0', SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: '0' };

describe('the data directory', () => {
  let folder: string;
  beforeAll(async () => { folder = await mkdtemp(join(tmpdir(), 'tocsin-data-')); });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('that exists already keeps its mode and its .gitignore', async () => {
    const mine = join(folder, 'mine');
    await mkdir(mine);
    await chmod(mine, 0o755);
    await writeFile(join(mine, '.gitignore'), 'dist\n');
    await ensureDataDir(mine);
    expect((await stat(mine)).mode & 0o777).toBe(0o755);
    expect(await readFile(join(mine, '.gitignore'), 'utf8')).toBe('dist\n');
  });

  test('is made with all that is missing above it, for its owner alone', async () => {
    await ensureDataDir(join(folder, 'a', 'b'));
    expect((await stat(join(folder, 'a', 'b'))).mode & 0o777).toBe(0o700);
  });

  test.each([['a file', async (path: string) => writeFile(path, '')], ['a place where nothing can be made', async () => undefined]])(
    'that is %s is refused with what to do', async (what, prepare) => {
      const path = what === 'a file' ? join(folder, 'file') : '/proc/none';
      await prepare(path);
      await expect(ensureDataDir(path)).rejects.toThrow(/cannot be used .*set TOCSIN_DATA_DIR/);
    });

  test('never replaces a secret that is empty or cannot be read', async () => {
    await writeFile(join(folder, 'empty'), '\n');
    await mkdir(join(folder, 'unreadable'));
    await expect(keptSecret(folder, 'empty', () => 'new')).rejects.toThrow(/is empty/);
    await expect(keptSecret(folder, 'unreadable', () => 'new')).rejects.toThrow(/cannot be read/);
    expect(await readFile(join(folder, 'empty'), 'utf8')).toBe('\n');
  });
});

describe('the standalone', () => {
  let database: TestDatabase;
  let dataDir: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'tocsin-keys-'));
    const engine = await createTestEngine({ url: database.url });
    await acceptNotification(engine, urgentRequest());
    await engine.close();
  });
  afterAll(async () => {
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });
  const start = (env: Record<string, string>) => startStandalone({ ...PORTS, ...env }, { dataDir, databaseUrl: database.url, redisUrl: undefined, logLevel: 'silent' }, () => undefined);

  test('makes no new keys where the database holds what was sealed with lost ones', async () => {
    await expect(start({})).rejects.toThrow(/keys is missing, but the database holds what was sealed with it/);
    await expect(stat(join(dataDir, 'keys'))).rejects.toThrow();
  });

  test('refuses keys that do not open what the database holds', async () => {
    await expect(start({ TOCSIN_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}` })).rejects.toThrow(/does not open what this database holds/);
  });

  test.each([['INTAKE_PORT', 'abc', /INTAKE_PORT must be a port number/], ['DASHBOARD_PORT', '70000', /DASHBOARD_PORT must be from 0 to 65535/], ['TOCSIN_POLICY_DIR', '/nonexistent', /nonexistent/]])(
    'tells a wrong %s before it starts anything', async (name, value, message) => {
      await expect(start({ [name]: value })).rejects.toThrow(message);
    });
});
