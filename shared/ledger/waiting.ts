import type { Database, Statement } from './database.ts';
import type { Loaded, LoadedRow } from './load.ts';
import { LOADED_COLUMNS, LOADED_JOINS, toLoaded } from './load.ts';
import { toTimestamp } from './instants.ts';

/** Asked by every sweep: an empty index is read, and nothing planned. */
const ANY_WAITING: Statement = { name: 'tocsin_any_waiting_v1', fixedPlan: true, text: 'SELECT EXISTS (SELECT FROM attempt WHERE provider_wait_at IS NOT NULL) AS waits' };

// Where a probe is due those that have waited longest may make it: one of them wins, and
// one that cannot be decided on holds up nobody.
const WAITING: Statement = {
  name: 'tocsin_load_waiting_v3',
  text: `
WITH free AS (
  SELECT a.event_id FROM attempt a JOIN provider_state ps ON ps.provider = a.provider
   WHERE a.provider_wait_at IS NOT NULL AND ps.state = 'closed' ORDER BY a.provider_wait_at LIMIT $2),
probes AS (
  SELECT first.event_id FROM provider_state ps CROSS JOIN LATERAL (
    SELECT a.event_id FROM attempt a WHERE a.provider = ps.provider AND a.provider_wait_at IS NOT NULL ORDER BY a.provider_wait_at LIMIT 3) first
   WHERE (ps.state = 'open' AND ps.probe_at <= $1::timestamptz) OR (ps.state = 'probing' AND ps.probe_until <= $1::timestamptz))
SELECT ${LOADED_COLUMNS} FROM notification_state s ${LOADED_JOINS}
 WHERE s.event_id IN (SELECT event_id FROM free UNION SELECT event_id FROM probes)`,
};

/** Notifications with an attempt that waited for a provider that is back; and for each provider whose probe is due, a few that may make it. */
export const loadWaiting = async (db: Database, now: number, limit: number): Promise<Loaded[]> => {
  const [any] = await db.query<{ waits: boolean }>(ANY_WAITING, []);
  return any?.waits ? (await db.query<LoadedRow>(WAITING, [toTimestamp(now), limit])).map(toLoaded) : [];
};
