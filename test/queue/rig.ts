import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { freePort } from '../../shared/http/free-port.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { startEmbeddedPostgres } from '../../services/standalone/embedded-postgres.ts';
import { openQueueBackend, type QueueBackend, type QueueSettings } from '../../shared/queue/queue-backend.ts';

export const APP_ROLE = 'tocsin_app';

/** A server of the test's own, which it may stop and start again on the same port. */
export interface Rig {
  kind: 'redis' | 'postgres';
  settings: QueueSettings;
  /** Opens a backend on it; errors it reports are collected. */
  open(): QueueBackend;
  errors: string[];
  /** Loses every job and scheduler, as a flush does. */
  flush(): Promise<void>;
  /** Cuts every connection; the server stays. */
  cut(): Promise<void>;
  /** Loses the schema or the data without making it again. */
  wipe(): Promise<void>;
  /** Makes the server hang, with its connections open, and go on. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  stop(): Promise<void>;
  start(): Promise<void>;
  dispose(): Promise<void>;
}


/** Tries again every 20 ms until the attempt passes. */
const eventually = async <T>(attempt: () => Promise<T>, limitMs = 60_000): Promise<T> => {
  const end = performance.now() + limitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
};

const stopped = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
};

export const redisRig = async (): Promise<Rig> => {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const errors: string[] = [];
  let server: ChildProcess;
  const admin = async <T>(call: (redis: Redis) => Promise<T>): Promise<T> => {
    const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return await call(redis);
    } finally {
      redis.disconnect();
    }
  };
  const start = async (): Promise<void> => {
    server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], { stdio: 'ignore' });
    // Where there is no such program, the ping below fails and says so.
    server.on('error', () => undefined);
    await eventually(() => admin((redis) => redis.ping()));
  };
  await start();
  const settings: QueueSettings = { redisUrl: url, databaseUrl: '', onError: (error, where) => errors.push(`${where}: ${error.message}`) };
  const flush = async (): Promise<void> => void (await admin((redis) => redis.flushall()));
  return {
    kind: 'redis',
    errors,
    settings,
    open: () => openQueueBackend(settings),
    flush,
    wipe: flush,
    signal: (signal) => server.kill(signal),
    cut: async () => void (await admin((redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'))),
    stop: () => stopped(server, 'SIGKILL'),
    start,
    dispose: () => stopped(server, 'SIGKILL'),
  };
};

/** Again, because a DROP that meets working queues may be the one that the database gives up on to end a deadlock. */
const wipeWith = (admin: (sql: string) => Promise<void>): Promise<void> => eventually(() => admin('DROP SCHEMA IF EXISTS bullmq CASCADE'));

export const postgresRig = async (): Promise<Rig> => {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'tocsin-queue-'));
  const launch = () =>
    startEmbeddedPostgres({ dataDir: directory, port, log: () => undefined, extraOptions: ['fsync=off', 'max_connections=40'] });
  let server = await launch();
  const owner = server.url;
  const errors: string[] = [];
  const admin = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: owner });
    client.on('error', () => undefined);
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await admin(`CREATE ROLE ${APP_ROLE}`);
  await migrateQueueSchema(owner, APP_ROLE);
  const settings: QueueSettings = {
    databaseUrl: owner, roleName: APP_ROLE, onError: (error, where) => errors.push(`${where}: ${error.message}`),
  };
  const wipe = (): Promise<void> => wipeWith(admin);
  return {
    kind: 'postgres',
    errors,
    settings,
    open: () => openQueueBackend(settings),
    flush: async () => {
      await wipe();
      await migrateQueueSchema(owner, APP_ROLE);
    },
    wipe,
    signal: (signal) => process.kill(server.pid, signal),
    cut: () => admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"),
    stop: () => server.stop(),
    start: async () => {
      server = await launch();
    },
    dispose: async () => {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

/** The rig of a kind; for `describeOnBackends`. */
export const makeRig = (kind: Rig['kind']): Promise<Rig> => (kind === 'redis' ? redisRig() : postgresRig());

/** Lets a test await the n-th event instead of sleeping. */
export const tally = <T>() => {
  const seen: T[] = [];
  const waiting = new Set<() => void>();
  return {
    seen,
    add: (item: T): void => {
      seen.push(item);
      for (const check of [...waiting]) check();
    },
    /** Resolves once the condition holds over what was seen; rejects after the limit. */
    until: (holds: (seen: readonly T[]) => boolean, limitMs = 10_000): Promise<void> =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(check);
          reject(new Error(`not within ${limitMs} ms; seen: ${seen.slice(-20).map(String).join(' ')}`));
        }, limitMs);
        const check = (): void => {
          if (!holds(seen)) return;
          clearTimeout(timer);
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
};
export { eventually };
