import type { Database, Statement } from './database.ts';

// The first entry that the feed may not show yet, in the order of its index: one row, however long a transaction holds the others back.
const STANDING: Statement = {
  name: 'tocsin_deployment_v1',
  text: `
SELECT (SELECT e.at FROM ledger_entry e
         WHERE (e.epoch, e.xid) >= (coalesce((SELECT max(epoch) FROM feed_epoch), 0), pg_snapshot_xmin(pg_current_snapshot())) ORDER BY e.epoch, e.xid, e.position LIMIT 1) AS hidden_at,
       ARRAY(SELECT kind || ' ' || count(*) FROM alert WHERE ended_at IS NULL GROUP BY kind) AS alerts,
       ARRAY(SELECT provider || ' ' || state FROM provider_state) AS providers`,
};

export interface Standing {
  /** How long the oldest committed entry has been waiting to be shown by the feed, in milliseconds; zero where none waits. */
  feedLagMs: number;
  /** Incidents that last, by kind. */
  alerts: Record<string, number>;
  /** State of each provider that ever refused us. */
  providers: Record<string, string>;
}

const pairs = (texts: readonly string[]): [string, string][] => texts.map((text) => text.split(' ') as [string, string]);

/** How the whole deployment stands, for the metrics. */
export const readStanding = async (db: Database, now: number): Promise<Standing> => {
  const [row] = await db.query<{ hidden_at: Date | null; alerts: string[]; providers: string[] }>(STANDING, []);
  return {
    feedLagMs: row?.hidden_at ? Math.max(0, now - row.hidden_at.getTime()) : 0,
    alerts: Object.fromEntries(pairs(row?.alerts ?? []).map(([kind, count]) => [kind, Number(count)])), providers: Object.fromEntries(pairs(row?.providers ?? [])),
  };
};

const SIZE: Statement = { name: 'tocsin_database_size_v1', text: 'SELECT pg_database_size(current_database())::text AS bytes' };

/** What the database takes up on its disk, in bytes. */
export const databaseBytes = async (db: Database): Promise<number> => Number((await db.query<{ bytes: string }>(SIZE, []))[0]?.bytes ?? 0);
