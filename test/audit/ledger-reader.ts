import pg from 'pg';
import type { NotificationState } from '../../shared/domain/state.ts';
import type { Stamped, Transition } from '../../shared/domain/transitions.ts';
import { unpackState } from '../../shared/ledger/stored-state.ts';
import type { StoredState } from '../../shared/ledger/stored-state.ts';

export interface LedgerEntry { eventId: string; version: number; kind: string; at: number; actor: string; attemptKey: string | null; stamped: Stamped }
export interface LedgerNotification { eventId: string; expiresAt: number; status: string; version: number; state: NotificationState; entries: LedgerEntry[] }
export interface LedgerAttempt { attemptKey: string; eventId: string; channel: string; state: string; decisionDeadlineAt: number }
export interface LedgerReading { notifications: LedgerNotification[]; attempts: LedgerAttempt[]; chainErrors: string[]; outboxRows: number; now: number }

/** The chain, recomputed by the database from what it stores: own hashes, links, gapless versions, heads, intents. */
const CHAIN = `
SELECT e.event_id || ' v' || e.version || ': hash' AS fault FROM ledger_entry e WHERE e.hash IS DISTINCT FROM sha256(e.prev_hash || convert_to(e.body, 'UTF8'))
UNION ALL
SELECT e.event_id || ' v' || e.version || ': link' FROM ledger_entry e
  JOIN notification n USING (event_id) LEFT JOIN ledger_entry p ON p.event_id = e.event_id AND p.version = e.version - 1
 WHERE e.prev_hash IS DISTINCT FROM (CASE WHEN e.version = 1 THEN n.intent_hash ELSE p.hash END)
UNION ALL
SELECT n.event_id || ': intent' FROM notification n WHERE n.intent_hash IS DISTINCT FROM sha256(convert_to(n.intent, 'UTF8'))
UNION ALL
SELECT e.event_id || ' v' || e.version || ': columns differ from the text' FROM ledger_entry e
 WHERE (e.body::jsonb->>'kind', (e.body::jsonb->>'version')::int, e.body::jsonb->>'event_id', e.body::jsonb->>'actor', (e.body::jsonb->>'at')::bigint)
       IS DISTINCT FROM (e.kind, e.version, e.event_id, e.actor, round(extract(epoch FROM e.at) * 1000)::bigint)
UNION ALL
SELECT s.event_id || ': head' FROM notification_state s
  LEFT JOIN LATERAL (SELECT max(version) AS last, count(*) AS many FROM ledger_entry e WHERE e.event_id = s.event_id) l ON true
  LEFT JOIN ledger_entry h ON h.event_id = s.event_id AND h.version = s.version
 WHERE s.version IS DISTINCT FROM l.last OR l.many IS DISTINCT FROM l.last OR h.hash IS DISTINCT FROM s.head_hash
UNION ALL
SELECT n.event_id || ': no state' FROM notification n WHERE NOT EXISTS (SELECT 1 FROM notification_state s WHERE s.event_id = n.event_id)`;

const ENTRIES = 'SELECT event_id, version, kind, actor, attempt_key, body FROM ledger_entry ORDER BY event_id, version';
const NOTIFICATIONS = 'SELECT n.event_id, n.expires_at, s.status, s.version, s.state FROM notification n JOIN notification_state s USING (event_id) ORDER BY n.event_id';
const ATTEMPTS = 'SELECT attempt_key, event_id, channel, state, decision_deadline_at FROM attempt';

/** Rows of one statement on a connection of its own: an audit shares nothing with what it audits. */
export const ask = async <Row extends pg.QueryResultRow>(databaseUrl: string, text: string): Promise<Row[]> => {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
};

interface Body { at: number; kind: string; details: unknown }
const entryOf = (row: { event_id: string; version: number; kind: string; actor: string; attempt_key: string | null; body: string }): LedgerEntry => {
  const { at, kind, details } = JSON.parse(row.body) as Body;
  return { eventId: row.event_id, version: row.version, kind: row.kind, actor: row.actor, attemptKey: row.attempt_key, at, stamped: { at, transition: { kind, details } as Transition } };
};

/** Everything of the ledger that an audit looks at, in one consistent snapshot. */
export const readLedger = async (databaseUrl: string): Promise<LedgerReading> => {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const entries = (await client.query(ENTRIES)).rows.map(entryOf);
    const byEvent = groupEntries(entries);
    const notifications = (await client.query(NOTIFICATIONS)).rows.map((row): LedgerNotification => ({
      eventId: row.event_id, expiresAt: row.expires_at.getTime(), status: row.status, version: row.version, state: unpackState(row.state), entries: byEvent.get(row.event_id) ?? [],
    }));
    const attempts = (await client.query(ATTEMPTS)).rows.map((row): LedgerAttempt => ({
      attemptKey: row.attempt_key, eventId: row.event_id, channel: row.channel, state: row.state, decisionDeadlineAt: row.decision_deadline_at.getTime(),
    }));
    const chainErrors = (await client.query(CHAIN)).rows.map((row) => String(row.fault));
    const [{ outbox, now } = { outbox: 0, now: 0 }] = (await client.query('SELECT (SELECT count(*)::int FROM outbox) AS outbox, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now')).rows;
    return { notifications, attempts, chainErrors, outboxRows: outbox, now };
  } finally {
    await client.end().catch(() => undefined);
  }
};

/** The states alone, without their entries: for whoever waits for something. */
export const readStates = async (databaseUrl: string): Promise<Pick<LedgerNotification, 'eventId' | 'status' | 'state'>[]> =>
  (await ask<{ event_id: string; status: string; state: StoredState }>(databaseUrl, 'SELECT event_id, status, state FROM notification_state'))
    .map((row) => ({ eventId: row.event_id, status: row.status, state: unpackState(row.state) }));

const groupEntries = (entries: LedgerEntry[]): Map<string, LedgerEntry[]> => {
  const groups = new Map<string, LedgerEntry[]>();
  for (const entry of entries) {
    const group = groups.get(entry.eventId);
    if (group) group.push(entry);
    else groups.set(entry.eventId, [entry]);
  }
  return groups;
};
