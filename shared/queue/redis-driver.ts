import { once } from 'node:events';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { createRedisBackend, Queue, Worker } from 'bullmq';
import { openNudge } from './nudge.ts';
import { askRedis, connectRedis, readRedisAddress, type NatMap, type RedisClient } from './redis-address.ts';
import { workerOptions, type QueueDriver } from './queue-driver.ts';
import { steady } from './steady-backend.ts';
import { settledWithin } from './within.ts';
import { QueueAway, type JobPayload } from './work-job.ts';

const FIRST_CONNECT_WITHIN_MS = 1_500;
const COMMAND_WITHIN_MS = 1_500;
const PING_WITHIN_MS = 1_000;
const RELEASE_WITHIN_MS = 200;

const reconnecting: RedisOptions = {
  connectTimeout: 2_000,
  // How long a connection that is let go may hold up the end of the process.
  disconnectTimeout: RELEASE_WITHIN_MS,
  keepAlive: 10_000,
  // After a failover the old primary answers so; only a new connection finds the new one.
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
};

/**
 * Queues on Redis or a Redis Cluster. Producers fail fast on a connection of their own; workers share another that waits for Redis as long as
 * it takes, and each has a third for its blocking call.
 */
export const openRedisDriver = (redisUrl: string, report: (thrown: unknown, where: string) => void, natMap?: NatMap): QueueDriver => {
  const address = readRedisAddress(redisUrl);
  const { prefix } = address;
  const connections = new Set<RedisClient>();
  const connect = (options: RedisOptions): RedisClient => {
    const redis = connectRedis(address, { ...reconnecting, ...options }, natMap);
    redis.on('error', (error) => report(error, 'redis'));
    connections.add(redis);
    return redis;
  };
  const producer = connect({ maxRetriesPerRequest: 0, enableOfflineQueue: false, commandTimeout: COMMAND_WITHIN_MS });
  let wasReady = producer.status === 'ready';
  producer.once('ready', () => {
    wasReady = true;
  });
  let shared: RedisClient | null = null;
  const forWorkers = (): RedisClient => {
    if (shared) return shared;
    const main = connect({ maxRetriesPerRequest: null });
    const duplicate = main.duplicate.bind(main) as (...override: unknown[]) => RedisClient;
    // BullMQ makes each worker's blocking connection so; we keep hold of it to be able to cut it.
    main.duplicate = (...override: unknown[]): Redis & Cluster => {
      const copy = duplicate(...override);
      connections.add(copy);
      copy.once('end', () => connections.delete(copy));
      return copy as Redis & Cluster;
    };
    shared = main;
    return main;
  };

  const nudge = openNudge(() => {
    if (producer.status === 'ready') askRedis(producer, prefix).catch(() => undefined);
  });

  return {
    kind: 'redis',
    assertPassable: async () => {
      if (producer.status === 'ready') return;
      // Only at the very start a connection in the making is worth waiting for.
      if (wasReady || !(await settledWithin(FIRST_CONNECT_WITHIN_MS, once(producer, 'ready')))) throw new QueueAway();
    },
    makeQueue: (name) =>
      new Queue<JobPayload, null, string>(name, { connection: producer, prefix, skipVersionCheck: true }),
    makeWorker: (name, settings, { processor, pulse }) =>
      new Worker<JobPayload, null, string>(
        name, processor, { connection: forWorkers(), prefix, ...workerOptions(settings) }, steady(createRedisBackend, pulse),
      ),
    reachable: () => settledWithin(PING_WITHIN_MS, askRedis(producer, prefix)),
    dueAt: nudge.at,
    release: async () => {
      nudge.stop();
      const open = [...connections].filter(({ status }) => status !== 'end');
      const ended = Promise.all(open.map((redis) => once(redis, 'end')));
      for (const redis of open) redis.disconnect();
      await settledWithin(2 * RELEASE_WITHIN_MS, ended);
    },
  };
};
