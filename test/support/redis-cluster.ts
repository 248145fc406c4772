import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import type { TestRedis } from './test-redis.ts';

const run = promisify(execFile);
const NODES = 3;
/** A node talks to the others on its port plus this. */
const BUS = 10_000;

const listens = async (port: number): Promise<number | null> => {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return null;
  }
  const bound = (probe.address() as AddressInfo).port;
  await new Promise((resolve) => probe.close(resolve));
  return bound;
};

const freePair = async (): Promise<number> => {
  for (;;) {
    const port = await listens(0) as number;
    const low = port > 50_000 ? port - 30_000 : port;
    if (await listens(low) !== null && await listens(low + BUS) !== null) return low;
  }
};

const tellsOk = async (port: number): Promise<boolean> => {
  const redis = new Redis({ host: '127.0.0.1', port, lazyConnect: true, retryStrategy: () => null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    const info = String(await redis.cluster('INFO'));
    return /cluster_state:ok/.test(info) && new RegExp(`cluster_known_nodes:${NODES}`).test(info);
  } catch {
    return false;
  } finally {
    redis.disconnect();
  }
};

/** Resolves once the check holds; asked every 50 ms, for at most half a minute. */
const becomesTrue = async (check: () => Promise<boolean>): Promise<boolean> => {
  for (let round = 0; round < 600; round += 1) {
    if (await check()) return true;
    await pause(50);
  }
  return false;
};

const startNode = (folder: string, port: number): ChildProcess => {
  const child = spawn('redis-server', [
    '--bind', '127.0.0.1', '--port', String(port), '--dir', folder, '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction', '--hz', '100',
    '--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`, '--cluster-node-timeout', '5000',
  ], { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  return child;
};

const stopNode = async (child: ChildProcess): Promise<void> => {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.ref();
  child.kill('SIGKILL');
  await ended;
};

/** Starts a Redis Cluster of three nodes on loopback, with every slot served; null where there is no `redis-server` or `redis-cli`. */
export const startRedisCluster = async (): Promise<TestRedis | null> => {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-cluster-'));
  const ports: number[] = [];
  const nodes: ChildProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map(stopNode));
    await rm(folder, { recursive: true, force: true });
  };
  for (let count = 0; count < NODES; count += 1) {
    const port = await freePair();
    ports.push(port);
    nodes.push(startNode(folder, port));
  }
  const addresses = ports.map((port) => `127.0.0.1:${port}`);
  const create = async (): Promise<boolean> => run('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']).then(() => true, () => false);
  const answers = async (port: number): Promise<boolean> => {
    const redis = new Redis({ host: '127.0.0.1', port, lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => undefined);
    return redis.connect().then(() => true, () => false).finally(() => redis.disconnect());
  };
  const started = nodes.every((node) => node.pid !== undefined) && await becomesTrue(async () => (await Promise.all(ports.map(answers))).every(Boolean));
  if (!started || !await create() || !await becomesTrue(async () => (await Promise.all(ports.map(tellsOk))).every(Boolean))) {
    await stop();
    return null;
  }
  for (const node of nodes) node.unref();
  return { url: `redis+cluster://${addresses.join(',')}`, stop };
};
