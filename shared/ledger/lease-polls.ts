import type { ProviderName } from '../domain/provider-answers.ts';
import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';

export interface PollClaim { attemptKey: string; eventId: string; provider: string; nextPollAt: number }

/** Most status reads of a provider in any second, all coordinators together. One that is not named has no limit. */
export type PollRates = Readonly<Partial<Record<ProviderName, number>>>;

export interface PollLease {
  now: number;
  leaseUntil: number;
  /** Most polls of one provider in this call. */
  limit: number;
  perSecond?: PollRates | undefined;
}

const MAKE_ROWS: Statement = {
  name: 'tocsin_poll_pace_v1',
  text: `INSERT INTO poll_pace (provider, paid_until) SELECT provider, '-infinity' FROM unnest($1::text[]) AS p (provider) ON CONFLICT DO NOTHING`,
};

const FREE = '(a.poll_leased_until IS NULL OR a.poll_leased_until <= $1::timestamptz)';

// Each part follows an index and stops at its limit, so that a long backlog costs no more than a short one. The row of a provider is locked first: two coordinators spend one budget, one after the other. An attempt that the other
// one leased meanwhile is seen as leased when its own row is locked. What was paid for by a clock that was far ahead, and has been put right,
// counts for nothing: or no status would be read until that hour has come.
// A lease is not evidence: it is committed without waiting for the disk, and where the server loses it the poll is merely due again.
const LEASE: Statement = {
  name: 'tocsin_lease_polls_v4',
  fixedPlan: true,
  text: `
WITH pace AS (
  SELECT p.provider, w.refill, greatest(CASE WHEN p.paid_until <= $1::timestamptz + interval '1 second' THEN p.paid_until END, $1::timestamptz - make_interval(secs => w.burst / w.refill)) AS paid_until
    FROM poll_pace p JOIN unnest($4::text[], $5::float8[], $6::float8[]) AS w (provider, refill, burst) ON w.provider = p.provider
   CROSS JOIN LATERAL (SELECT 1 FROM attempt a WHERE a.provider = p.provider AND a.next_poll_at <= $1::timestamptz AND ${FREE} ORDER BY a.next_poll_at LIMIT 1) any_due
   CROSS JOIN (SELECT set_config('synchronous_commit', 'off', true)) unhurried
   ORDER BY p.provider FOR UPDATE OF p),
budget AS (
  SELECT provider, refill, paid_until, greatest(0, least($3::int, floor(extract(epoch FROM $1::timestamptz - paid_until) * refill + 0.001)))::int AS reads FROM pace),
near AS (
  SELECT b.provider, d.attempt_key FROM budget b CROSS JOIN LATERAL (
    SELECT a.attempt_key FROM attempt a
     WHERE a.provider = b.provider AND a.decision_deadline_at > $1::timestamptz AND a.next_poll_at <= $1::timestamptz AND ${FREE}
     ORDER BY a.decision_deadline_at LIMIT b.reads FOR UPDATE SKIP LOCKED) d),
past AS (
  SELECT d.attempt_key FROM budget b CROSS JOIN LATERAL (
    SELECT a.attempt_key FROM attempt a
     WHERE a.provider = b.provider AND a.decision_deadline_at <= $1::timestamptz AND a.next_poll_at <= $1::timestamptz AND ${FREE}
     ORDER BY a.next_poll_at LIMIT b.reads - (SELECT count(*) FROM near n WHERE n.provider = b.provider) FOR UPDATE SKIP LOCKED) d),
due AS (SELECT attempt_key FROM near UNION ALL SELECT attempt_key FROM past),
leased AS (
  UPDATE attempt a SET poll_leased_until = $2::timestamptz WHERE a.attempt_key = ANY (ARRAY(SELECT attempt_key FROM due))
  RETURNING a.attempt_key, a.event_id, a.provider, a.next_poll_at, a.decision_deadline_at),
spent AS (
  UPDATE poll_pace p SET paid_until = b.paid_until + make_interval(secs => n.reads / b.refill)
    FROM budget b JOIN (SELECT provider, count(*) AS reads FROM leased GROUP BY provider) n ON n.provider = b.provider
   WHERE p.provider = b.provider)
SELECT attempt_key, event_id, provider, next_poll_at FROM leased ORDER BY decision_deadline_at <= $1::timestamptz, decision_deadline_at, next_poll_at`,
};

/** Every provider there is: each has a row that its rate is kept in. */
const PROVIDERS = Object.keys({ twilio: true, sinch: true, smtp: true, resend: true } satisfies Record<ProviderName, true>) as ProviderName[];
/** More reads a second than anybody makes. */
const UNLIMITED = 1e9;

/**
 * A rate as a bucket: what may go at once, and what comes back per second. Together they are the rate, so that no second sees
 * more, however the hand-outs fall; kept up, four fifths of it flow.
 */
export const bucketOf = (perSecond: number): { burst: number; refill: number } => {
  const burst = Math.max(1, Math.floor(perSecond / 5));
  return { burst, refill: Math.max(1, perSecond - burst) };
};

interface LeasedRow { attempt_key: string; event_id: string; provider: string; next_poll_at: Date }

/**
 * Takes polls that are due under a lease until `leaseUntil`, of each provider as many as its rate has left, those with the
 * nearest decision deadline first, those past theirs last. A poll whose worker dies is due again after the lease.
 */
export const createPollLeaser = (db: Database) => {
  let madeRows = false;
  return async ({ now, leaseUntil, limit, perSecond = {} }: PollLease): Promise<PollClaim[]> => {
    if (!madeRows) await db.query(MAKE_ROWS, [PROVIDERS]);
    madeRows = true;
    const buckets = PROVIDERS.map((provider) => bucketOf(perSecond[provider] ?? UNLIMITED));
    const rows = await db.query<LeasedRow>(LEASE, [
      toTimestamp(now), toTimestamp(leaseUntil), limit, PROVIDERS, buckets.map(({ refill }) => refill), buckets.map(({ burst }) => burst)]);
    return rows.map((row) => ({ attemptKey: row.attempt_key, eventId: row.event_id, provider: row.provider, nextPollAt: row.next_poll_at.getTime() }));
  };
};
