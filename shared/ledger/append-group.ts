import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';
import type { Row, RowSources } from './row-arrays.ts';
import { rowArrays } from './row-arrays.ts';
import type { Append, AppendRows } from './rows.ts';

/** The columns of each kind of row that goes as arrays; shared by append and accept. */
export const COLUMNS = {
  state: 'event_id text, expected integer, version integer, head_hash bytea, state json, status text, decide_at timestamptz, updated_at timestamptz, risk_at timestamptz',
  entries: `event_id text, version integer, kind text, at timestamptz, actor text, request_id text, policy_version integer, attempt_key text,
    from_state text, to_state text, body text, prev_hash bytea, hash bytea`,
  planned: `attempt_key text, event_id text, step integer, origin text, channel text, sequence integer, state text, provider text,
    provider_message_id text, render_hash text, policy_version integer, template text, template_version integer, outcome text, reason text,
    reason_by text, decision_deadline_at timestamptz, planned_at timestamptz, queued_at timestamptz, submitted_at timestamptz,
    settled_at timestamptz, next_poll_at timestamptz, provider_wait_at timestamptz`,
  // What the row of an attempt that was there before takes over.
  changed: `event_id text, attempt_key text, state text, provider_message_id text, outcome text, reason text, reason_by text, queued_at timestamptz,
    submitted_at timestamptz, settled_at timestamptz, next_poll_at timestamptz, provider_wait_at timestamptz`,
  outbox: 'event_id text, attempt_key text, channel text, generation integer, not_before_at timestamptz',
  observations: 'event_id text, version integer, at timestamptz, key_id text, box bytea',
  payloads: 'event_id text, part text, key_id text, box bytea, destroyed_at timestamptz',
} as const;

/** The columns of rows that are rare, as jsonb carries them. */
const RARE = {
  suppressions: 'event_id text, channel text, sender bytea, reason text, source text, at timestamptz, actor text, attempt_key text',
  starts: 'event_id text, channel text, attempt_key text, at timestamptz, most integer, since timestamptz',
  destroyed: 'event_id text, part text, at timestamptz',
  providers: `event_id text, provider text, expected integer, writes boolean, revision integer, state text, reason text, opened_at timestamptz,
    closed_at timestamptz, failures integer, probe_at timestamptz, probe_attempt text, probe_submission integer, probe_until timestamptz`,
} as const;
const PROVIDERS = `jsonb_to_recordset($1::jsonb->'providers') AS p(${RARE.providers})`;
/** Events that rest on what is no longer known of a provider. */
export const OUTDATED = `
outdated AS MATERIALIZED (
  SELECT p.event_id FROM ${PROVIDERS} LEFT JOIN provider_state ps ON ps.provider = p.provider WHERE coalesce(ps.revision, 0) <> p.expected)`;

/** The inserts that append and accept have in common, for those events that `won`. Entries take their positions in the order of their versions, which is all that the feed asks of one event. */
export const insertRows = (rows: RowSources<'entries' | 'outbox' | 'planned'>): string => `
entries AS (
  INSERT INTO ledger_entry (event_id, version, kind, at, actor, request_id, policy_version, attempt_key, from_state, to_state, body, prev_hash, hash)
  SELECT e.event_id, e.version, e.kind, e.at, e.actor, e.request_id, e.policy_version, e.attempt_key, e.from_state, e.to_state, e.body, e.prev_hash, e.hash
    FROM ${rows.from('entries')} e JOIN won USING (event_id) ORDER BY e.version),
enqueued AS (
  INSERT INTO outbox (event_id, attempt_key, channel, generation, not_before_at)
  SELECT o.event_id, o.attempt_key, o.channel, o.generation, o.not_before_at
    FROM ${rows.from('outbox')} o JOIN won USING (event_id)),
planned AS (
  INSERT INTO attempt (attempt_key, event_id, step, origin, channel, sequence, state, provider, provider_message_id, render_hash, policy_version,
    template, template_version, outcome, reason, reason_by, decision_deadline_at, planned_at, queued_at, submitted_at, settled_at, next_poll_at, provider_wait_at)
  SELECT t.attempt_key, t.event_id, t.step, t.origin, t.channel, t.sequence, t.state, t.provider, t.provider_message_id, t.render_hash, t.policy_version,
    t.template, t.template_version, t.outcome, t.reason, t.reason_by, t.decision_deadline_at, t.planned_at, t.queued_at, t.submitted_at, t.settled_at, t.next_poll_at, t.provider_wait_at
    FROM ${rows.from('planned')} t JOIN won USING (event_id))`;

export const DEAD = `
dead AS (
  INSERT INTO dead_letter (event_id, attempt_key, channel, reason, created_at)
  SELECT d.event_id, d.attempt_key, d.channel, d.reason, d.created_at
    FROM jsonb_to_recordset($1::jsonb->'dead_letters') AS d(event_id text, attempt_key text, channel text, reason text, created_at timestamptz)
    JOIN won USING (event_id) ON CONFLICT (attempt_key) WHERE resolved_at IS NULL DO NOTHING)`;

/** Sealed parts of a payload; `unless` says what of them is there already. */
export const insertPayloads = (rows: RowSources<'payloads'>, unless = ''): string => `
payloads AS (
  INSERT INTO sealed_payload (event_id, part, key_id, box, destroyed_at)
  SELECT p.event_id, p.part, p.key_id, p.box, p.destroyed_at FROM ${rows.from('payloads')} p JOIN won USING (event_id)${unless})`;

const { payloads, ...MOST_COLUMNS } = COLUMNS;
const ROWS = rowArrays(3, MOST_COLUMNS);
// Of the same places, and one kind more behind them.
const WITH_PAYLOADS = rowArrays(3, { ...MOST_COLUMNS, payloads });

// A poll under way keeps its lease where the append leaves the next poll where it was: whatever else is decided meanwhile, nobody reads the same status beside it.
const CHANGE = `
changed AS (
  UPDATE attempt a SET
    state = t.state, provider_message_id = t.provider_message_id, outcome = t.outcome, reason = t.reason,
    reason_by = t.reason_by, queued_at = t.queued_at, submitted_at = t.submitted_at, settled_at = t.settled_at,
    next_poll_at = t.next_poll_at, provider_wait_at = t.provider_wait_at,
    poll_leased_until = CASE WHEN a.next_poll_at = t.next_poll_at THEN a.poll_leased_until END
    FROM ${ROWS.from('changed')} t JOIN won USING (event_id) WHERE a.attempt_key = t.attempt_key)`;

// What the entry says is gone is gone with it, or neither is. The prints of a recipient stay: an erasure has to find what else there is.
const DESTROY = `
destroyed_parts AS (
  UPDATE sealed_payload p SET key_id = NULL, box = NULL, destroyed_at = d.at
    FROM jsonb_to_recordset($1::jsonb->'destroyed') AS d(${RARE.destroyed}) JOIN won USING (event_id)
   WHERE p.event_id = d.event_id AND p.event_id = ANY($2::text[]) AND p.part = d.part AND p.box IS NOT NULL),
destroyed_addresses AS (
  UPDATE recipient r SET key_id = NULL, box = NULL, erased_at = d.at
    FROM jsonb_to_recordset($1::jsonb->'destroyed') AS d(${RARE.destroyed}) JOIN won USING (event_id)
   WHERE r.event_id = d.event_id AND r.event_id = ANY($2::text[]) AND d.part = 'addresses' AND r.box IS NOT NULL)`;

const SUPPRESS = `
suppressions AS (
  INSERT INTO suppression (tenant, channel, address_print, sender_print, reason, source, at, actor, event_id, attempt_key)
  SELECT n.tenant, x.channel, CASE x.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END, x.sender, x.reason, x.source, x.at, x.actor, x.event_id, x.attempt_key
    FROM jsonb_to_recordset($1::jsonb->'suppressions') AS x(${RARE.suppressions}) JOIN won USING (event_id)
    JOIN notification n USING (event_id) JOIN recipient r USING (event_id)
   WHERE n.event_id = ANY($2::text[]) AND r.event_id = ANY($2::text[]) AND CASE x.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END IS NOT NULL
  ON CONFLICT (address_print, channel, tenant, sender_print) WHERE removed_at IS NULL DO NOTHING)`;

const RESOLVE = `
resolved AS (
  UPDATE dead_letter l SET resolved_at = r.at, resolution = r.resolution
    FROM jsonb_to_recordset($1::jsonb->'resolutions') AS r(event_id text, attempt_key text, resolution text, at timestamptz) JOIN won USING (event_id)
   WHERE l.event_id = r.event_id AND l.event_id = ANY($2::text[]) AND l.resolved_at IS NULL AND (r.attempt_key IS NULL OR l.attempt_key = r.attempt_key))`;

const OBSERVE = `
observations AS (
  INSERT INTO observation_raw (event_id, version, at, key_id, box)
  SELECT r.event_id, r.version, r.at, r.key_id, r.box FROM ${ROWS.from('observations')} r JOIN won USING (event_id))`;

/** What most appends write beside the state, for those that won. */
const MOST = `${OBSERVE},${CHANGE},${insertRows(ROWS)}
SELECT event_id FROM won`;
/** All that an append can write. */
const ALL = `${SUPPRESS},${DESTROY},${DEAD},${RESOLVE},${insertPayloads(WITH_PAYLOADS, ' ON CONFLICT (event_id, part) DO NOTHING')},${MOST}`;

// What is begun under a throttle counts from now on. What no window can count any more goes with it; the hour is for clocks that are apart.
const COUNT = `
throttled AS MATERIALIZED (
  SELECT t.*, n.tenant, n.purpose, CASE t.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END AS print
    FROM jsonb_to_recordset($1::jsonb->'starts') AS t(${RARE.starts}) JOIN won USING (event_id) JOIN notification n USING (event_id) JOIN recipient r USING (event_id)
   WHERE t.most IS NOT NULL AND n.event_id = ANY($2::text[]) AND r.event_id = ANY($2::text[])),
forgotten AS (
  DELETE FROM throttled_start WHERE attempt_key = ANY(ARRAY(
    SELECT x.attempt_key FROM throttled t CROSS JOIN LATERAL (
      SELECT s.attempt_key FROM throttled_start s
       WHERE s.address_print = t.print AND s.channel = t.channel AND s.tenant = t.tenant AND s.purpose = t.purpose AND s.at < t.since - interval '1 hour' LIMIT 100) x))),
counted AS (
  INSERT INTO throttled_start (attempt_key, tenant, channel, purpose, address_print, at)
  SELECT attempt_key, tenant, channel, purpose, print, at FROM throttled WHERE print IS NOT NULL ON CONFLICT (attempt_key) DO NOTHING),`;

// A submission starts only where its destination was not suppressed since it was decided on (see `tocsin_barred_starts`): whoever finds it
// so has lost a race like any other, and decides again.
const LOCKED = `
WITH locked AS MATERIALIZED (
  SELECT s.event_id FROM notification_state s WHERE s.event_id = ANY($2::text[]) ORDER BY s.event_id FOR NO KEY UPDATE OF s),
barred AS MATERIALIZED (
  SELECT event_id FROM tocsin_barred_starts((SELECT array_agg(event_id) FROM locked), $1::jsonb->'starts', $1::jsonb->'suppressions') AS event_id)`;

const SET_STATE = `UPDATE notification_state s SET version = i.version, head_hash = i.head_hash, state = i.state, status = i.status, decide_at = i.decide_at, updated_at = i.updated_at, risk_at = i.risk_at
    FROM ${ROWS.from('state')} i JOIN locked l ON l.event_id = i.event_id
   WHERE s.event_id = i.event_id AND s.version = i.expected AND NOT EXISTS (SELECT FROM barred b WHERE b.event_id = i.event_id)`;

// The rows are locked in the order of their ids before any is updated: two statements over the same events then wait for each
// other instead of deadlocking. The update compares the version again, so of two racers one wins and the other returns nothing.
// A submission may rest on what is known of its provider: it loses where that has changed since.
const appending = (name: string, writes: string): Statement => ({
  name,
  fixedPlan: true,
  text: `${LOCKED},${OUTDATED},
won AS (
  ${SET_STATE} AND NOT EXISTS (SELECT FROM outdated o WHERE o.event_id = i.event_id)
  RETURNING s.event_id),${writes}`,
});
// What hardly any append writes costs the others nothing: not even to be looked for.
const APPEND = appending('tocsin_append_v8', MOST);
const APPEND_ALL = appending('tocsin_append_all_v1', ALL);
// Only where something is begun under a throttle.
const APPEND_COUNTED = appending('tocsin_append_counted_v3', `${COUNT}${ALL}`);

// Of two appends that change one provider, one wins: its row is locked after those of the notifications (the count says so to the
// planner), in the order of names, and compared then.
const APPEND_WITH_PROVIDER: Statement = {
  name: 'tocsin_append_with_provider_v6',
  fixedPlan: true,
  text: `${LOCKED},
wanted AS MATERIALIZED (SELECT * FROM ${PROVIDERS}),
known AS MATERIALIZED (
  SELECT ps.provider, ps.revision FROM provider_state ps
   WHERE ps.provider IN (SELECT provider FROM wanted) AND (SELECT count(*) FROM locked) + (SELECT count(*) FROM barred) > 0 ORDER BY ps.provider FOR UPDATE),
won AS (
  ${SET_STATE}
     AND NOT EXISTS (SELECT 1 FROM wanted w LEFT JOIN known k ON k.provider = w.provider WHERE coalesce(k.revision, 0) <> w.expected)
  RETURNING s.event_id),
moved AS (
  UPDATE provider_state ps SET revision = w.revision, state = w.state, reason = w.reason, opened_at = w.opened_at, closed_at = w.closed_at,
    failures = w.failures, probe_at = w.probe_at, probe_attempt = w.probe_attempt, probe_submission = w.probe_submission, probe_until = w.probe_until
    FROM wanted w JOIN won ON won.event_id = w.event_id WHERE ps.provider = w.provider AND w.writes),${COUNT}${ALL}`,
};

const ENSURE_PROVIDER: Statement = {
  name: 'tocsin_ensure_provider_v1',
  text: `INSERT INTO provider_state (provider, revision, state, failures) SELECT unnest($1::text[]), 0, 'closed', 0 ON CONFLICT DO NOTHING`,
};

/** The second parameter: by it every row that is there already is found, in any plan there can be. */
const idsOf = (appends: readonly Append[]): string[] => appends.map((append) => append.eventId);

const RARE_KINDS = ['dead_letters', 'resolutions', 'suppressions', 'destroyed', 'payloads'] as const satisfies readonly (keyof AppendRows)[];
const isRare = ({ rows }: Append): boolean => RARE_KINDS.some((kind) => rows[kind].length > 0);
const isCounted = ({ rows: { starts } }: Append): boolean => starts.some((start) => start['most'] !== undefined);

/** The rows of one kind of many appends. */
const gather = (appends: readonly Append[], kind: Exclude<keyof AppendRows, 'state'>): Row[] => {
  const [only] = appends;
  if (appends.length === 1 && only) return only.rows[kind];
  const rows: Row[] = [];
  for (const append of appends) rows.push(...append.rows[kind]);
  return rows;
};

/** The rare rows of many appends, as the first parameter. */
export const rareRows = (appends: readonly Append[]) => ({
  dead_letters: gather(appends, 'dead_letters'), resolutions: gather(appends, 'resolutions'), starts: gather(appends, 'starts'), suppressions: gather(appends, 'suppressions'),
  destroyed: appends.flatMap(({ rows }) => rows.destroyed.map((row) => ({ ...row, at: toTimestamp(row.at) }))), providers: gather(appends, 'providers'),
});

/** The rows that append and accept have in common. */
export const commonRows = (appends: readonly Append[]) => ({
  state: appends.map((append) => append.rows.state), entries: gather(appends, 'entries'), planned: gather(appends, 'planned'), outbox: gather(appends, 'outbox'),
});

/** The rows that appends write, by their kind. */
export const rowsOf = (appends: readonly Append[]) => ({ ...commonRows(appends), changed: gather(appends, 'changed'), observations: gather(appends, 'observations') });

/** The parameters of the statements that append. */
const parametersOf = (appends: readonly Append[], all: boolean): unknown[] => {
  const rows = rowsOf(appends);
  return [JSON.stringify(rareRows(appends)), idsOf(appends), ...all ? WITH_PAYLOADS.values({ ...rows, payloads: gather(appends, 'payloads') }) : ROWS.values(rows)];
};

/**
 * Appends for many notifications in one statement, each at the version it was decided on; at most one append per event.
 * Returns the event ids that won. One bad row fails the whole statement: the caller then tries each alone.
 */
export const appendGroup = async (db: Database, appends: readonly Append[]): Promise<Set<string>> => {
  const counted = appends.some(isCounted);
  const all = counted || appends.some(isRare);
  const rows = await db.query<{ event_id: string }>(counted ? APPEND_COUNTED : all ? APPEND_ALL : APPEND, parametersOf(appends, all));
  return new Set(rows.map((row) => row.event_id));
};

/** Whether an append changes what is known of a provider: such a one goes alone. */
export const changesProvider = ({ rows }: Append): boolean => rows.providers.some((row) => row['writes'] === true);

/** Appends for one notification together with what it changes of its provider: both stand, or neither. True where it won. */
export const appendWithProvider = async (db: Database, append: Append): Promise<boolean> => {
  await db.query(ENSURE_PROVIDER, [append.rows.providers.map((row) => row['provider']).sort()]);
  return (await db.query(APPEND_WITH_PROVIDER, parametersOf([append], true))).length > 0;
};
