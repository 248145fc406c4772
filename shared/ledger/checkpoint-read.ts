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

/** The checkpoints after a sequence number, in order, a page at a time. */
export const streamCheckpoints = async function* (asker: Asker | Database['pool'], after = 0): AsyncGenerator<StoredCheckpoint> {
  let last = String(after);
  for (;;) {
    const { rows } = await asker.query<Row & { minute_at: Date; part: number; snapshot: string }>({
      name: 'tocsin_checkpoints_v1', text: `SELECT ${COLUMNS} FROM checkpoint c WHERE c.sequence > $1::bigint ORDER BY c.sequence LIMIT $2`, values: [last, PAGE],
    });
    for (const row of rows) {
      last = row.sequence;
      yield {
        sequence: Number(row.sequence), minuteAt: row.minute_at.getTime(), part: row.part, snapshot: row.snapshot, body: row.body, prevHash: row.prev_hash,
        hash: row.hash, keyId: row.key_id, signature: row.signature,
      };
    }
    if (rows.length < PAGE) return;
  }
};

export interface LastCheckpoint { sequence: number; minuteAt: number; snapshot: string; hash: Buffer; cluster: string; ledger: string }

const LAST = `SELECT sequence::text, minute_at, snapshot, hash, body::jsonb->>'cluster' AS cluster, body::jsonb->>'ledger' AS ledger
  FROM checkpoint c ORDER BY c.sequence DESC LIMIT 1`;

/** The newest checkpoint, without its runs; null where there is none yet. */
export const lastCheckpoint = async (asker: Asker | Database['pool']): Promise<LastCheckpoint | null> => {
  const { rows: [row] } = await asker.query<{ sequence: string; minute_at: Date; snapshot: string; hash: Buffer; cluster: string; ledger: string }>({ name: 'tocsin_last_checkpoint_v1', text: LAST });
  return row ? { sequence: Number(row.sequence), minuteAt: row.minute_at.getTime(), snapshot: row.snapshot, hash: row.hash, cluster: row.cluster, ledger: row.ledger } : null;
};

/** Entries of transactions that had not ended by snapshot $1 and had by snapshot $2, as a condition on `ledger_entry e`. */
export const GAINED = `e.xid >= pg_snapshot_xmin($1::pg_snapshot) AND e.xid < pg_snapshot_xmax($2::pg_snapshot)
  AND NOT pg_visible_in_snapshot(e.xid, $1::pg_snapshot) AND pg_visible_in_snapshot(e.xid, $2::pg_snapshot)`;

/** The cluster that this database lives in; transaction ids compare only within one. */
export const clusterOf = async (asker: Asker | Database['pool']): Promise<string> => {
  const { rows: [row] } = await asker.query<{ cluster: string }>('SELECT system_identifier::text AS cluster FROM pg_control_system()');
  return row?.cluster ?? '';
};
