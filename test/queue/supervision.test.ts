import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { checkRedis, findingsOf } from '../../shared/queue/check-redis.ts';
import { thriftyReport } from '../../shared/queue/error-report.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { openNudge } from '../../shared/queue/nudge.ts';
import { openPostgresDriver } from '../../shared/queue/postgres-driver.ts';
import { openRedisDriver } from '../../shared/queue/redis-driver.ts';
import { superviseWorker, type QueueWorker, type Supervision } from '../../shared/queue/supervised-worker.ts';
import { QueueAway, type WorkJob } from '../../shared/queue/work-job.ts';
import { describeOnBackends } from '../support/backends.ts';
import { APP_ROLE, eventually, makeRig, postgresRig, redisRig, tally, type Rig } from './rig.ts';

const job = (id: string): WorkJob => ({ id, name: 'attempt', payload: {} });
const settings = { concurrency: 1, lockDurationMs: 5_000 };

describeOnBackends('supervision', ({ kind }) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await makeRig(kind);
  });
  afterAll(() => rig.dispose());

  const supervised = (more: Partial<Supervision> = {}) => {
    const { redisUrl, databaseUrl } = rig.settings;
    const report = () => undefined;
    const driver = redisUrl === undefined ? openPostgresDriver({ databaseUrl }, report) : openRedisDriver(redisUrl, report);
    const ran = tally<string>();
    const made = tally<QueueWorker>();
    const own = { ...settings, handler: async ({ id }: { id: string }) => (ran.add(id), 'done' as const) };
    const worker = superviseWorker({
      queue: 'sms', settings: own, reachable: driver.reachable, report, dueAt: driver.dueAt,
      make: (processor, pulse) => {
        const one = driver.makeWorker('sms', own, { processor, pulse });
        made.add(one);
        return one;
      },
      ...more,
    });
    return { ran, made, worker, close: () => worker.close().then(() => driver.release()) };
  };

  it('makes a worker anew whose loop ended or hangs', async () => {
    // Longer than an idle worker's naps, so that only the dead one is taken for dead.
    const { ran, made, worker, close } = supervised({ hangAfterMs: 3_000 });
    const backend = rig.open();
    await worker.whenReady();
    // From outside: on Redis its loop ends, on Postgres it waits for ever.
    await made.seen[0]?.close(true);
    await made.until((seen) => seen.length > 1);
    await backend.addJobs('sms', [job('evt_a.sms.1-g1')]);
    await ran.until((seen) => seen.length > 0);
    await Promise.all([close(), backend.close()]);
    expect(ran.seen).toEqual(['evt_a.sms.1-g1']);
    expect(made.seen).toHaveLength(2);
  });

  it('makes a worker anew whose first connection failed', async () => {
    await (kind === 'redis' ? rig.stop() : rig.wipe());
    const { ran, made, close } = supervised({ reachable: async () => true });
    await made.until((seen) => seen.length >= (kind === 'redis' ? 1 : 2));
    await (kind === 'redis' ? rig.start() : migrateQueueSchema(rig.settings.databaseUrl, APP_ROLE));
    const backend = rig.open();
    await backend.addJobs('sms', [job('evt_a.sms.1-g1')]);
    await ran.until((seen) => seen.length > 0);
    await Promise.all([close(), backend.close()]);
  });
});

describe('the queue schema', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await postgresRig();
  });
  afterAll(() => rig.dispose());

  it('lets workers that started without it begin once it is made', async () => {
    await rig.wipe();
    const backend = rig.open();
    const ran = tally<string>();
    backend.startWorker('sms', { ...settings, handler: async ({ id }) => (ran.add(id), 'done') });
    await expect(backend.addJobs('sms', [job('evt_a.sms.1-g1')])).rejects.toBeInstanceOf(QueueAway);
    expect(await backend.ping()).toBe(false);
    await migrateQueueSchema(rig.settings.databaseUrl, APP_ROLE);
    await eventually(() => backend.addJobs('sms', [job('evt_b.sms.1-g1')]));
    await ran.until((seen) => seen.length >= 1);
    await backend.close();
    expect(ran.seen).toEqual(['evt_b.sms.1-g1']);
  });

  it('is made by several starters at once, and again, to the same end', async () => {
    await rig.wipe();
    const { databaseUrl } = rig.settings;
    await Promise.all([1, 2, 3].map(() => migrateQueueSchema(databaseUrl, APP_ROLE)));
    await migrateQueueSchema(databaseUrl, APP_ROLE);
    const client = new pg.Client({ connectionString: databaseUrl, options: `-c role=${APP_ROLE} -c search_path=bullmq` });
    await client.connect();
    try {
      const { rows } = await client.query('SELECT count(*)::int AS n FROM migration');
      expect(rows[0].n).toBeGreaterThan(0);
      await expect(client.query('CREATE TABLE bullmq.intruder ()')).rejects.toThrow('permission denied');
    } finally {
      await client.end();
    }
  });

  it('is not opened under a role name that is none', () => {
    expect(() => openPostgresDriver({ databaseUrl: rig.settings.databaseUrl, roleName: 'x -c y' }, () => undefined)).toThrow('not a role name');
  });
});

describe('a Redis', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await redisRig();
  });
  afterAll(() => rig.dispose());

  it('that hangs with its connections open is given up on in time, also by close', async () => {
    const backend = rig.open();
    await backend.addJobs('sms', [job('evt_a.sms.1-g1')]);
    await backend.startWorker('email', { ...settings, handler: async () => 'done' }).whenReady();
    rig.signal('SIGSTOP');
    const startedAt = performance.now();
    await expect(backend.addJobs('sms', [job('evt_b.sms.1-g1')])).rejects.toBeInstanceOf(QueueAway);
    expect(performance.now() - startedAt).toBeLessThan(2_300);
    const closingAt = performance.now();
    await backend.close();
    expect(performance.now() - closingAt).toBeLessThan(5_000);
    rig.signal('SIGCONT');
  });

  it('is judged by version, memory policy and clock rate', async () => {
    const findings = await checkRedis(rig.settings.redisUrl ?? '');
    expect(findings.map(({ level, code }) => [level, code])).toEqual([['warning', 'redis_low_hz']]);
    expect(findingsOf('redis_version:6.0.16\r\nmaxmemory_policy:allkeys-lru\r\nconfigured_hz:100\r\n').map(({ level, code }) => [level, code]))
      .toEqual([['error', 'redis_too_old'], ['error', 'redis_evicts']]);
    expect(findingsOf('redis_version:6.2.0\r\nmaxmemory_policy:noeviction\r\nconfigured_hz:100\r\n')).toEqual([]);
  });

  it('that is away is a warning, not an error', async () => {
    await rig.stop();
    expect((await checkRedis(rig.settings.redisUrl ?? '')).map(({ level, code }) => [level, code])).toEqual([['warning', 'redis_away']]);
  });
});

describe('small parts', () => {
  it('reports the same error from the same place once, another at once', () => {
    const told: string[] = [];
    const report = thriftyReport((error, where) => told.push(`${where}: ${error.message}`));
    report(new Error('a'), 'x');
    report(new Error('a'), 'x');
    report('b', 'x');
    report(new Error('a'), 'y');
    expect(told).toEqual(['x: a', 'x: b', 'y: a']);
  });

  it('nudges soon after each instant, in order, whatever the order of asking', async () => {
    const nudges = tally<number>();
    const nudge = openNudge(() => nudges.add(Date.now()));
    const now = Date.now();
    nudge.at(now + 120);
    nudge.at(now + 40);
    nudge.at(now + 40);
    await nudges.until((seen) => seen.length >= 2);
    nudge.stop();
    expect(nudges.seen[0]).toBeGreaterThanOrEqual(now + 40);
    expect(nudges.seen[0]).toBeLessThan(now + 120);
    expect(nudges.seen[1]).toBeGreaterThanOrEqual(now + 120);
  });
});
