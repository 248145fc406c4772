import type { Asker } from './checkpoint-read.ts';
import type { EntryRow } from './verify-event.ts';
import type { IntentRow } from './verify-intent.ts';
import type { AttemptRow, StateRow } from './verify-materialized.ts';
import type { RecipientRow, SealedPartRow } from './verify-sealed.ts';

/** A range of event ids: after `after`, up to and with `through` (null: to the end). */
export interface Range { after: string; through: string | null }

const IN_RANGE = `x.event_id > $1 AND ($2::text IS NULL OR x.event_id <= $2)`;

/** The intents after an event id, in order. */
export const readIntents = async (asker: Asker, after: string, limit: number): Promise<IntentRow[]> => (await asker.query<IntentRow>({
  name: 'tocsin_verify_intents_v1',
  text: `SELECT x.event_id, x.tenant, x.idempotency_key, x.request_fingerprint, x.purpose, x.policy_version, x.template_versions, x.region, x.locale, x.urgency,
           x.classification, x.requested_at, x.expires_at, x.retention_until, x.recipient_commitment, x.consent_references, x.artifact_references, x.request_id,
           x.intent, x.intent_hash, p.definition->>'retentionMs' AS retention_ms
           FROM notification x LEFT JOIN policy_version p ON p.purpose = x.purpose AND p.version = x.policy_version
          WHERE x.event_id > $1 ORDER BY x.event_id LIMIT $2`,
  values: [after, limit],
})).rows;

export const readStates = async (asker: Asker, range: Range): Promise<StateRow[]> => (await asker.query<StateRow>({
  name: 'tocsin_verify_states_v1',
  text: `SELECT x.event_id, x.version, x.head_hash, x.state, x.status, x.decide_at FROM notification_state x WHERE ${IN_RANGE} ORDER BY x.event_id`,
  values: [range.after, range.through],
})).rows;

export const readAttempts = async (asker: Asker, range: Range): Promise<AttemptRow[]> => (await asker.query<AttemptRow>({
  // By the key, which begins with the event's id: the column itself has no index.
  name: 'tocsin_verify_attempts_v2', text: `SELECT x.* FROM attempt x WHERE ${IN_RANGE} AND x.attempt_key > $1 AND ($2::text IS NULL OR x.attempt_key < $2::text || '/') ORDER BY x.event_id`, values: [range.after, range.through],
})).rows;

export const readRecipients = async (asker: Asker, range: Range): Promise<RecipientRow[]> => (await asker.query<RecipientRow>({
  name: 'tocsin_verify_recipients_v1',
  text: `SELECT x.event_id, x.key_id, x.box, x.reference_print, x.sms_print, x.email_print FROM recipient x WHERE ${IN_RANGE} ORDER BY x.event_id`, values: [range.after, range.through],
})).rows;

export const readSealedParts = async (asker: Asker, range: Range): Promise<SealedPartRow[]> => (await asker.query<SealedPartRow>({
  name: 'tocsin_verify_sealed_v1', text: `SELECT x.event_id, x.part, x.box IS NOT NULL AS kept FROM sealed_payload x WHERE ${IN_RANGE} ORDER BY x.event_id`, values: [range.after, range.through],
})).rows;

interface FlatEntry extends NonNullable<EntryRow['columns']> { event_id: string; version: number; position: string; xid: string; body: string; hash: Buffer }

const PAGE = 1_000;

/** The entries of a range in the order of event and version, a page at a time. */
export const streamEntries = async function* (asker: Asker, range: Range): AsyncGenerator<EntryRow & { xid: string }> {
  let [eventId, version] = [range.after, 2 ** 31 - 1];
  for (;;) {
    const { rows } = await asker.query<FlatEntry>({
      name: 'tocsin_verify_entries_v1',
      text: `SELECT x.event_id, x.version, x.position::text, x.xid::text, x.kind, x.at, x.actor, x.request_id, x.policy_version, x.attempt_key, x.from_state, x.to_state,
               x.body, x.prev_hash, x.hash
               FROM ledger_entry x WHERE (x.event_id, x.version) > ($1, $3::integer) AND ($2::text IS NULL OR x.event_id <= $2) ORDER BY x.event_id, x.version LIMIT $4`,
      values: [eventId, range.through, version, PAGE],
    });
    for (const { event_id, version: at, position, xid, body, hash, ...columns } of rows) yield { event_id, version: at, position, xid, body, hash, columns };
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    [eventId, version] = [last.event_id, last.version];
  }
};
