import type { Database, Statement } from './database.ts';

/** A place in the feed. Transaction id and position are 64 bits wide and travel as decimal text. */
export interface FeedPlace { epoch: number; xid: string; position: string }

/** Before everything. */
export const FEED_START: FeedPlace = { epoch: 0, xid: '0', position: '0' };

/** How far the feed can be read: everything below is committed or gone for good, nothing can be added there any more. */
export interface FeedHorizon {
  /** The epoch in which this database writes now, also before it has written in it. */
  epoch: number;
  /** The lowest transaction of that epoch that may still be under way. */
  xid: string;
  /** Who this database is: cluster, timeline, database. */
  identity: string;
  /** Whether the database with the identity asked about is this one, or one whose backup this one was made from. */
  descends: boolean;
}

// One statement, so one snapshot: an epoch that another transaction is just starting counts as started, and lies above its xmin.
const HORIZON: Statement = {
  name: 'tocsin_feed_horizon_v1',
  text: `
SELECT here.identity, pg_snapshot_xmin(pg_current_snapshot())::text AS xid,
       coalesce(newest.epoch, 0) + CASE WHEN newest.identity = here.identity THEN 0 ELSE 1 END AS epoch,
       here.identity = $1 OR EXISTS (SELECT 1 FROM feed_epoch WHERE identity = $1) AS descends
  FROM (SELECT tocsin_feed_identity() AS identity) here
  LEFT JOIN (SELECT epoch, identity FROM feed_epoch ORDER BY epoch DESC LIMIT 1) newest ON true`,
};

/** The horizon now; `issuer` is the identity of the database that a cursor came from. */
export const readFeedHorizon = async (db: Database, issuer: string): Promise<FeedHorizon> => {
  const [row] = await db.query<{ identity: string; xid: string; epoch: number; descends: boolean }>(HORIZON, [issuer]);
  if (!row) throw new Error('the feed has no horizon');
  return row;
};

/** One entry in the order of the feed. */
export interface FeedEntry { place: FeedPlace; eventId: string; version: number }

// Both bounds are conditions of one index, so a page costs the same however long the ledger is.
const SCAN: Statement = {
  name: 'tocsin_feed_scan_v1',
  text: `SELECT epoch, xid::text AS xid_text, position::text AS position_text, event_id, version
           FROM tocsin_feed_range($1::integer, $2::xid8, $3::bigint, $4::integer, $5::xid8, $6::integer)`,
};

/** The entries of all tenants after a place and below the horizon, in the order of the feed. */
export const scanFeed = async (db: Database, range: { after: FeedPlace; below: Pick<FeedHorizon, 'epoch' | 'xid'>; limit: number }): Promise<FeedEntry[]> => {
  const { after, below, limit } = range;
  const rows = await db.query<{ epoch: number; xid_text: string; position_text: string; event_id: string; version: number }>(
    SCAN, [after.epoch, after.xid, after.position, below.epoch, below.xid, limit]);
  return rows.map((row) => ({ place: { epoch: row.epoch, xid: row.xid_text, position: row.position_text }, eventId: row.event_id, version: row.version }));
};

/** An entry as a past state is folded from it. `append` is the same for all entries that one transaction wrote. */
export interface PastEntry { eventId: string; version: number; append: string; at: number; body: string }

/**
 * One version more than asked for tells where the last append ends. OFFSET keeps it one look by key for each notification, in
 * its own partition alone; a join might read all of a partition. Exported for the test of its plan.
 */
export const PAST: Statement = {
  name: 'tocsin_feed_past_v1',
  text: `
SELECT p.event_id, p.version, p.append, p.at, p.body FROM unnest($1::text[], $2::integer[]) AS w(event_id, version),
LATERAL (SELECT e.event_id, e.version, e.epoch || ' ' || e.xid AS append, e.at, e.body
           FROM ledger_entry e WHERE e.event_id = w.event_id AND e.version <= w.version + 1 OFFSET 0) p
 ORDER BY p.event_id, p.version`,
};

/** The entries of some notifications from their first one up to one past the given version, in order, by event id. */
export const loadPast = async (db: Database, upTo: ReadonlyMap<string, number>): Promise<Map<string, PastEntry[]>> => {
  const rows = await db.query<{ event_id: string; version: number; append: string; at: Date; body: string }>(PAST, [[...upTo.keys()], [...upTo.values()]]);
  const past = new Map<string, PastEntry[]>();
  for (const row of rows) {
    const entry = { eventId: row.event_id, version: row.version, append: row.append, at: row.at.getTime(), body: row.body };
    const known = past.get(row.event_id);
    if (known) known.push(entry);
    else past.set(row.event_id, [entry]);
  }
  return past;
};

/** The intents of a tenant among some notifications, as far as its public view shows them. */
export const readIntents = async (db: Database, tenant: string, eventIds: readonly string[]) =>
  db.prisma.notification.findMany({
    where: { eventId: { in: [...eventIds] }, tenant },
    select: { eventId: true, purpose: true, policyVersion: true, locale: true, requestedAt: true, expiresAt: true },
  });
export type IntentRecord = Awaited<ReturnType<typeof readIntents>>[number];
