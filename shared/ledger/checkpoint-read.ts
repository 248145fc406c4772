import type pg from 'pg';
import type { Database } from './database.ts';
import type { Checkpoint } from './checkpoint.ts';

/** A connection that asks: the pool of a process, or one client of it inside a transaction. */
export type Asker = Pick<pg.ClientBase, 'query'>;

interface Row { sequence: string; body: string; prev_hash: Buffer; hash: Buffer; key_id: string; signature: Buffer }
export interface StoredCheckpoint extends Checkpoint { minuteAt: number; part: number; snapshot: string }

const COLUMNS = 'sequence::text, minute_at, part, snapshot, body, prev_hash, hash, key_id, signature';
/** A body holds a minute of the ledger: few of them are held at a time. */
const PAGE = 10;
const MARKS_PAGE = 100;
/** Sorts after every signature, all of which have 64 bytes. */
const AFTER_ALL = Buffer.alloc(65, 0xff);

type StoredRow = Row & { minute_at: Date | number; part: number; snapshot: string };
// A minute that is no instant (`infinity`) comes as a number.
const toStored = (row: StoredRow): StoredCheckpoint => ({
  sequence: Number(row.sequence), minuteAt: Number(row.minute_at), part: row.part, snapshot: row.snapshot, body: row.body, prevHash: row.prev_hash,
  hash: row.hash, keyId: row.key_id, signature: row.signature,
});

/** The rows after a sequence number, in order, a page at a time: also forged ones, several of one number among them. */
export const streamCheckpoints = async function* (asker: Asker | Database['pool'], after = 0): AsyncGenerator<StoredCheckpoint> {
  let last: { sequence: string; signature: Buffer } = { sequence: String(after), signature: AFTER_ALL };
  for (;;) {
    const { rows } = await asker.query<StoredRow>({
      name: 'tocsin_checkpoints_v2', text: `SELECT ${COLUMNS} FROM checkpoint c WHERE (c.sequence, c.signature) > ($1::bigint, $2::bytea) ORDER BY c.sequence, c.signature LIMIT $3`, values: [last.sequence, last.signature, PAGE],
    });
    for (const row of rows) {
      last = { sequence: row.sequence, signature: row.signature };
      yield toStored(row);
    }
    if (rows.length < PAGE) return;
  }
};

/** A row without its text; `exact` is its number as Postgres writes it. `linked`: the row it names as the one before stands there. */
export interface Mark extends Omit<Checkpoint, 'body'> { exact: string; linked: boolean }

// The limit keeps the row before one look by key; without it the planner may read all rows to have them at hand.
const MARKS = `SELECT c.sequence::text, c.prev_hash, c.hash, left(c.key_id, 64) AS key_id, c.signature,
  CASE WHEN c.sequence = 1 THEN c.prev_hash = decode(repeat('00', 32), 'hex') ELSE (SELECT true FROM checkpoint p WHERE p.sequence = c.sequence - 1 AND p.hash = c.prev_hash LIMIT 1) IS TRUE END AS linked
  FROM checkpoint c WHERE (c.sequence, c.signature)`;

/** The rows by their marks, in order after a place, or newest first. */
export const readMarks = async function* (asker: Asker, { newestFirst = false, after }: { newestFirst?: boolean; after?: { exact: string; signature: Buffer } }): AsyncGenerator<Mark> {
  const [than, order] = newestFirst ? ['<', 'DESC'] : ['>', 'ASC'];
  let last = after ?? (newestFirst ? { exact: '9223372036854775807', signature: AFTER_ALL } : { exact: '0', signature: AFTER_ALL });
  for (;;) {
    const { rows } = await asker.query<Omit<Row, 'body'> & { linked: boolean }>(`${MARKS} ${than} ($1::bigint, $2::bytea) ORDER BY c.sequence ${order}, c.signature ${order} LIMIT $3`, [last.exact, last.signature, MARKS_PAGE]);
    for (const row of rows) {
      last = { exact: row.sequence, signature: row.signature };
      yield { sequence: Number(row.sequence), exact: row.sequence, prevHash: row.prev_hash, hash: row.hash, keyId: row.key_id, signature: row.signature, linked: row.linked };
    }
    if (rows.length < MARKS_PAGE) return;
  }
};

/** One row whole. */
export const loadCheckpoint = async (asker: Asker, { exact, signature }: Mark): Promise<StoredCheckpoint | null> => {
  const { rows: [row] } = await asker.query<StoredRow>(`SELECT ${COLUMNS} FROM checkpoint c WHERE c.sequence = $1::bigint AND c.signature = $2`, [exact, signature]);
  return row ? toStored(row) : null;
};

/**
 * Entries of transactions that had not ended by one snapshot and had by another, as something to select from: their event_id, version,
 * position, xid and hash. A range of the feed's index in each epoch that there is; by the transaction alone it would be all of the ledger.
 */
export const gainedBetween = (since: string, until: string): string => `(
  WITH RECURSIVE epochs AS (
    (SELECT epoch FROM ledger_entry ORDER BY epoch LIMIT 1)
     UNION ALL
    SELECT (SELECT e.epoch FROM ledger_entry e WHERE e.epoch > p.epoch ORDER BY e.epoch LIMIT 1) FROM epochs p WHERE p.epoch IS NOT NULL)
  SELECT g.* FROM epochs p CROSS JOIN LATERAL (
    SELECT e.event_id, e.version, e.position, e.xid, e.hash FROM ledger_entry e
     WHERE e.epoch = p.epoch AND e.xid >= pg_snapshot_xmin(${since}) AND e.xid < pg_snapshot_xmax(${until})
       AND NOT pg_visible_in_snapshot(e.xid, ${since}) AND pg_visible_in_snapshot(e.xid, ${until}) OFFSET 0) g
   WHERE p.epoch IS NOT NULL)`;

/** Those between snapshots $1 and $2. */
export const GAINED = gainedBetween('$1::pg_snapshot', '$2::pg_snapshot');

/** The cluster that this database lives in; transaction ids compare only within one. */
export const clusterOf = async (asker: Asker | Database['pool']): Promise<string> => {
  const { rows: [row] } = await asker.query<{ cluster: string }>('SELECT system_identifier::text AS cluster FROM pg_control_system()');
  return row?.cluster ?? '';
};
