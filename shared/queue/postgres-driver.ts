import pg from 'pg';
import { createPostgresBackend, Queue, Worker, type BackendFactory, type ConnectionOptions, type RedisQueueBackend } from 'bullmq';
import { QUEUE_SCHEMA, type QueueName } from './queue-names.ts';
import { workerOptions, type QueueDriver } from './queue-driver.ts';
import { steady, type Pulse } from './steady-backend.ts';
import type { Processor } from './supervised-worker.ts';
import { settledWithin, within } from './within.ts';
import type { JobPayload, WorkerSettings } from './work-job.ts';

const CONNECT_WITHIN_MS = 1_500;
const QUERY_WITHIN_MS = 5_000;
const PING_WITHIN_MS = 1_000;
const RELEASE_WITHIN_MS = 1_000;
/** Typed as the default backend, so that both kinds of queue have one type; nothing here uses what only Redis' one has. */
const postgresBackend = createPostgresBackend as unknown as BackendFactory<RedisQueueBackend>;
/** Connections beside the one that each worker holds for LISTEN. */
const SHARED_CONNECTIONS = 3;

const poolOptions = (databaseUrl: string, roleName?: string): pg.PoolConfig => {
  if (roleName !== undefined && !/^[a-z_][a-z0-9_]*$/.test(roleName)) throw new Error('not a role name');
  return {
    connectionString: databaseUrl,
    options: `-c search_path=${QUEUE_SCHEMA}${roleName === undefined ? '' : ` -c role=${roleName}`}`,
    max: SHARED_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    query_timeout: QUERY_WITHIN_MS,
    // The default of 10 s makes a quiet system pay for a new connection again and again.
    idleTimeoutMillis: 300_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
};

/**
 * Queues on the Postgres backend of BullMQ, all on one pool. A worker keeps one client for LISTEN, so the pool grows by one
 * with each; the rest of its calls share a few connections.
 */
export const openPostgresDriver = (
  settings: { databaseUrl: string; roleName?: string },
  report: (thrown: unknown, where: string) => void,
): QueueDriver => {
  const pool = new pg.Pool(poolOptions(settings.databaseUrl, settings.roleName));
  const connection = pool as unknown as ConnectionOptions;
  const clients = new Set<pg.PoolClient>();
  // Every queue and worker subscribes to the pool's errors.
  pool.setMaxListeners(0);
  pool.on('error', (error) => report(error, 'postgres'));
  pool.on('connect', (client) => {
    clients.add(client);
    // A client that BullMQ has checked out has no listener at times, and its loss must not end the process.
    client.on('error', (error) => report(error, 'postgres'));
  });
  pool.on('remove', (client) => clients.delete(client));

  const makeWorker = (name: QueueName, workerSettings: WorkerSettings, own: { processor: Processor; pulse: Pulse }) => {
    const before = new Set(pool.listeners('error'));
    const worker = new Worker<JobPayload, null, string>(
      name, own.processor, { connection, ...workerOptions(workerSettings) }, steady(postgresBackend, own.pulse),
    );
    const added = pool.listeners('error').filter((listener) => !before.has(listener));
    pool.options.max += 1;
    worker.once('closed', () => {
      pool.options.max -= 1;
      // BullMQ leaves its listener on a pool that it does not own; workers made anew would pile them up.
      for (const listener of added) pool.off('error', listener as (error: Error) => void);
    });
    return worker;
  };

  return {
    kind: 'postgres',
    // A pool that cannot connect rejects within its own limit.
    assertPassable: () => Promise.resolve(),
    makeQueue: (name) => new Queue<JobPayload, null, string>(name, { connection }, postgresBackend),
    makeWorker,
    reachable: () => settledWithin(PING_WITHIN_MS, pool.query('SELECT 1 FROM migration LIMIT 1')),
    dueAt: () => undefined,
    release: async () => {
      const ended = pool.end();
      // pool.end() waits for clients in hand; where the backend is gone they would never come back.
      if (await settledWithin(RELEASE_WITHIN_MS, ended)) return;
      for (const client of clients) (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
      await within(RELEASE_WITHIN_MS, ended).catch(() => undefined);
    },
  };
};
