import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';
import { monthOf } from './partitions.ts';
import type { BuriedHead, Tombstone } from './tombstone.ts';

/** The notifications of one purpose that were requested in one month (`2026-11`), and the range of their ids. */
export interface RetentionGroup { month: string; purpose: string; fromId: string; toId: string }

const PURPOSES: Statement = {
  name: 'tocsin_retention_purposes_v1',
  text: `SELECT purpose, max((definition->>'retentionMs')::bigint)::text AS longest FROM policy_version GROUP BY purpose ORDER BY purpose`,
};
const OLDEST: Statement = { name: 'tocsin_oldest_notification_v1', text: 'SELECT event_id, requested_at FROM notification ORDER BY event_id LIMIT 1' };
const DONE: Statement = { name: 'tocsin_retention_done_v1', text: 'SELECT month, purpose FROM retention_done' };

const monthBefore = (at: number): number => Date.UTC(new Date(at).getUTCFullYear(), new Date(at).getUTCMonth() - 1, 1);

/** The groups that are wholly past the longest retention of their purpose and not done with, the oldest first. By arithmetic: nothing is looked through. */
export const retentionGroups = async (db: Pick<Database, 'query'>, now: number): Promise<RetentionGroup[]> => {
  const [oldest] = await db.query<{ event_id: string; requested_at: Date }>(OLDEST, []);
  if (!oldest) return [];
  const purposes = await db.query<{ purpose: string; longest: string }>(PURPOSES, []);
  const done = new Set((await db.query<{ month: string; purpose: string }>(DONE, [])).map((row) => `${row.month} ${row.purpose}`));
  const groups: RetentionGroup[] = [];
  const first = Date.UTC(oldest.requested_at.getUTCFullYear(), oldest.requested_at.getUTCMonth(), 1);
  for (let begin = monthBefore(now); begin >= first; begin = monthBefore(begin)) {
    const { suffix, fromId, toId } = monthOf(begin);
    const month = suffix.replace('_', '-');
    const end = Date.UTC(new Date(begin).getUTCFullYear(), new Date(begin).getUTCMonth() + 1, 1);
    for (const { purpose, longest } of purposes) if (end + Number(longest) <= now && !done.has(`${month} ${purpose}`)) groups.push({ month, purpose, fromId, toId });
  }
  return groups.reverse();
};

const LOOK: Statement = {
  name: 'tocsin_retention_look_v1',
  text: `SELECT count(*)::int AS notifications, (count(*) FILTER (WHERE n.retention_until > $4::timestamptz OR s.decide_at IS NOT NULL OR s.state->>'settledAt' IS NULL
                  OR EXISTS (SELECT FROM attempt a WHERE a.attempt_key > n.event_id || '.' AND a.attempt_key < n.event_id || '/' AND a.next_poll_at IS NOT NULL)
                  OR EXISTS (SELECT FROM dead_letter d WHERE d.event_id = n.event_id AND d.resolved_at IS NULL)))::int AS held
           FROM notification n JOIN notification_state s USING (event_id) WHERE n.event_id >= $1 AND n.event_id < $2 AND n.purpose = $3`,
};

/** How many notifications a group has, and how many of them hold it: still open, or younger than their own retention. */
export const lookAtGroup = async (db: Pick<Database, 'query'>, { fromId, toId, purpose }: RetentionGroup, now: number): Promise<{ notifications: number; held: number }> =>
  (await db.query<{ notifications: number; held: number }>(LOOK, [fromId, toId, purpose, toTimestamp(now)]))[0] ?? { notifications: 0, held: 0 };

/** One step: some notifications of a group, all of one class. */
export interface RetentionStep { classification: string; heads: BuriedHead[]; entries: number; firstPosition: string; lastPosition: string }

const STEP: Statement = {
  name: 'tocsin_retention_step_v1',
  text: `WITH first AS (SELECT n.classification FROM notification n WHERE n.event_id >= $1 AND n.event_id < $2 AND n.purpose = $3 ORDER BY n.event_id LIMIT 1),
chosen AS (SELECT n.event_id FROM notification n WHERE n.event_id >= $1 AND n.event_id < $2 AND n.purpose = $3 AND n.classification = (SELECT classification FROM first) ORDER BY n.event_id LIMIT $4)
SELECT (SELECT classification FROM first) AS classification, s.event_id, s.version, encode(s.head_hash, 'hex') AS hash, e.first::text, e.last::text
  FROM chosen c JOIN notification_state s USING (event_id),
       LATERAL (SELECT min(x.position) AS first, max(x.position) AS last FROM ledger_entry x WHERE x.event_id = c.event_id OFFSET 0) e ORDER BY s.event_id`,
};

/** What the next step of a group would remove; null where nothing is left of it. */
export const nextRetentionStep = async (db: Pick<Database, 'query'>, { fromId, toId, purpose }: RetentionGroup, most: number): Promise<RetentionStep | null> => {
  const rows = await db.query<{ classification: string; event_id: string; version: number; hash: string; first: string; last: string }>(STEP, [fromId, toId, purpose, most]);
  const [one] = rows;
  if (!one) return null;
  const all = (pick: (row: (typeof rows)[number]) => string): bigint[] => rows.map((row) => BigInt(pick(row))).sort((a, b) => (a < b ? -1 : 1));
  return {
    classification: one.classification, heads: rows.map((row) => ({ eventId: row.event_id, version: row.version, hash: row.hash })), entries: rows.reduce((sum, row) => sum + row.version, 0),
    firstPosition: String(all((row) => row.first)[0]), lastPosition: String(all((row) => row.last).at(-1)),
  };
};

const SUMMARIZE: Statement = { name: 'tocsin_summarize_events_v1', text: 'SELECT tocsin_summarize_events()::text' };

/** To be done before a removal of several steps: what was written lately is then found as quickly as the rest. */
export const summarizeEvents = async (db: Pick<Database, 'query'>): Promise<void> => { await db.query(SUMMARIZE, []); };

// What was counted for a throttle names the attempt and nothing names it: it goes in the same statement.
const REMOVE: Statement = {
  name: 'tocsin_remove_retained_v2',
  text: `WITH counted AS (DELETE FROM throttled_start t USING unnest($1::text[]) AS r(event_id) WHERE t.attempt_key > r.event_id || '.' AND t.attempt_key < r.event_id || '/')
SELECT tocsin_remove_retained($1::text[], $2::timestamptz, $3, $4, $5)::text AS tombstone`,
};

/**
 * Removes what a tombstone names, by the owner's function, which looks again. @throws where any of it may not go, or is not what it says.
 */
export const removeRetained = async (db: Pick<Database, 'query'>, eventIds: readonly string[], { now, stone }: { now: number; stone: Tombstone }): Promise<string> =>
  (await db.query<{ tombstone: string }>(REMOVE, [eventIds, toTimestamp(now), stone.body, stone.keyId, stone.signature]))[0]?.tombstone as string;

const MARK: Statement = { name: 'tocsin_mark_retention_done_v1', text: 'INSERT INTO retention_done (month, purpose, at) VALUES ($1, $2, $3::timestamptz) ON CONFLICT DO NOTHING' };

/** Records that nothing is left of a group: it is not looked at again. */
export const markRetentionDone = async (db: Pick<Database, 'query'>, { month, purpose }: RetentionGroup, now: number): Promise<void> => { await db.query(MARK, [month, purpose, toTimestamp(now)]); };

const DONE_MONTHS: Statement = { name: 'tocsin_retention_months_v1', text: 'SELECT DISTINCT month FROM retention_done ORDER BY month' };

/** The months of which some purpose is done with. */
export const doneMonths = async (db: Pick<Database, 'query'>): Promise<string[]> => (await db.query<{ month: string }>(DONE_MONTHS, [])).map((row) => row.month);

const DROP: Statement = { name: 'tocsin_drop_empty_month_v1', text: 'SELECT tocsin_drop_empty_month($1) AS dropped' };

/** Drops the partition of a month if nothing is left in it. */
export const dropEmptyMonth = async (db: Pick<Database, 'query'>, month: string): Promise<boolean> =>
  (await db.query<{ dropped: boolean }>(DROP, [month.replace('-', '_')]))[0]?.dropped === true;

const TICKETS: Statement = {
  name: 'tocsin_tickets_past_retention_v2',
  text: `WITH past AS (SELECT event_id FROM ticket WHERE box IS NOT NULL AND retention_until <= $1::timestamptz ORDER BY retention_until LIMIT $2 FOR UPDATE SKIP LOCKED)
UPDATE ticket t SET key_id = NULL, box = NULL, erased_at = $1::timestamptz FROM past p WHERE t.event_id = p.event_id RETURNING 1 AS erased`,
};

/** Erases up to `limit` tickets that are past their retention, the longest past it first, by an index of what is still kept; returns how many. */
export const eraseRetainedTickets = async (db: Pick<Database, 'query'>, now: number, limit: number): Promise<number> =>
  (await db.query<{ erased: number }>(TICKETS, [toTimestamp(now), limit])).length;
