import { LATE_DELIVERY_SHOWN_MS, LEAST_STALLED_MS } from '../domain/at-risk.ts';
import type { NotificationState } from '../domain/state.ts';
import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';
import type { StoredState } from './stored-state.ts';
import { unpackState } from './stored-state.ts';

/** A notification that is to be looked at; whether anything is found of it the domain says, by its policy. */
export interface Suspect {
  eventId: string; purpose: string; policyVersion: number; region: string; urgency: string; requestedAt: number; expiresAt: number; requestId: string;
  referencePrint: Buffer | null; state: NotificationState;
  /** When it was to be looked at; null where it is here for another cause. */
  riskAt: number | null;
}

export interface SuspectRange {
  now: number;
  /** Most of each kind. */
  limit: number;
  /** These are looked at as well, whatever their instant. */
  also?: readonly string[];
}

interface Row {
  event_id: string; purpose: string; policy_version: number; region: string; urgency: string; requested_at: Date; expires_at: Date; request_id: string;
  reference_print: Buffer | null; state: StoredState; risk_at: Date | null; full: boolean;
}

// Ranges of four indexes, the oldest of each first. What goes its usual way stands in none of them; the polls are those of each provider.
const SUSPECTS: Statement = {
  name: 'tocsin_suspects_v1',
  text: `
WITH risks AS MATERIALIZED (
  SELECT event_id FROM notification_state WHERE risk_at <= $1::timestamptz AND status NOT IN ('delivered', 'partially_delivered') ORDER BY risk_at LIMIT $3),
late AS MATERIALIZED (
  SELECT event_id FROM notification_state
   WHERE risk_at <= $1::timestamptz AND risk_at > $4::timestamptz AND status IN ('delivered', 'partially_delivered') ORDER BY risk_at LIMIT $3),
decisions AS MATERIALIZED (SELECT event_id FROM notification_state WHERE decide_at <= $2::timestamptz ORDER BY decide_at LIMIT $3),
polls AS MATERIALIZED (
  SELECT due.event_id FROM poll_pace p CROSS JOIN LATERAL (
    SELECT a.event_id FROM attempt a WHERE a.provider = p.provider AND a.next_poll_at <= $2::timestamptz ORDER BY a.next_poll_at LIMIT $3) due),
found AS (
  SELECT event_id FROM risks UNION SELECT event_id FROM late UNION SELECT event_id FROM decisions UNION SELECT event_id FROM polls UNION SELECT unnest($5::text[]))
SELECT f.event_id, n.*, s.state, s.risk_at, r.reference_print,
       (SELECT count(*) FROM risks) = $3 OR (SELECT count(*) FROM late) = $3 OR (SELECT count(*) FROM decisions) = $3 OR (SELECT count(*) FROM polls) >= $3 AS full
  FROM found f
  JOIN LATERAL (SELECT x.purpose, x.policy_version, x.region, x.urgency, x.requested_at, x.expires_at, x.request_id FROM notification x WHERE x.event_id = f.event_id OFFSET 0) n ON true
  JOIN LATERAL (SELECT x.state, x.risk_at FROM notification_state x WHERE x.event_id = f.event_id OFFSET 0) s ON true
  LEFT JOIN LATERAL (SELECT x.reference_print FROM recipient x WHERE x.event_id = f.event_id OFFSET 0) r ON true`,
};

const toSuspect = (row: Row): Suspect => ({
  eventId: row.event_id, purpose: row.purpose, policyVersion: row.policy_version, region: row.region, urgency: row.urgency, requestedAt: row.requested_at.getTime(),
  expiresAt: row.expires_at.getTime(), requestId: row.request_id, referencePrint: row.reference_print, state: unpackState(row.state), riskAt: row.risk_at?.getTime() ?? null,
});

/** Notifications to be looked at, by one statement and so of one instant. `full`: there may be more than the limit lets through. */
export const loadSuspects = async (db: Database, { now, limit, also = [] }: SuspectRange): Promise<{ suspects: Suspect[]; full: boolean }> => {
  const rows = await db.query<Row>(SUSPECTS, [toTimestamp(now), toTimestamp(now - LEAST_STALLED_MS), limit, toTimestamp(now - LATE_DELIVERY_SHOWN_MS), also]);
  return { suspects: rows.map(toSuspect), full: rows[0]?.full ?? false };
};

const LAY: Statement = {
  name: 'tocsin_lay_risks_v1',
  text: `
WITH input AS MATERIALIZED (SELECT * FROM unnest($1::text[], $2::integer[], $3::timestamptz[]) AS i(event_id, version, risk_at)),
mine AS MATERIALIZED (SELECT s.event_id FROM notification_state s WHERE s.event_id = ANY($1::text[]) ORDER BY s.event_id FOR NO KEY UPDATE OF s SKIP LOCKED)
UPDATE notification_state s SET risk_at = i.risk_at FROM input i JOIN mine m ON m.event_id = i.event_id
 WHERE s.event_id = i.event_id AND s.event_id = ANY($1::text[]) AND s.version = i.version`,
};

/** Lays the instant to look at these anew, where they still stand at that version: what has ended by the clock alone leaves the lists so. */
export const layRisks = async (db: Database, laid: readonly { eventId: string; version: number; riskAt: number | null }[]): Promise<void> => {
  if (laid.length > 0) await db.query(LAY, [laid.map(({ eventId }) => eventId), laid.map(({ version }) => version), laid.map(({ riskAt }) => (riskAt === null ? null : toTimestamp(riskAt)))]);
};
