import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, stat, truncate } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../shared/http/free-port.ts';
import { resetPassword, type Cluster } from './embedded-cluster.ts';
import { spawnAs } from './embedded-identity.ts';
import { isOurServer, readPostmasterFile, stopPostmaster, waitUntil } from './embedded-postmaster.ts';
import { ServerRefusal } from './embedded-session.ts';

export interface LaunchSettings {
  /** 0: any free one. */
  port: number;
  extraOptions: string[];
  log: (line: string) => void;
}
export interface Launched { child: ChildProcess; port: number }

const DURABLE = ['fsync=on', 'synchronous_commit=on', 'full_page_writes=on'];
// On the command line, so that no file in the cluster overrides them and old clusters get new values.
const SERVER_OPTIONS = [
  'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=100', 'shared_buffers=64MB', 'jit=off',
  'password_encryption=scram-sha-256', 'timezone=UTC', 'log_timezone=UTC', 'log_min_messages=warning', 'log_line_prefix=%m [%p] ',
];
const READY_WITHIN_MS = 60_000;
const LOG_LIMIT_BYTES = 4 * 1024 * 1024;


const isTaken = async (port: number): Promise<boolean> => {
  const probe = createServer().listen(port, '127.0.0.1');
  return once(probe, 'listening').then(
    async () => { await new Promise((resolve) => probe.close(resolve)); return false; },
    (error: NodeJS.ErrnoException) => error.code === 'EADDRINUSE',
  );
};

const sizeOf = async (path: string): Promise<number> => (await stat(path).catch(() => null))?.size ?? 0;

interface Outcome { child: ChildProcess; complaint: string | null }

/** Starts the server once. `complaint` is what it wrote when it ended instead of becoming ready. */
const launchOnce = async (cluster: Cluster, port: number, extraOptions: string[]): Promise<Outcome> => {
  if (await sizeOf(cluster.logPath) > LOG_LIMIT_BYTES) await truncate(cluster.logPath);
  const logStart = await sizeOf(cluster.logPath);
  const options = [...SERVER_OPTIONS, ...DURABLE, `port=${port}`, ...extraOptions].flatMap((option) => ['-c', option]);
  // A file and not a pipe: the server must be able to outlive us, and must not keep our event loop alive.
  const logFile = await open(cluster.logPath, 'a', 0o600);
  const child = spawnAs(cluster.identity, [cluster.binaries.postgres, '-D', cluster.path, ...options], ['ignore', logFile.fd, logFile.fd], true);
  await logFile.close();
  let ended = false;
  const ends = once(child, 'exit').then(() => { ended = true; }, (error: Error) => { ended = true; throw error; });
  const isReady = async (): Promise<boolean> => {
    const file = await readPostmasterFile(cluster.path);
    return file?.pid === child.pid && file?.ready === true;
  };
  const settled = await Promise.race([ends.then(() => true), waitUntil(async () => ended || await isReady(), READY_WITHIN_MS)]);
  if (ended) return { child, complaint: (await readFile(cluster.logPath)).subarray(logStart).toString('utf8').trim() };
  if (settled) return { child, complaint: null };
  await stopPostmaster(child.pid ?? 0, cluster.path);
  throw new Error(`Postgres was not ready within ${READY_WITHIN_MS / 1000} s; see ${cluster.logPath}.`);
};

/** Starts the server, again where what stood in its way goes away by itself. */
const launch = async (cluster: Cluster, settings: LaunchSettings): Promise<Launched> => {
  const wanted = settings.port;
  for (let attempt = 1; ; attempt += 1) {
    const port = wanted || await freePort();
    const { child, complaint } = await launchOnce(cluster, port, settings.extraOptions);
    if (complaint === null) return { child, port };
    if (wanted !== 0 && await isTaken(wanted)) throw new Error(`Port ${wanted} on 127.0.0.1 is taken: stop what listens there, or choose another port for Postgres.`);
    // A killed server's children end a moment after it; another program may have taken the free port just now.
    const passes = /shared memory block|[Aa]ddress already in use/.test(complaint);
    if (!passes || attempt === 20) throw new Error(`Postgres did not start: ${complaint || 'it wrote nothing'}`);
    await pause(250);
  }
};

/**
 * Starts a server that takes our password, also where the one on disk is not the one the cluster was made with. Returns
 * when it takes connections; throws with what the server wrote where it does not start.
 */
export const launchOurs = async (cluster: Cluster, settings: LaunchSettings): Promise<Launched> => {
  const launched = await launch(cluster, settings);
  try {
    if (await isOurServer(cluster, launched.port, false)) return launched;
    throw new Error(`Another server answers on port ${launched.port}.`);
  } catch (error) {
    await stopPostmaster(launched.child.pid ?? 0, cluster.path);
    if (!(error instanceof ServerRefusal && error.code === '28P01')) throw error;
    settings.log('postgres: the password file was lost or changed, setting a new password');
    await resetPassword(cluster);
    return launch(cluster, settings);
  }
};
