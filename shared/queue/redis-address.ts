import type { ClusterOptions, RedisOptions } from 'ioredis';
import { Cluster, Redis } from 'ioredis';
import { QUEUE_PREFIX } from './queue-names.ts';

export interface RedisNode { host: string; port: number }

/** Where the queues are on Redis, and the prefix of their keys. */
export type RedisAddress =
  | { kind: 'single'; url: string; prefix: string }
  | { kind: 'cluster'; nodes: RedisNode[]; login: Pick<RedisOptions, 'username' | 'password' | 'tls'>; prefix: string };

export type NatMap = Readonly<Record<string, RedisNode>>;

const CLUSTER = /^(rediss?)\+cluster:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^@/?#]+)(?:\/([a-z0-9-]{1,32})?)?$/;

const nodeOf = (text: string): RedisNode => {
  const { hostname, port } = new URL(`redis://${text}`);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 6379) };
};

/**
 * Reads REDIS_URL. `redis+cluster://host:port,host:port` is a cluster by some of its nodes, `rediss+cluster` the same over TLS. A
 * cluster has one database only, so a name takes the place of its number: `…/staging` keeps the keys of a deployment apart. Braces
 * make the prefix a hash tag: all queues are on one slot, as BullMQ's scripts need it.
 * @throws Error where it is no address; its text holds nothing of it.
 */
export const readRedisAddress = (url: string): RedisAddress => {
  if (!/^rediss?\+cluster:/.test(url)) return { kind: 'single', url, prefix: QUEUE_PREFIX };
  const match = CLUSTER.exec(url);
  if (!match) throw new Error('REDIS_URL is no address of a Redis Cluster: write redis+cluster://host:port,host:port, with /name for a deployment of several');
  const [, scheme, username, password, hosts = '', name] = match;
  const text = (part: string | undefined) => (part === undefined || part === '' ? undefined : decodeURIComponent(part));
  const [user, secret] = [text(username), text(password)];
  return {
    kind: 'cluster', nodes: hosts.split(',').map(nodeOf), prefix: name === undefined ? QUEUE_PREFIX : `{tocsin-${name}}`,
    login: { ...(user === undefined ? {} : { username: user }), ...(secret === undefined ? {} : { password: secret }), ...(scheme === 'rediss' ? { tls: {} } : {}) },
  };
};

const LONGEST_RETRY_MS = 1_000;
const retry = (times: number): number => Math.min(times * 50, LONGEST_RETRY_MS);

export type RedisClient = Redis | Cluster;

/** Connects to a Redis or a cluster, for as long as it takes. */
export const connectRedis = (address: RedisAddress, options: RedisOptions, natMap?: NatMap): RedisClient => {
  if (address.kind === 'single') return new Redis(address.url, { retryStrategy: retry, ...options });
  const { enableOfflineQueue = true, ...redisOptions } = options;
  const cluster: ClusterOptions = {
    enableOfflineQueue, clusterRetryStrategy: retry, slotsRefreshTimeout: 2_000, redisOptions: { ...redisOptions, ...address.login }, ...(natMap ? { natMap } : {}),
  };
  return new Cluster(address.nodes, cluster);
};

/** One round trip to where the queues are: in a cluster a bare PING would ask any node. */
export const askRedis = (client: RedisClient, prefix: string): Promise<unknown> => (client instanceof Cluster ? client.exists(`${prefix}:nudge`) : client.ping());
