import { contentHash } from '../security/chain-hash.ts';
import { fingerprint } from '../security/fingerprint.ts';
import type { KeyRing } from '../security/key-ring.ts';
import type { Faults } from './verify-fault.ts';
import { firstDifference } from './verify-fault.ts';

/** An intent as its row holds it. */
export interface IntentRow {
  event_id: string; tenant: string; idempotency_key: string; request_fingerprint: Buffer; purpose: string; policy_version: number; template_versions: unknown;
  region: string; locale: string; urgency: string; classification: string; requested_at: Date; expires_at: Date; retention_until: Date;
  recipient_commitment: string; consent_references: unknown; artifact_references: unknown; request_id: string; intent: string; intent_hash: Buffer;
  /** How long the policy it was bound to keeps it, in ms; null where that policy version is gone. */
  retention_ms: string | null;
}

/** What the text must say for each column. `idempotency_key` is there as a fingerprint, `retention_until` follows from the policy. */
const inText = (row: IntentRow): Record<string, unknown> => ({
  event_id: row.event_id, tenant: row.tenant, request_fingerprint: row.request_fingerprint.toString('hex'), purpose: row.purpose, policy_version: row.policy_version,
  template_versions: row.template_versions, region: row.region, locale: row.locale, urgency: row.urgency, classification: row.classification,
  requested_at: row.requested_at.getTime(), expires_at: row.expires_at.getTime(), recipient_commitment: row.recipient_commitment,
  consent_references: row.consent_references, artifact_references: row.artifact_references, request_id: row.request_id,
});

const isPrintOf = (ring: KeyRing, key: string, print: unknown): boolean =>
  ring.keys.some((one) => fingerprint({ keys: [one] }, 'idempotency-key', key).toString('hex') === print);

/** The text of an intent as an object; null where it is none. */
const parsed = (text: string): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value as Record<string, unknown> : null;
  } catch {
    return null;
  }
};

/** Checks that an intent's hash covers its text, and that the text is about this event. */
export const checkIntentText = (eventId: string, { intent, intentHash }: { intent: string; intentHash: Buffer }, faults: Faults): Record<string, unknown> | null => {
  if (!contentHash(intent).equals(intentHash)) faults.add({ eventId }, 'intent', 'intent_hash does not cover this text: one of the two was changed');
  const text = parsed(intent);
  if (text === null) faults.add({ eventId }, 'intent', 'is not the text of an intent');
  else if (text['event_id'] !== eventId) faults.add({ eventId }, 'event_id', 'is not the one in the intent');
  return text;
};

/** Checks each column of an intent against its text. Without the key ring the idempotency key cannot be compared. */
export const checkIntentColumns = (row: IntentRow, text: Record<string, unknown>, { faults, ring }: { faults: Faults; ring: KeyRing | null }): void => {
  const at = { eventId: row.event_id };
  for (const [column, value] of Object.entries(inText(row))) {
    if (column !== 'event_id' && firstDifference(value, text[column]) !== null) faults.add(at, column, 'is not what the intent says');
  }
  if (ring && !isPrintOf(ring, row.idempotency_key, text['idempotency_key_hash'])) faults.add(at, 'idempotency_key', 'is not the one whose fingerprint the intent holds');
  if (row.retention_ms !== null && row.retention_until.getTime() !== row.requested_at.getTime() + Number(row.retention_ms)) faults.add(at, 'retention_until', 'is not what the policy version says');
};
