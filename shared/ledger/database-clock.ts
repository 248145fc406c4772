import type { Database, Statement } from './database.ts';

const CLOCK: Statement = { name: 'tocsin_clock_v1', text: `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms` };

export interface DatabaseClock {
  /** Now, in milliseconds since the epoch: monotonic time plus the offset to the database's clock. */
  now: () => number;
  /** Measures the offset anew. A failed measurement keeps the old one. */
  refresh: () => Promise<void>;
}

/**
 * The one clock of all processes. Monotonic between refreshes: a host whose wall clock jumps moves nothing. An offset is only
 * taken from a measurement whose round trip was shorter than 250 ms.
 */
export const createDatabaseClock = (db: Database): DatabaseClock => {
  let offsetMs = Date.now() - performance.now();
  return {
    now: () => Math.round(performance.now() + offsetMs),
    refresh: async () => {
      const before = performance.now();
      const [row] = await db.query<{ ms: number }>(CLOCK, []);
      const after = performance.now();
      if (row && after - before < 250) offsetMs = row.ms - (before + after) / 2;
    },
  };
};
