import { Prisma } from './generated/client.ts';
import type { Database } from './database.ts';
import { HIGHEST_EVENT_ID } from './event-ids.ts';

export interface NotificationFilter { status?: string; purpose?: string; /** Only what a throttle kept from a channel. */ throttled?: boolean; /** Only what is older than this event id. */ before?: string }
export interface ListedNotification {
  eventId: string; purpose: string; region: string; urgency: string; requestedAt: number; status: string; updatedAt: number;
  /** Of its ticket; null where none caused it. */
  category: string | null;
  /** A throttle kept it from a channel. */
  throttled: boolean;
  /** The same for the same recipient, and nothing else; null once erased. */
  recipient: string | null;
}
export interface ListedNotifications { rows: ListedNotification[]; /** The event id to go on below; null at the end. */ older: string | null }

/** `lookedAt`: so many are looked at for one page, however few of them fit: the cost stays the same however long the history is. */
const SIZES = { page: 50, lookedAt: 2_000 };

interface Row { edge: string | null; seen: number; event_id: string | null; purpose: string; region: string; urgency: string; requested_at: Date; status: string; updated_at: Date; category: string | null; throttled: boolean; recipient: string | null }

// Skipped as its step's reason, or ended so in its queue. Read for the rows of a page alone, and for what is looked at where it is asked for: as a
// value and no EXISTS, which the planner may answer by reading the whole table once.
const THROTTLED = Prisma.sql`(jsonb_path_exists(s.state::jsonb, '$.steps[*].reason ? (@ == "throttled")') OR jsonb_path_exists(s.state::jsonb, '$.attempts[*].reason ? (@ == "throttled")'))`;

/** One page of notifications, newest first: a range of the primary key, filtered within `lookedAt` rows. */
export const listNotificationPage = async (db: Database, filter: NotificationFilter, sizes = SIZES): Promise<ListedNotifications> => {
  const lookedAt = filter.status === undefined && filter.purpose === undefined && filter.throttled !== true ? sizes.page + 1 : sizes.lookedAt;
  const rows = await db.prisma.$queryRaw<Row[]>`
    WITH seen AS MATERIALIZED (
      SELECT n.event_id, n.purpose, n.region, n.urgency, n.requested_at, s.status, s.updated_at
      FROM notification n JOIN notification_state s USING (event_id)
      WHERE n.event_id < ${filter.before ?? HIGHEST_EVENT_ID} AND s.event_id < ${filter.before ?? HIGHEST_EVENT_ID} ORDER BY n.event_id DESC LIMIT ${lookedAt})
    SELECT edge.edge, edge.seen, fits.*, t.category, coalesce(${THROTTLED}, false) AS throttled, encode(r.reference_print, 'hex') AS recipient
    FROM (SELECT min(event_id) AS edge, count(*)::int AS seen FROM seen) edge
    LEFT JOIN LATERAL (
      SELECT * FROM seen WHERE (${filter.status ?? null}::text IS NULL OR status = ${filter.status ?? null}) AND (${filter.purpose ?? null}::text IS NULL OR purpose = ${filter.purpose ?? null})
        AND (NOT ${filter.throttled ?? false} OR (SELECT ${THROTTLED} FROM notification_state s WHERE s.event_id = seen.event_id))
      ORDER BY event_id DESC LIMIT ${sizes.page + 1}) fits ON true
    LEFT JOIN ticket t ON t.event_id = fits.event_id
    LEFT JOIN notification_state s ON s.event_id = fits.event_id
    LEFT JOIN recipient r ON r.event_id = fits.event_id
    ORDER BY fits.event_id DESC`;
  const fits = rows.flatMap((row): ListedNotification[] => (row.event_id === null ? [] : [{
    eventId: row.event_id, purpose: row.purpose, region: row.region, urgency: row.urgency, requestedAt: row.requested_at.getTime(), status: row.status, updatedAt: row.updated_at.getTime(), category: row.category,
    throttled: row.throttled, recipient: row.recipient,
  }]));
  const shown = fits.slice(0, sizes.page);
  const edge = rows[0];
  const more = fits.length > sizes.page ? shown.at(-1)?.eventId ?? null : edge && edge.seen === lookedAt ? edge.edge : null;
  return { rows: shown, older: more };
};

/** The purposes that policies were published for. */
export const listPurposes = async (db: Database): Promise<string[]> =>
  (await db.prisma.policyVersion.findMany({ distinct: ['purpose'], select: { purpose: true }, orderBy: { purpose: 'asc' } })).map(({ purpose }) => purpose);
