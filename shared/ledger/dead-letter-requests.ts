import type { Database, Statement } from './database.ts';
import type { SealedBox } from './rows.ts';
import type { Statements } from './transaction.ts';
import { toHexBytes, toTimestamp } from './instants.ts';

/** What an operator asks for: for which dead letters, why, and what he takes upon himself. */
export interface NewRequest {
  action: 'retry' | 'discard';
  actor: string;
  /** A code; a sentence is `other`, sealed under its notification's id. */
  reason: string;
  evenIfDelivered: boolean;
  acceptDuplicate: boolean;
}

const RECORD: Statement = {
  name: 'tocsin_record_dead_letter_requests_v1',
  text: `INSERT INTO dead_letter_request (dead_letter_id, action, actor, reason, key_id, box, even_if_delivered, accept_duplicate, requested_at)
         SELECT l.id, $2, $3, $4, i.key_id, i.box, $5, $6, $7::timestamptz
           FROM jsonb_to_recordset($1::jsonb) AS i(id bigint, key_id text, box bytea) JOIN dead_letter l ON l.id = i.id AND l.resolved_at IS NULL
         ON CONFLICT (dead_letter_id) WHERE handled_at IS NULL DO NOTHING
         RETURNING dead_letter_id::text AS id`,
};

/** Records one request for each of these dead letters; returns the ids of those that had none open and are open themselves. */
export const recordRequests = async (db: Statements, targets: readonly { id: string; sealed: SealedBox | null }[], request: NewRequest & { now: number }): Promise<string[]> => {
  const rows = targets.map(({ id, sealed }) => ({ id, key_id: sealed?.keyId ?? null, box: sealed === null ? null : toHexBytes(sealed.box) }));
  const recorded = await db.query<{ id: string }>(RECORD, [
    JSON.stringify(rows), request.action, request.actor, request.reason, request.evenIfDelivered, request.acceptDuplicate, toTimestamp(request.now)]);
  return recorded.map((row) => row.id);
};

/** A request in the hands of whoever carries it out, with the dead letter it is about. */
export interface LeasedRequest {
  requestId: string; deadLetterId: string; eventId: string; attemptKey: string; resolution: string | null;
  action: 'retry' | 'discard'; actor: string; reason: string; keyId: string | null; box: Buffer | null; evenIfDelivered: boolean; acceptDuplicate: boolean;
}

const LEASE: Statement = {
  name: 'tocsin_lease_dead_letter_requests_v1',
  text: `
WITH due AS (
  SELECT id FROM dead_letter_request
   WHERE handled_at IS NULL AND (leased_until IS NULL OR leased_until <= $1::timestamptz) AND ($4::bigint IS NULL OR dead_letter_id = $4)
   ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)
UPDATE dead_letter_request r SET leased_until = $2::timestamptz FROM due, dead_letter l
 WHERE r.id = due.id AND l.id = r.dead_letter_id
RETURNING r.id::text AS "requestId", l.id::text AS "deadLetterId", l.event_id AS "eventId", l.attempt_key AS "attemptKey", l.resolution, r.action, r.actor, r.reason,
  r.key_id AS "keyId", r.box, r.even_if_delivered AS "evenIfDelivered", r.accept_duplicate AS "acceptDuplicate"`,
};

/** Takes requests that wait, the oldest first, under a lease; of one dead letter only where one is named. */
export const leaseRequests = async (db: Database, lease: { now: number; leaseUntil: number; limit: number; deadLetterId?: string }): Promise<LeasedRequest[]> =>
  db.query<LeasedRequest>(LEASE, [toTimestamp(lease.now), toTimestamp(lease.leaseUntil), lease.limit, lease.deadLetterId ?? null]);

export interface Handled { requestId: string; result: string }

const HANDLE: Statement = {
  name: 'tocsin_handle_dead_letter_requests_v1',
  text: `UPDATE dead_letter_request r SET handled_at = $3::timestamptz, result = i.result FROM unnest($1::bigint[], $2::text[]) AS i(id, result)
          WHERE r.id = i.id AND r.handled_at IS NULL`,
};

/** Records what became of requests. */
export const recordHandled = async (db: Database, handled: readonly Handled[], now: number): Promise<void> => {
  if (handled.length === 0) return;
  await db.query(HANDLE, [handled.map((one) => one.requestId), handled.map((one) => one.result), toTimestamp(now)]);
};

const OPEN: Statement = {
  name: 'tocsin_open_dead_letter_requests_v1',
  text: 'SELECT count(*)::int AS count FROM dead_letter_request WHERE handled_at IS NULL AND dead_letter_id = ANY($1::bigint[])',
};

/** How many of these dead letters have a request that still waits. */
export const countOpenRequests = async (db: Database, ids: readonly string[]): Promise<number> => (await db.query<{ count: number }>(OPEN, [ids]))[0]?.count ?? 0;

const RESULTS: Statement = {
  name: 'tocsin_dead_letter_results_v2',
  text: `SELECT CASE WHEN r.action = $2 THEN r.result ELSE 'asked_otherwise' END AS result, count(*)::int AS count FROM unnest($1::bigint[]) AS i(id)
           CROSS JOIN LATERAL (SELECT action, result FROM dead_letter_request WHERE dead_letter_id = i.id AND handled_at IS NOT NULL ORDER BY id DESC LIMIT 1) r GROUP BY 1`,
};

/** How the newest handled request of each of these ended, counted; `asked_otherwise` where that was another action's. */
export const countResults = async (db: Database, ids: readonly string[], action: NewRequest['action']): Promise<Record<string, number>> =>
  Object.fromEntries((await db.query<{ result: string; count: number }>(RESULTS, [ids, action])).map((row) => [row.result, row.count]));
