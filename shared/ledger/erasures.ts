import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';
import type { SealedBox } from './rows.ts';

/** One erasure as it is recorded: whom by keyed fingerprints, never who. `mac` covers the rest. */
export interface RecordedErasure {
  erasureId: string; tenant: string;
  /** What was requested until then is erased. */
  at: number;
  reason: string; actor: string; referencePrint: Buffer; playerPrint: Buffer; smsPrint: Buffer | null; emailPrint: Buffer | null; mac: Buffer;
}

interface Row {
  erasure_id: string; tenant: string; at: Date; reason: string; actor: string; reference_print: Buffer; player_print: Buffer; sms_print: Buffer | null; email_print: Buffer | null;
  mac: Buffer; due: boolean;
}

const INSERT: Statement = {
  name: 'tocsin_record_erasure_v1',
  text: `INSERT INTO erasure (erasure_id, tenant, at, reason, actor, reference_print, player_print, sms_print, email_print, mac)
         VALUES ($1, $2, $3::timestamptz, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (erasure_id) DO NOTHING RETURNING erasure_id`,
};

/** Records an erasure; false where it was recorded already. */
export const recordErasure = async (db: Database, one: RecordedErasure): Promise<boolean> =>
  (await db.query(INSERT, [one.erasureId, one.tenant, toTimestamp(one.at), one.reason, one.actor, one.referencePrint, one.playerPrint, one.smsPrint, one.emailPrint, one.mac])).length > 0;

const LIST: Statement = {
  name: 'tocsin_erasures_v1',
  text: `SELECT e.*, e.applied_in IS DISTINCT FROM (SELECT tocsin_feed_identity()) AS due FROM erasure e ORDER BY e.erasure_id`,
};

/** Every recorded erasure, the oldest first; `due`: it was not carried out yet, or in another database, of which this one is a copy. */
export const listErasures = async (db: Database): Promise<(RecordedErasure & { due: boolean })[]> => (await db.query<Row>(LIST, [])).map((row) => ({
  erasureId: row.erasure_id, tenant: row.tenant, at: row.at.getTime(), reason: row.reason, actor: row.actor, referencePrint: row.reference_print,
  playerPrint: row.player_print, smsPrint: row.sms_print, emailPrint: row.email_print, mac: row.mac, due: row.due,
}));

const MARK: Statement = { name: 'tocsin_erasures_applied_v1', text: 'UPDATE erasure SET applied_at = $2::timestamptz, applied_in = tocsin_feed_identity() WHERE erasure_id = ANY($1::text[])' };

/** Records that they were carried out in this database. */
export const markErasuresApplied = async (db: Database, erasureIds: readonly string[], now: number): Promise<void> => { await db.query(MARK, [erasureIds, toTimestamp(now)]); };

/** What tells whom a notification was for, and its ticket where that was not erased. */
export interface Traces { eventId: string; referencePrint: Buffer | null; smsPrint: Buffer | null; emailPrint: Buffer | null; ticket: SealedBox | null }

const TRACES: Statement = {
  name: 'tocsin_traces_v1',
  text: `SELECT r.event_id, r.reference_print, r.sms_print, r.email_print, t.key_id, t.box
           FROM (SELECT x.event_id, x.reference_print, x.sms_print, x.email_print FROM recipient x WHERE x.event_id > $1 ORDER BY x.event_id LIMIT $2) r
           LEFT JOIN LATERAL (SELECT y.key_id, y.box FROM ticket y WHERE y.event_id = r.event_id AND y.box IS NOT NULL OFFSET 0) t ON true ORDER BY r.event_id`,
};

/**
 * The traces of persons after an event id, page by page in the order of ids. No index finds an address, since every acceptance would pay for
 * it and few persons are erased: all are looked through.
 */
export const readTraces = async (db: Database, after: string, limit: number): Promise<Traces[]> =>
  (await db.query<{ event_id: string; reference_print: Buffer | null; sms_print: Buffer | null; email_print: Buffer | null; key_id: string | null; box: Buffer | null }>(TRACES, [after, limit])).map((row) => ({
    eventId: row.event_id, referencePrint: row.reference_print, smsPrint: row.sms_print, emailPrint: row.email_print,
    ticket: row.key_id !== null && row.box !== null ? { keyId: row.key_id, box: row.box } : null,
  }));

export interface ErasureFacts { eventId: string; tenant: string; artifacts: string[]; open: boolean }

const FACTS: Statement = {
  name: 'tocsin_erasure_facts_v1',
  text: `SELECT n.event_id, n.tenant, n.artifact_references, s.state->>'settledAt' IS NULL AND s.state->>'closed' IS NULL AND s.state->>'rejected' IS NULL AS open
           FROM notification n JOIN notification_state s USING (event_id) WHERE n.event_id = ANY($1::text[])`,
};

/** Whose notifications these are, what they carry, and whether they may still be sent. */
export const erasureFacts = async (db: Database, eventIds: readonly string[]): Promise<ErasureFacts[]> =>
  (await db.query<{ event_id: string; tenant: string; artifact_references: string[]; open: boolean }>(FACTS, [eventIds]))
    .map((row) => ({ eventId: row.event_id, tenant: row.tenant, artifacts: row.artifact_references, open: row.open }));

/** The notifications of a batch, and those among them whose recipient, and whose player, it is about. */
export interface ErasureBatch { all: readonly string[]; recipients: readonly string[]; players: readonly string[] }
export interface ErasedCounts { parts: number; addresses: number; observations: number; reasons: number; links: number; tickets: number }

const COUNT: Statement = {
  name: 'tocsin_erasure_count_v1',
  text: `SELECT (SELECT count(*)::int FROM sealed_payload WHERE event_id = ANY($1::text[]) AND box IS NOT NULL) AS parts,
                (SELECT count(*)::int FROM recipient WHERE event_id = ANY($2::text[]) AND box IS NOT NULL) AS addresses,
                (SELECT count(*)::int FROM observation_raw WHERE event_id = ANY($1::text[]) AND box IS NOT NULL) AS observations,
                (SELECT count(*)::int FROM dead_letter d JOIN dead_letter_request q ON q.dead_letter_id = d.id WHERE d.event_id = ANY($1::text[]) AND q.box IS NOT NULL) AS reasons,
                (SELECT count(*)::int FROM report_link WHERE event_id = ANY($2::text[]) AND expires_at > $4::timestamptz) AS links,
                (SELECT count(*)::int FROM ticket WHERE event_id = ANY($3::text[]) AND box IS NOT NULL) AS tickets`,
};
const valuesOf = ({ all, recipients, players }: ErasureBatch, now: number): unknown[] => [all, recipients, players, toTimestamp(now)];

/** What there is to destroy. */
export const countErasable = async (db: Database, batch: ErasureBatch, now: number): Promise<ErasedCounts> => (await db.query<ErasedCounts & Record<string, number>>(COUNT, valuesOf(batch, now)))[0] as ErasedCounts;

const ERASE: Statement = {
  name: 'tocsin_erase_v2',
  text: `WITH
parts AS (UPDATE sealed_payload SET key_id = NULL, box = NULL, destroyed_at = $4::timestamptz WHERE event_id = ANY($1::text[]) AND box IS NOT NULL),
observations AS (UPDATE observation_raw SET key_id = NULL, box = NULL, destroyed_at = $4::timestamptz WHERE event_id = ANY($1::text[]) AND box IS NOT NULL),
reasons AS (UPDATE dead_letter_request q SET key_id = NULL, box = NULL FROM dead_letter d WHERE d.id = q.dead_letter_id AND d.event_id = ANY($1::text[]) AND q.box IS NOT NULL),
links AS (UPDATE report_link SET expires_at = $4::timestamptz, code_hash = NULL, code_until = NULL WHERE event_id = ANY($2::text[]) AND expires_at > $4::timestamptz),
counted AS (DELETE FROM throttled_start t USING unnest($2::text[]) AS r(event_id) WHERE t.attempt_key > r.event_id || '.' AND t.attempt_key < r.event_id || '/'),
tickets AS (UPDATE ticket SET key_id = NULL, box = NULL, erased_at = $4::timestamptz WHERE event_id = ANY($3::text[]) AND box IS NOT NULL)
UPDATE recipient SET key_id = NULL, box = NULL, erased_at = coalesce(erased_at, $4::timestamptz), reference_print = NULL, sms_print = NULL, email_print = NULL
 WHERE event_id = ANY($2::text[]) AND (reference_print IS NOT NULL OR box IS NOT NULL)`,
};

/**
 * Destroys what stands beside the ledger, and last of all by what it was found: in one statement, after the entries that say so, so that
 * whoever dies in between finds it again.
 */
export const eraseTraces = async (db: Database, batch: ErasureBatch, now: number): Promise<void> => { await db.query(ERASE, valuesOf(batch, now)); };

const CARRIED_BY_OTHERS = `EXISTS (
  SELECT 1 FROM notification n JOIN recipient r USING (event_id)
   WHERE n.artifact_references <> '[]'::jsonb AND n.artifact_references @> jsonb_build_array(a.artifact_id) AND n.event_id <> ALL($2::text[]) AND r.reference_print IS NOT NULL)`;
const JUDGE_ARTIFACTS: Statement = {
  name: 'tocsin_erasable_artifacts_v1',
  text: `SELECT a.artifact_id, ${CARRIED_BY_OTHERS} AS shared FROM artifact a WHERE a.artifact_id = ANY($1::text[]) AND a.destroyed_at IS NULL`,
};

/** Which of these reports still stand, and whether notices to somebody else carry them as well. */
export const judgeArtifacts = async (db: Database, artifactIds: readonly string[], eventIds: readonly string[]): Promise<{ artifactId: string; shared: boolean }[]> =>
  (artifactIds.length === 0 ? [] : (await db.query<{ artifact_id: string; shared: boolean }>(JUDGE_ARTIFACTS, [artifactIds, eventIds])).map((row) => ({ artifactId: row.artifact_id, shared: row.shared })));

const DESTROY_ARTIFACTS: Statement = {
  name: 'tocsin_erase_artifacts_v1',
  text: `WITH gone AS (UPDATE artifact a SET key_id = NULL, box = NULL, destroyed_at = $3::timestamptz WHERE a.artifact_id = ANY($1::text[]) AND a.destroyed_at IS NULL AND NOT ${CARRIED_BY_OTHERS} RETURNING a.artifact_id, a.tenant)
         SELECT artifact_id, tenant FROM gone UNION ALL SELECT artifact_id, tenant FROM artifact WHERE artifact_id = ANY($1::text[]) AND destroyed_at IS NOT NULL`,
};

/** Destroys the keys of those that nobody else's notices carry; those that are destroyed by now, whose bytes are the caller's to remove. */
export const destroyArtifacts = async (db: Database, artifactIds: readonly string[], { eventIds, now }: { eventIds: readonly string[]; now: number }): Promise<{ artifactId: string; tenant: string }[]> =>
  (artifactIds.length === 0 ? [] : (await db.query<{ artifact_id: string; tenant: string }>(DESTROY_ARTIFACTS, [artifactIds, eventIds, toTimestamp(now)])).map((row) => ({ artifactId: row.artifact_id, tenant: row.tenant })));

const KEPT: Statement = { name: 'tocsin_suppressions_kept_v1', text: 'SELECT count(*)::int AS count FROM suppression WHERE removed_at IS NULL AND address_print = ANY($1::bytea[])' };

/** How many suppressions of these destinations hold; they stay. */
export const countSuppressionsOf = async (db: Database, prints: readonly Buffer[]): Promise<number> => (await db.query<{ count: number }>(KEPT, [prints]))[0]?.count ?? 0;
