import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { ask, createDoor, createRig } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';

describe('whether the dashboard is ready', () => {
  let rig: Rig;
  let door: Awaited<ReturnType<typeof createDoor>>;
  let dashboard: RunningDashboard;
  beforeAll(async () => {
    rig = await createRig(async (url) => {
      door = await createDoor(url);
      return door.url;
    });
    dashboard = await startDashboard({ engine: rig.engine, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'never-used' } } });
  });
  afterAll(async () => {
    await dashboard.close();
    await rig.close();
    await door.shut();
  });
  const ready = () => ask(`${dashboard.url}/readyz`);

  it('is told without a login, and goes into no cache', async () => {
    const { status, body, headers } = await ready();
    expect([status, body, headers.get('cache-control')]).toEqual([200, { status: 'ready' }, 'no-store']);
  });

  it('is denied where the database lacks a migration, which is named', async () => {
    const { rows: [last] } = await rig.engine.db.pool.query<{ migration_name: string }>('SELECT migration_name FROM _prisma_migrations ORDER BY migration_name DESC LIMIT 1');
    const { query } = rig.engine.db;
    rig.engine.db.query = (async (statement: Parameters<typeof query>[0], values: Parameters<typeof query>[1]) =>
      (await query(statement, values)).filter((row) => (row as { migration_name?: string }).migration_name !== last?.migration_name)) as typeof query;
    try {
      expect(await ready()).toMatchObject({ status: 503, body: { status: 503, code: 'not_migrated', missing_migrations: [last?.migration_name] } });
    } finally {
      rig.engine.db.query = query;
    }
  });

  it('is denied while the database is away, when it is alive all the same', async () => {
    await door.shut();
    const { status, body, headers } = await ready();
    expect([status, body['code'], headers.get('retry-after'), headers.get('content-type')]).toEqual([503, 'database_away', '5', 'application/problem+json; charset=utf-8']);
    expect((await ask(`${dashboard.url}/healthz`)).status).toBe(200);
    await door.reopen();
    expect((await ready()).status).toBe(200);
  });

  it('is denied where the database does not answer in time', async () => {
    const { query } = rig.engine.db;
    const later = globalThis.setTimeout;
    rig.engine.db.query = () => new Promise(() => undefined);
    // What would be five seconds is over at once.
    const passing = jest.spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, ms?: number) => later(done, ms === 5_000 ? 0 : ms)) as typeof setTimeout);
    try {
      expect(await ready()).toMatchObject({ status: 503, body: { code: 'database_slow' } });
    } finally {
      passing.mockRestore();
      rig.engine.db.query = query;
    }
  });
});
