import { readFileSync, readdirSync } from 'node:fs';
import type { Ground } from './ground.ts';

/** CPU milliseconds, WAL bytes and writing transactions; of everything since the start of the process or server. */
export interface Spent { nodeMs: number; postgresMs: number; redisMs: number; sandboxMs: number; clientMs: number; walBytes: number; commits: number }

/** The kernel's clock tick in Linux' /proc, which is 100 a second on every platform that node runs on. */
const TICK_MS = 10;

const statOf = (pid: number): string[] | null => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
};
const cpuOf = (pid: number, withEnded = false): number => {
  const fields = statOf(pid);
  if (!fields) return 0;
  const own = Number(fields[11]) + Number(fields[12]);
  return (own + (withEnded ? Number(fields[13]) + Number(fields[14]) : 0)) * TICK_MS;
};

/** A postmaster, its children that run, and what those cost that have ended. */
const cpuOfPostgres = (postmaster: number): number => readdirSync('/proc').map(Number).filter((pid) => Number.isInteger(pid) && pid > 0)
  .reduce((sum, pid) => (statOf(pid)?.[1] === String(postmaster) ? sum + cpuOf(pid) : sum), cpuOf(postmaster, true));

/** Reads what was spent so far. The number of writing transactions is that of the ids that were given out, which is exact at once. */
export const readSpent = async (ground: Ground, pids: { node: readonly number[]; sandbox: number }): Promise<Spent> => {
  const { rows: [row] } = await ground.admin.query<{ wal: string; xid: string }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text AS wal, pg_snapshot_xmax(pg_current_snapshot())::text AS xid`);
  return {
    nodeMs: pids.node.reduce((sum, pid) => sum + cpuOf(pid), 0), postgresMs: cpuOfPostgres(ground.postmaster), redisMs: ground.redisPid === null ? 0 : cpuOf(ground.redisPid),
    sandboxMs: cpuOf(pids.sandbox), clientMs: cpuOf(process.pid), walBytes: Number(row?.wal), commits: Number(row?.xid),
  };
};

/** What was spent between two readings, for each of `workflows`. */
export const spentEach = (before: Spent, after: Spent, workflows: number): Spent =>
  Object.fromEntries(Object.entries(after).map(([name, value]) => [name, (value - before[name as keyof Spent]) / workflows])) as unknown as Spent;

/** The most memory that processes have held so far, together, in MB. */
export const peakMemoryMb = (pids: readonly number[]): number => pids.reduce((sum, pid) => {
  try {
    return sum + Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return sum;
  }
}, 0);
