import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';

/**
 * What the operating system tells about a process. A pid alone proves nothing: it is reused, also across reboots and
 * restarts of a container. Everything here is synchronous, so that it can be asked from a process's exit handler.
 */

/** The part of /proc/PID/stat behind the command name, which itself may hold spaces and parentheses. */
const linuxStatOf = (pid: number): string[] | null => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
};

const psColumn = (pid: number, column: string): string | null => {
  try {
    return execFileSync('ps', ['-o', `${column}=`, '-p', String(pid)], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim() || null;
  } catch {
    return null;
  }
};

/** Whether a process with this pid runs now. A zombie (dead, and not yet collected by its parent) does not run. */
export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const state = linuxStatOf(pid)?.[0];
  return state !== 'Z' && state !== 'X';
};

/**
 * A text that differs between two processes that had the same pid: boot id and start tick on Linux (proc(5), field 22),
 * the start time as told by ps elsewhere. Null where the system does not tell.
 */
export const startMarkOf = (pid: number): string | null => {
  const startTick = linuxStatOf(pid)?.[19];
  if (startTick === undefined) return process.platform === 'linux' ? null : psColumn(pid, 'lstart');
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${startTick}`;
};

/**
 * Whether the process is a Postgres that serves this data directory (given as a real path). The server's working
 * directory is its data directory; where that cannot be read, its command line names it. Null when neither is told.
 */
export const servesCluster = (pid: number, cluster: string): boolean | null => {
  if (!isRunning(pid)) return false;
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === cluster;
  } catch {
    const command = psColumn(pid, 'command');
    return command === null ? null : command.includes(cluster);
  }
};
