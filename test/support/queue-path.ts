import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import type { QueueSettings } from '../../shared/queue/queue-backend.ts';
import { connectRedis, readRedisAddress } from '../../shared/queue/redis-address.ts';
import { ownRedisDatabase } from './own-redis-database.ts';
import { openTcpProxy, through } from './tcp-proxy.ts';

/** The way of one world to queues of its own on Redis, which can be cut. */
export interface QueuePath {
  /** Where the queues are, past the proxies. */
  redisUrl: string;
  settings: Pick<QueueSettings, 'redisUrl' | 'natMap'>;
  cut: () => void;
  restore: () => void;
  flush: () => Promise<void>;
  close: () => Promise<void>;
}

const toSingle = async (given: string): Promise<QueuePath> => {
  const redisUrl = await ownRedisDatabase(given);
  const { url, proxy } = await through(redisUrl);
  return {
    redisUrl, settings: { redisUrl: url }, cut: proxy.cut, restore: proxy.restore, close: proxy.close,
    flush: async () => {
      const own = new Redis(redisUrl);
      await own.flushdb();
      own.disconnect();
    },
  };
};

/** A cluster has one database: the name of a deployment keeps worlds apart. Its nodes tell their own addresses, so each is mapped to its proxy. */
const toCluster = async (given: string): Promise<QueuePath> => {
  const name = `w${randomBytes(5).toString('hex')}`;
  const redisUrl = `${given}/${name}`;
  const address = readRedisAddress(redisUrl);
  if (address.kind !== 'cluster') throw new Error('no cluster');
  const proxies = await Promise.all(address.nodes.map((node) => openTcpProxy(node)));
  const at = (index: number) => ({ host: '127.0.0.1', port: proxies[index]?.port as number });
  return {
    redisUrl,
    settings: {
      redisUrl: `redis+cluster://${proxies.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${name}`,
      natMap: Object.fromEntries(address.nodes.map(({ host, port }, index) => [`${host}:${port}`, at(index)])),
    },
    cut: () => { for (const proxy of proxies) proxy.cut(); },
    restore: () => { for (const proxy of proxies) proxy.restore(); },
    close: async () => { await Promise.all(proxies.map((proxy) => proxy.close())); },
    flush: async () => {
      const own = connectRedis(address, {});
      // All keys of one prefix are on one node; the script deletes them at once, as a flush would.
      await own.eval(
        'local from = "0" repeat local page = redis.call("SCAN", from, "MATCH", ARGV[1], "COUNT", 1000) from = page[1] for _, key in ipairs(page[2]) do redis.call("DEL", key) end until from == "0"',
        1, `${address.prefix}:flush`, `${address.prefix}:*`);
      own.disconnect();
    },
  };
};

/** Opens the way to queues of this caller alone: another database number, or on a cluster another name. */
export const openQueuePath = (redisUrl: string): Promise<QueuePath> => (readRedisAddress(redisUrl).kind === 'cluster' ? toCluster(redisUrl) : toSingle(redisUrl));
