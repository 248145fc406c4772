import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { OWNER_ROLE, type Cluster } from './embedded-cluster.ts';
import { isRunning, servesCluster } from './embedded-process.ts';
import { askServer, ServerRefusal } from './embedded-session.ts';

/** What `postmaster.pid` says (source: miscadmin.h of Postgres): line 1 pid, 4 port, 8 state. */
export interface PostmasterFile { pid: number; port: number; ready: boolean }

const LOOK_AGAIN_MS = 20;
const STATES_TO_WAIT_FOR = '57P03';

const pidFileOf = (cluster: string): string => join(cluster, 'postmaster.pid');

/** The cluster's pid file; null where there is none, or none that can be read. */
export const readPostmasterFile = async (cluster: string): Promise<PostmasterFile | null> => {
  const lines = (await readFile(pidFileOf(cluster), 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  return Number.isInteger(pid) && pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' } : null;
};

/** Waits until `done` says true; false when `withinMs` passed first. */
export const waitUntil = async (done: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> => {
  const until = performance.now() + withinMs;
  while (!await done()) {
    if (performance.now() > until) return false;
    await pause(LOOK_AGAIN_MS);
  }
  return true;
};

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return;
    throw new Error(`Postgres (pid ${pid}) belongs to another user and cannot be stopped from here: stop it as that user.`, { cause: error });
  }
};

/**
 * Stops the server of the cluster, and returns when it and, with it, its children are gone: a fast shutdown, then an
 * immediate one, at last a kill. Even that loses nothing committed: the next start recovers from the log.
 */
export const stopPostmaster = async (pid: number, cluster: string): Promise<void> => {
  const steps: [NodeJS.Signals, number][] = [['SIGINT', 15_000], ['SIGQUIT', 6_000], ['SIGKILL', 5_000]];
  for (const [name, withinMs] of steps) {
    // Asked each time: a pid that another program got meanwhile must not be signalled.
    if (servesCluster(pid, cluster) === false) return;
    signal(pid, name);
    // A stopped process would never see the signal.
    if (process.platform !== 'win32') signal(pid, 'SIGCONT');
    if (await waitUntil(() => !isRunning(pid), withinMs)) return;
  }
  throw new Error(`Postgres (pid ${pid}) does not end, not even when killed.`);
};

const IDENTIFY = "SELECT current_setting('data_directory'), current_setting('fsync'), current_setting('synchronous_commit')";

/**
 * Whether the server on this port is the cluster's own: it takes our password and reports our data directory. With
 * `durable` it must also run with fsync and synchronous_commit on. Throws what `askServer` throws.
 */
export const isOurServer = async (cluster: Cluster, port: number, durable: boolean): Promise<boolean> => {
  const login = { port, user: OWNER_ROLE, password: cluster.password, database: 'postgres' };
  const [[directory, fsync, commit] = []] = await askServer(login, IDENTIFY);
  return directory === cluster.path && (!durable || (fsync === 'on' && commit === 'on'));
};

/** Whether the server still recovers or already stops: worth waiting for, neither adopted nor fought. */
const isBusy = (error: unknown): boolean => error instanceof ServerRefusal && error.code === STATES_TO_WAIT_FOR;

const answersAsOurs = async (cluster: Cluster, { pid, port }: PostmasterFile, durable: boolean): Promise<boolean> => {
  let ours = false;
  await waitUntil(async () => {
    try {
      ours = await isOurServer(cluster, port, durable);
      return true;
    } catch (error) {
      return !isBusy(error) || !isRunning(pid);
    }
  }, 60_000);
  return ours;
};

/**
 * Deals with what an earlier owner left behind. A server of ours that answers on the wanted port (0: on any) is returned
 * for adoption; one that does not is stopped; a pid file whose process is gone, or became another program, is removed.
 */
export const takeOver = async (cluster: Cluster, wanted: { port: number; durable: boolean }): Promise<PostmasterFile | null> => {
  await waitUntil(async () => {
    const starting = await readPostmasterFile(cluster.path);
    return starting === null || starting.ready || servesCluster(starting.pid, cluster.path) !== true;
  }, 5_000);
  const left = await readPostmasterFile(cluster.path);
  if (left === null) return null;
  const serves = servesCluster(left.pid, cluster.path);
  if (serves === null) throw new Error(`${pidFileOf(cluster.path)} names process ${left.pid}, which cannot be looked at: stop it, or remove that file when it is no Postgres.`);
  if (!serves) {
    // Safe: should a server run on this cluster all the same, its shared memory makes the new one refuse.
    await rm(pidFileOf(cluster.path), { force: true });
    return null;
  }
  const portFits = wanted.port === 0 || wanted.port === left.port;
  if (portFits && await answersAsOurs(cluster, left, wanted.durable)) return left;
  await stopPostmaster(left.pid, cluster.path);
  return null;
};
