import type { Database, Statement } from './database.ts';
import type { Loaded, LoadedRow } from './load.ts';
import { LOADED_COLUMNS, LOADED_JOINS, toLoaded } from './load.ts';
import { toTimestamp } from './instants.ts';

const DUE: Statement = {
  name: 'tocsin_due_decisions_v5',
  fixedPlan: true,
  text: `SELECT ${LOADED_COLUMNS} FROM (
           SELECT event_id, state, head_hash, decide_at FROM notification_state WHERE decide_at <= $1::timestamptz ORDER BY decide_at LIMIT $2) s
         ${LOADED_JOINS} ORDER BY s.decide_at`,
};

/** Notifications at which a decision is due at `now`, the longest overdue first. No lease: of two deciders one append wins. */
export const loadDueDecisions = async (db: Database, now: number, limit: number): Promise<Loaded[]> =>
  (await db.query<LoadedRow>(DUE, [toTimestamp(now), limit])).map(toLoaded);

const POSTPONE: Statement = {
  name: 'tocsin_postpone_decisions_v1',
  text: `UPDATE notification_state SET decide_at = $2::timestamptz WHERE event_id = ANY($1::text[]) AND decide_at <= $2::timestamptz`,
};

/** Looks at these notifications again later: they could not be decided on, and must not hold up the others meanwhile. */
export const postponeDecisions = async (db: Database, eventIds: readonly string[], until: number): Promise<void> => {
  await db.query(POSTPONE, [eventIds, toTimestamp(until)]);
};

const NEXT: Statement = {
  name: 'tocsin_next_due_v2',
  fixedPlan: true,
  text: `SELECT least(
    (SELECT min(decide_at) FROM notification_state WHERE decide_at IS NOT NULL),
    (SELECT min(due.at) FROM poll_pace p CROSS JOIN LATERAL (
       SELECT a.next_poll_at AS at FROM attempt a
        WHERE a.provider = p.provider AND a.next_poll_at IS NOT NULL AND (a.poll_leased_until IS NULL OR a.next_poll_at > $1::timestamptz)
        ORDER BY a.next_poll_at LIMIT 1) due)) AS at`,
};

/** The next instant at which a decision or a poll is due; null where nothing is. */
export const nextDueAt = async (db: Database, now: number): Promise<number | null> => {
  const [row] = await db.query<{ at: Date | null }>(NEXT, [toTimestamp(now)]);
  return row?.at?.getTime() ?? null;
};

export interface OutboxRow { id: string; eventId: string; attemptKey: string; channel: 'sms' | 'email'; generation: number; notBeforeAt: number }

// Taken and removed in one statement; both stand only once the rows were enqueued and the transaction is committed.
const TAKE = `DELETE FROM outbox WHERE id = ANY(ARRAY(SELECT id FROM outbox WHERE attempt_key <> ALL($2::text[]) ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
  RETURNING id, event_id, attempt_key, channel, generation, not_before_at`;

/**
 * Claims a batch of outbox rows, but for those of the attempts `except`, and hands it over; they are gone once they have been enqueued, and
 * a crash or an error in between gives every row back. Returns how many were moved.
 */
export const moveOutbox = async (db: Database, limit: number, enqueue: (rows: OutboxRow[]) => Promise<void>, except: readonly string[] = []): Promise<number> => {
  const client = await db.pool.connect();
  let broken = false;
  try {
    await client.query('BEGIN');
    const { rows } = await client.query({ name: 'tocsin_take_outbox_v3', text: TAKE, values: [limit, except] });
    if (rows.length > 0) {
      const inOrder = rows.toSorted((one, other) => Number(BigInt(one.id) - BigInt(other.id)));
      await enqueue(inOrder.map((row) => ({
        id: row.id, eventId: row.event_id, attemptKey: row.attempt_key, channel: row.channel, generation: row.generation, notBeforeAt: row.not_before_at.getTime(),
      })));
    }
    await client.query('COMMIT');
    return rows.length;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => { broken = true; });
    throw error;
  } finally {
    client.release(broken);
  }
};
