import type pg from 'pg';
import type { AttemptStateName, Channel } from '../domain/words.ts';
import type { Database } from './database.ts';

/** A row of an old system's export, as far as the ledger is asked about it. */
export interface OldRow { line: number; eventId: string; channel: Channel; outcome: string }

/** A row of the export beside what the ledger has; `known` is null where it has no such notification of that tenant. */
export interface Beside extends OldRow { known: { purpose: string; state: AttemptStateName | null } | null }
/** An attempt of the ledger, the newest of its channel. */
export interface Ours { eventId: string; channel: Channel; state: AttemptStateName; listed: boolean }

export interface OldExport {
  /** The event ids behind stored idempotency keys, by key. */
  resolve: (tenant: string, storedKeys: readonly string[]) => Promise<Map<string, string>>;
  add: (rows: readonly OldRow[]) => Promise<void>;
  /** To be called once all are in. Returns the first and the last event id of the export; null where it is empty. */
  close: () => Promise<{ first: string; last: string } | null>;
  /** Every row, in the order of event, channel and line. */
  rows: (tenant: string) => AsyncGenerator<Beside>;
  /** The ledger's own in a range of event ids, both ends in it. */
  ours: (range: { tenant: string; purpose: string | null; first: string; last: string }) => AsyncGenerator<{ eventId: string; attempts: Ours[] }>;
}

const PAGE = 1_000;

// Of this connection alone, and gone with it: however long the export is, nothing of it is kept in memory here.
const CREATE = `CREATE TEMP TABLE old_export (event_id text COLLATE "C" NOT NULL, channel text NOT NULL, line bigint NOT NULL, outcome text NOT NULL, PRIMARY KEY (event_id, channel, line))`;

const ADD = `INSERT INTO old_export (event_id, channel, line, outcome) SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(event_id text, channel text, line bigint, outcome text)`;

// The attempts of an event and channel by their keys, which begin so: a range of the primary key.
const ROWS = `SELECT o.event_id, o.channel, o.line::text, o.outcome, n.purpose, a.state
  FROM (SELECT * FROM old_export WHERE (event_id, channel, line) > ($1, $2, $3::bigint) ORDER BY event_id, channel, line LIMIT $4) o
  LEFT JOIN LATERAL (SELECT x.purpose FROM notification x WHERE x.event_id = o.event_id AND x.tenant = $5 OFFSET 0) n ON true
  LEFT JOIN LATERAL (SELECT x.state FROM attempt x WHERE x.attempt_key > o.event_id || '.' || o.channel || '.' AND x.attempt_key < o.event_id || '.' || o.channel || '/' ORDER BY x.sequence DESC LIMIT 1) a ON true
 ORDER BY o.event_id, o.channel, o.line`;

const OURS = `SELECT k.event_id, a.channel, a.state, EXISTS (SELECT 1 FROM old_export o WHERE o.event_id = k.event_id AND o.channel = a.channel) AS listed
  FROM (SELECT x.event_id, x.tenant, x.purpose FROM notification x WHERE x.event_id > $1 AND x.event_id <= $2 ORDER BY x.event_id LIMIT $3) k
  LEFT JOIN LATERAL (SELECT DISTINCT ON (x.channel) x.channel, x.state FROM attempt x WHERE x.attempt_key > k.event_id || '.' AND x.attempt_key < k.event_id || '/' AND k.tenant = $4
    AND ($5::text IS NULL OR k.purpose = $5) ORDER BY x.channel, x.sequence DESC) a ON true
 ORDER BY k.event_id`;

interface RowOf { event_id: string; channel: Channel; line: string; outcome: string; purpose: string | null; state: AttemptStateName | null }

const streamRows = async function* (client: pg.PoolClient, tenant: string): AsyncGenerator<Beside> {
  let after: [string, string, string] = ['', '', '0'];
  for (;;) {
    const { rows } = await client.query<RowOf>({ name: 'tocsin_reconcile_rows_v1', text: ROWS, values: [...after, PAGE, tenant] });
    for (const row of rows) yield { line: Number(row.line), eventId: row.event_id, channel: row.channel, outcome: row.outcome, known: row.purpose === null ? null : { purpose: row.purpose, state: row.state } };
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = [last.event_id, last.channel, last.line];
  }
};

/** The id right before another one, in the order of ids: so that a range may begin with it. */
const before = (eventId: string): string => eventId.slice(0, -1);

const streamOurs = async function* (client: pg.PoolClient, { tenant, purpose, first, last }: Parameters<OldExport['ours']>[0]): ReturnType<OldExport['ours']> {
  for (let after = before(first); ;) {
    const { rows } = await client.query<{ event_id: string; channel: Channel | null; state: AttemptStateName; listed: boolean }>({ name: 'tocsin_reconcile_ours_v1', text: OURS, values: [after, last, PAGE, tenant, purpose] });
    const events = new Map<string, Ours[]>();
    for (const { event_id: eventId, channel, state, listed } of rows) {
      const known = events.get(eventId) ?? [];
      events.set(eventId, known);
      if (channel !== null) known.push({ eventId, channel, state, listed });
    }
    for (const [eventId, attempts] of events) yield { eventId, attempts };
    const end = rows.at(-1)?.event_id;
    if (end === undefined || events.size < PAGE) return;
    after = end;
  }
};

const extent = async (client: pg.PoolClient): Promise<{ first: string; last: string } | null> => {
  // Made on an empty table, a plan would read all of it for every page.
  await client.query('ANALYZE old_export');
  const { rows: [found] } = await client.query<{ first: string | null; last: string | null }>('SELECT min(event_id) AS first, max(event_id) AS last FROM old_export');
  return found === undefined || found.first === null || found.last === null ? null : { first: found.first, last: found.last };
};

/** Holds an export against the ledger, in a table that is the connection's own; it is gone once the work is done. */
export const withOldExport = async <Result>(db: Database, work: (old: OldExport) => Promise<Result>): Promise<Result> => {
  const client = await db.pool.connect();
  try {
    await client.query(CREATE);
    return await work({
      resolve: async (tenant, storedKeys) => {
        const { rows } = await client.query<{ event_id: string; idempotency_key: string }>({ name: 'tocsin_reconcile_keys_v1', text: 'SELECT event_id, idempotency_key FROM notification WHERE tenant = $1 AND idempotency_key = ANY($2::text[])', values: [tenant, storedKeys] });
        return new Map(rows.map((row) => [row.idempotency_key, row.event_id]));
      },
      add: async (rows) => { await client.query({ name: 'tocsin_reconcile_add_v1', text: ADD, values: [JSON.stringify(rows.map(({ line, eventId, channel, outcome }) => ({ line, event_id: eventId, channel, outcome })))] }); },
      close: () => extent(client),
      rows: (tenant) => streamRows(client, tenant),
      ours: (range) => streamOurs(client, range),
    });
  } finally {
    await client.query('DROP TABLE IF EXISTS old_export').catch(() => undefined);
    client.release();
  }
};
