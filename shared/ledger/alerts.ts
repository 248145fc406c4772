import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';

export const ALERT_KINDS = ['at_risk', 'reserve_used', 'stalled'] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];
export type ReceiverName = 'alertmanager' | 'webhook';

/** An incident that is to be told. Its facts are codes, ids and instants. */
export interface WantedAlert<Facts = Record<string, unknown>> { dedupKey: string; kind: AlertKind; purpose: string; eventId: string; facts: Facts }
export interface OpenAlert { id: string; dedupKey: string; kind: AlertKind; eventId: string }
export interface DueAlert<Facts = Record<string, unknown>> extends WantedAlert<Facts> { id: string; raisedAt: number; endedAt: number | null }

const CLAIM: Statement = {
  name: 'tocsin_claim_duty_v1',
  text: `INSERT INTO engine_heartbeat AS h (duty, finished_at) VALUES ($1, $2::timestamptz)
         ON CONFLICT (duty) DO UPDATE SET finished_at = EXCLUDED.finished_at WHERE h.finished_at <= $3::timestamptz RETURNING duty`,
};

/** Takes on a duty that one of all coordinators is to do once in `everyMs`; false where another one has just done so. Whoever dies with it leaves it to the next turn. */
export const claimDuty = async (db: Database, duty: string, { now, everyMs }: { now: number; everyMs: number }): Promise<boolean> =>
  (await db.query(CLAIM, [duty, toTimestamp(now), toTimestamp(now - everyMs)])).length > 0;

const OPEN: Statement = { name: 'tocsin_open_alerts_v1', text: 'SELECT id, dedup_key AS "dedupKey", kind, event_id AS "eventId" FROM alert WHERE ended_at IS NULL ORDER BY dedup_key' };

/** The incidents that last. */
export const readOpenAlerts = async (db: Database): Promise<OpenAlert[]> => db.query<OpenAlert & Record<string, unknown>>(OPEN, []);

// Of any number that raise one key, one inserts it; the others find it there and bring its facts up to date.
const RAISE: Statement = {
  name: 'tocsin_raise_alerts_v1',
  text: `
WITH kept AS (
  INSERT INTO alert AS a (dedup_key, kind, purpose, event_id, facts, raised_at, seen_at)
  SELECT w.dedup_key, w.kind, w.purpose, w.event_id, w.facts, $2::timestamptz, $2::timestamptz
    FROM jsonb_to_recordset($1::jsonb) AS w(dedup_key text, kind text, purpose text, event_id text, facts jsonb) ORDER BY w.dedup_key COLLATE "C"
  ON CONFLICT (dedup_key) WHERE ended_at IS NULL DO UPDATE SET facts = EXCLUDED.facts, event_id = EXCLUDED.event_id, seen_at = EXCLUDED.seen_at WHERE a.seen_at < EXCLUDED.seen_at
  RETURNING id, dedup_key, raised_at = seen_at AS is_new),
posts AS (
  INSERT INTO alert_post (alert_id, receiver, due_at) SELECT k.id, r.receiver, $2::timestamptz FROM kept k CROSS JOIN unnest($3::text[]) AS r(receiver)
  ON CONFLICT (alert_id, receiver) DO NOTHING)
SELECT dedup_key FROM kept WHERE is_new`,
};

/** Raises what is not raised yet, and says of the rest that it lasts. Returns the keys that this call raised. */
export const raiseAlerts = async (db: Database, { wanted, receivers, now }: { wanted: readonly WantedAlert<unknown>[]; receivers: readonly ReceiverName[]; now: number }): Promise<string[]> => {
  if (wanted.length === 0) return [];
  const rows = wanted.map(({ dedupKey, kind, purpose, eventId, facts }) => ({ dedup_key: dedupKey, kind, purpose, event_id: eventId, facts }));
  return (await db.query<{ dedup_key: string }>(RAISE, [JSON.stringify(rows), toTimestamp(now), receivers])).map((row) => row.dedup_key);
};

// What another coordinator has found to last since is not ended by an older look.
const END: Statement = {
  name: 'tocsin_end_alerts_v2',
  text: `
WITH ended AS (
  UPDATE alert a SET ended_at = $2::timestamptz, facts = a.facts || e.facts FROM unnest($1::bigint[], $3::jsonb[]) AS e(id, facts)
   WHERE a.id = e.id AND a.id = ANY($1::bigint[]) AND a.ended_at IS NULL AND a.seen_at < $2::timestamptz RETURNING a.id, a.dedup_key),
posts AS (UPDATE alert_post p SET due_at = $2::timestamptz, failures = 0 FROM ended e WHERE p.alert_id = e.id)
SELECT dedup_key FROM ended`,
};

/** Ends incidents, each with what became of it among its facts; their receivers are to be told at once. Returns the keys that this call ended. */
export const endAlerts = async (db: Database, over: readonly { id: string; facts: object }[], now: number): Promise<string[]> =>
  (over.length === 0 ? [] : (await db.query<{ dedup_key: string }>(END, [over.map(({ id }) => id), toTimestamp(now), over.map(({ facts }) => JSON.stringify(facts))])).map((row) => row.dedup_key));

interface DueRow { id: string; dedup_key: string; kind: AlertKind; purpose: string; event_id: string; facts: Record<string, unknown>; raised_at: Date; ended_at: Date | null }

const LEASE: Statement = {
  name: 'tocsin_lease_alert_posts_v1',
  text: `
WITH due AS MATERIALIZED (
  SELECT alert_id FROM alert_post WHERE due_at <= $2::timestamptz AND receiver = $1 AND (leased_until IS NULL OR leased_until <= $2::timestamptz) ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED),
taken AS (UPDATE alert_post p SET leased_until = $3::timestamptz FROM due d WHERE p.alert_id = d.alert_id AND p.receiver = $1 RETURNING p.alert_id)
SELECT a.id, a.dedup_key, a.kind, a.purpose, a.event_id, a.facts, a.raised_at, a.ended_at FROM taken t JOIN LATERAL (SELECT * FROM alert x WHERE x.id = t.alert_id OFFSET 0) a ON true ORDER BY a.id`,
};

export interface PostLease { receiver: ReceiverName; now: number; leaseUntil: number; limit: number }

/** Takes what a receiver is to be told under a lease: whoever dies before it was told leaves it to the next one, after the lease. */
export const leaseAlertPosts = async <Facts>(db: Database, { receiver, now, leaseUntil, limit }: PostLease): Promise<DueAlert<Facts>[]> =>
  (await db.query<DueRow>(LEASE, [receiver, toTimestamp(now), toTimestamp(leaseUntil), limit])).map((row) => ({
    id: row.id, dedupKey: row.dedup_key, kind: row.kind, purpose: row.purpose, eventId: row.event_id, facts: row.facts as Facts, raisedAt: row.raised_at.getTime(), endedAt: row.ended_at?.getTime() ?? null,
  }));

// An incident that ended while it was being told of as lasting is told again at once.
const TOLD: Statement = {
  name: 'tocsin_alert_posts_told_v1',
  text: `
UPDATE alert_post p SET leased_until = NULL, posted_at = $3::timestamptz, failures = 0,
       due_at = CASE WHEN t.ended THEN NULL WHEN a.ended_at IS NULL THEN $4::timestamptz ELSE $3::timestamptz END
  FROM unnest($2::bigint[], $5::boolean[]) AS t(id, ended) JOIN alert a ON a.id = t.id WHERE p.alert_id = t.id AND p.alert_id = ANY($2::bigint[]) AND p.receiver = $1`,
};
const FAILED: Statement = {
  name: 'tocsin_alert_posts_failed_v1',
  text: `
UPDATE alert_post p SET leased_until = NULL, failures = p.failures + 1, due_at = $3::timestamptz + least(60, 2 * 2 ^ least(p.failures, 10)) * interval '1 second'
 WHERE p.alert_id = ANY($2::bigint[]) AND p.receiver = $1`,
};

/** Records what a receiver has taken, and what it has not: that is told again in 2 s, doubled up to a minute. What lasts is told again at `againAt`. */
export const settleAlertPosts = async (db: Database, receiver: ReceiverName, { told, failed, now, againAt }: { told: readonly DueAlert<unknown>[]; failed: readonly DueAlert<unknown>[]; now: number; againAt: number }): Promise<void> => {
  if (told.length > 0) await db.query(TOLD, [receiver, told.map(({ id }) => id), toTimestamp(now), toTimestamp(againAt), told.map(({ endedAt }) => endedAt !== null)]);
  if (failed.length > 0) await db.query(FAILED, [receiver, failed.map(({ id }) => id), toTimestamp(now)]);
};
