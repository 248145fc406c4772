import { readFile } from 'node:fs/promises';
import type { Database } from '../../shared/ledger/database.ts';
import { openClient } from './open-client.ts';

/** What some operations cost. `cpuMs` is that of the server's processes; null where the system does not tell. */
export interface Cost { operations: number; wallMs: number; cpuMs: number | null; pages: number; walBytes: number }

/** Nanoseconds that a process has run (Linux). */
const ranNs = async (pid: number): Promise<number | null> => {
  const text = await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => null);
  return text === null ? null : Number(text.split(' ')[0]);
};

interface Reading { cpuNs: number | null; pages: number; wal: number }

export interface Meter {
  /** Runs it and tells what it cost; it resolves to the number of operations. */
  measure: (run: () => Promise<number>) => Promise<Cost>;
  close: () => Promise<void>;
}

/**
 * Looks at one database from outside: the time that passed, the processor time of its backends, the pages they touched, the WAL
 * written meanwhile. Nothing else may run on that server.
 */
export const openMeter = async (ownerUrl: string, db: Database): Promise<Meter> => {
  const owner = await openClient(ownerUrl);
  const read = async (): Promise<Reading> => {
    // Statistics are told a second late at most; each backend is made to tell them now.
    const clients = await Promise.all(Array.from({ length: db.pool.options.max }, () => db.pool.connect()));
    for (const client of clients) await client.query('SELECT pg_stat_force_next_flush()');
    for (const client of clients) await client.query('SELECT 1');
    for (const client of clients) client.release();
    const { rows: [row] } = await owner.query<{ pages: string; wal: string; pids: number[] }>(
      `SELECT (SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()) AS pages, pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS wal,
              ARRAY(SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tocsin') AS pids`);
    const ran = await Promise.all((row?.pids ?? []).map(ranNs));
    return { cpuNs: ran.includes(null) ? null : ran.reduce<number>((sum, ns) => sum + (ns ?? 0), 0), pages: Number(row?.pages), wal: Number(row?.wal) };
  };
  return {
    measure: async (run) => {
      const before = await read();
      const startedAt = performance.now();
      const operations = await run();
      const wallMs = performance.now() - startedAt;
      const after = await read();
      return {
        operations, wallMs, cpuMs: before.cpuNs === null || after.cpuNs === null ? null : (after.cpuNs - before.cpuNs) / 1e6,
        pages: after.pages - before.pages, walBytes: after.wal - before.wal,
      };
    },
    close: () => owner.end(),
  };
};
