import type { Metrics } from '../telemetry/metrics.ts';
import type { Database, Statement } from './database.ts';
import { isDatabaseAway } from './database.ts';
import type { PayloadPart } from '../domain/words.ts';
import type { Append, SealedBox } from './rows.ts';
import { COLUMNS, DEAD, OUTDATED, commonRows, insertPayloads, insertRows, rareRows } from './append-group.ts';
import { suppressedOf } from './load.ts';
import type { ThrottleAt } from './throttles.ts';
import { throttledOf, throttleRows } from './throttles.ts';
import { PACE_MS, groupCalls } from './group-commit.ts';
import { toHexBytes, toTimestamp } from './instants.ts';
import { rowArrays } from './row-arrays.ts';

/** The immutable row of an intent, and what is sealed beside it. */
export interface NewNotification {
  append: Append;
  tenant: string;
  idempotencyKey: string;
  requestFingerprint: Uint8Array;
  purpose: string;
  policyVersion: number;
  templateVersions: { step: number; template: string; version: number }[];
  region: string;
  locale: string;
  urgency: string;
  classification: string;
  requestedAt: number;
  expiresAt: number;
  retentionUntil: number;
  recipientCommitment: string;
  consentReferences: string[];
  artifactReferences: string[];
  requestId: string;
  intent: string;
  intentHash: Uint8Array;
  variables: SealedBox;
  /** Null where there are none. */
  secrets: SealedBox | null;
  /** Where the origin system is asked; absent or null where it is not. */
  precondition?: SealedBox | null;
  recipient: SealedBox & { referencePrint: Uint8Array; smsPrint: Uint8Array | null; emailPrint: Uint8Array | null };
  /** What of the recipient was taken to be suppressed when it was decided on, as `Loaded` has it. */
  presumed: readonly string[];
  /** What its steps are throttled by; absent where none is. */
  throttles?: readonly ThrottleAt[];
  /** Links to the report that it carries. */
  reportLinks?: { tokenHash: Uint8Array; channel: string; artifactId: string; expiresAt: number }[];
  ticket: (SealedBox & { category: string; region: string; locale: string; queue: string; urgency: string; receiptTokenHash: Uint8Array }) | null;
}

/**
 * Either this request made the notification, or another one had: its id and fingerprint then tell whether it is a replay. Or
 * nothing was made, because more bars the recipient than was presumed: that is to be decided anew. So the common
 * case, in which nothing is, costs no question.
 */
export type Accepted = { kind: 'accepted' } | { kind: 'exists'; eventId: string; requestFingerprint: Buffer } | { kind: 'suppressed'; suppressed: readonly string[] };

const NEW = `event_id text, tenant text, idempotency_key text, request_fingerprint bytea, purpose text, policy_version integer, template_versions jsonb,
  region text, locale text, urgency text, classification text, requested_at timestamptz, expires_at timestamptz, retention_until timestamptz,
  recipient_commitment text, consent_references jsonb, artifact_references jsonb, request_id text, intent text, intent_hash bytea,
  sms_print bytea, email_print bytea, presumed text, throttles jsonb`;

const ROWS = rowArrays(2, {
  notifications: NEW, state: COLUMNS.state, recipients: 'event_id text, reference_print bytea, sms_print bytea, email_print bytea, key_id text, box bytea, erased_at timestamptz',
  payloads: COLUMNS.payloads, entries: COLUMNS.entries, planned: COLUMNS.planned, outbox: COLUMNS.outbox,
});

const PRINTS = { tenant: 'n.tenant', purpose: 'n.purpose', sms: 'n.sms_print', email: 'n.email_print', throttles: 'n.throttles' };

/** What hardly any acceptance writes. */
const RARE = `
tickets AS (
  INSERT INTO ticket (event_id, category, region, locale, queue, urgency, received_at, retention_until, receipt_token_hash, key_id, box)
  SELECT t.event_id, t.category, t.region, t.locale, t.queue, t.urgency, t.received_at, t.retention_until, t.receipt_token_hash, t.key_id, t.box
    FROM jsonb_to_recordset($1::jsonb->'tickets') AS t(event_id text, category text, region text, locale text, queue text, urgency text,
      received_at timestamptz, retention_until timestamptz, receipt_token_hash bytea, key_id text, box bytea) JOIN won USING (event_id)),
links AS (
  INSERT INTO report_link (token_hash, event_id, artifact_id, channel, expires_at)
  SELECT l.token_hash, l.event_id, l.artifact_id, l.channel, l.expires_at
    FROM jsonb_to_recordset($1::jsonb->'links') AS l(token_hash bytea, event_id text, artifact_id text, channel text, expires_at timestamptz) JOIN won USING (event_id)),
${DEAD},`;

const accepting = (name: string, { before = '', only = '', rare = '' }: { before?: string; only?: string; rare?: string }): Statement => ({
  name,
  fixedPlan: true,
  text: `
WITH ${before}won AS (
  INSERT INTO notification (event_id, tenant, idempotency_key, request_fingerprint, purpose, policy_version, template_versions, region, locale, urgency,
    classification, requested_at, expires_at, retention_until, recipient_commitment, consent_references, artifact_references, request_id, intent, intent_hash)
  SELECT event_id, tenant, idempotency_key, request_fingerprint, purpose, policy_version, template_versions, region, locale, urgency,
    classification, requested_at, expires_at, retention_until, recipient_commitment, consent_references, artifact_references, request_id, intent, intent_hash
    FROM ${ROWS.from('notifications')} n
   WHERE ${suppressedOf(PRINTS)} <@ n.presumed::text[] AND (n.throttles IS NULL OR ${throttledOf(PRINTS)} <@ n.presumed::text[])${only} ORDER BY tenant, idempotency_key
  ON CONFLICT (tenant, idempotency_key) DO NOTHING
  RETURNING event_id),
states AS (
  INSERT INTO notification_state (event_id, version, head_hash, state, status, decide_at, updated_at, risk_at)
  SELECT i.event_id, i.version, i.head_hash, i.state, i.status, i.decide_at, i.updated_at, i.risk_at FROM ${ROWS.from('state')} i JOIN won USING (event_id)),
recipients AS (
  INSERT INTO recipient (event_id, reference_print, sms_print, email_print, key_id, box, erased_at)
  SELECT r.event_id, r.reference_print, r.sms_print, r.email_print, r.key_id, r.box, r.erased_at FROM ${ROWS.from('recipients')} r JOIN won USING (event_id)),
${rare}${insertPayloads(ROWS)},${insertRows(ROWS)}
SELECT event_id FROM won`,
});
// Where some are started at once: those only as an append would start them, with nothing known that bars them, and with their provider as it was known.
const STARTED = {
  before: `barred AS MATERIALIZED (SELECT event_id FROM tocsin_barred_acceptances($1::jsonb->'starts') AS event_id),${OUTDATED},
`,
  only: `
     AND NOT EXISTS (SELECT FROM barred b WHERE b.event_id = n.event_id)
     AND NOT EXISTS (SELECT FROM outdated o WHERE o.event_id = n.event_id)`,
};
// What hardly any acceptance writes costs the others nothing: not even to be looked for.
const ACCEPT_STARTED = accepting('tocsin_accept_started_v3', STARTED);
const ACCEPT_ALL_STARTED = accepting('tocsin_accept_all_started_v1', { ...STARTED, rare: RARE });
const ACCEPT_ALL = accepting('tocsin_accept_all_v1', { rare: RARE });

const EXISTING: Statement = {
  name: 'tocsin_find_by_key_v1',
  text: `SELECT n.tenant, n.idempotency_key, n.event_id, n.request_fingerprint
           FROM unnest($1::text[], $2::text[]) AS k(tenant, idempotency_key) JOIN notification n USING (tenant, idempotency_key)`,
};

const SUPPRESSED: Statement = {
  name: 'tocsin_suppressed_v2',
  text: `SELECT ${suppressedOf(PRINTS)} || ${throttledOf(PRINTS)} AS suppressed
           FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::text[], $5::jsonb[]) WITH ORDINALITY AS n(tenant, sms_print, email_print, purpose, throttles, at) ORDER BY n.at`,
};

/** Texts as the text of an array. */
const arrayText = (texts: readonly string[]): string => `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`;

const notificationRow = (one: NewNotification) => ({
  event_id: one.append.eventId, tenant: one.tenant, idempotency_key: one.idempotencyKey, request_fingerprint: one.requestFingerprint,
  purpose: one.purpose, policy_version: one.policyVersion, template_versions: one.templateVersions, region: one.region, locale: one.locale,
  urgency: one.urgency, classification: one.classification, requested_at: one.requestedAt, expires_at: one.expiresAt,
  retention_until: one.retentionUntil, recipient_commitment: one.recipientCommitment, consent_references: one.consentReferences,
  artifact_references: one.artifactReferences, request_id: one.requestId, intent: one.intent, intent_hash: one.intentHash,
  sms_print: one.recipient.smsPrint, email_print: one.recipient.emailPrint, presumed: arrayText(one.presumed), throttles: one.throttles ? throttleRows(one.throttles) : null,
});

/** What the first append destroys already, for it is refused or nobody can be reached, is never written: only that it was there. */
const boxColumns = ({ rows }: Append, part: PayloadPart, { sealed, goneAt }: { sealed: SealedBox; goneAt: string }) => {
  const gone = rows.destroyed.find((one) => one.part === part);
  return gone ? { key_id: null, box: null, [goneAt]: gone.at } : { key_id: sealed.keyId, box: sealed.box, [goneAt]: null };
};

const partRows = ({ append, variables, secrets, precondition = null }: NewNotification) =>
  ([['variables', variables], ['secrets', secrets], ['precondition', precondition]] as const).flatMap(([part, sealed]) =>
    (sealed === null ? [] : [{ event_id: append.eventId, part, ...boxColumns(append, part, { sealed, goneAt: 'destroyed_at' }) }]));

const recipientRow = ({ append, recipient: r }: NewNotification) => ({
  event_id: append.eventId, reference_print: r.referencePrint, sms_print: r.smsPrint, email_print: r.emailPrint, ...boxColumns(append, 'addresses', { sealed: r, goneAt: 'erased_at' }),
});

const ticketRows = ({ append, ticket, requestedAt, retentionUntil }: NewNotification) => (ticket === null ? [] : [{
  event_id: append.eventId, category: ticket.category, region: ticket.region, locale: ticket.locale, queue: ticket.queue, urgency: ticket.urgency,
  received_at: toTimestamp(requestedAt), retention_until: toTimestamp(retentionUntil), receipt_token_hash: toHexBytes(ticket.receiptTokenHash),
  key_id: ticket.keyId, box: toHexBytes(ticket.box),
}]);

/** The destination of a start stands in no row yet. */
const startRows = ({ append, tenant, recipient }: NewNotification) => append.rows.starts.map((start) => {
  const print = start['channel'] === 'sms' ? recipient.smsPrint : recipient.emailPrint;
  return { ...start, tenant, print: print && toHexBytes(print) };
});

const linkRows = ({ append, reportLinks = [] }: NewNotification) => reportLinks.map(({ tokenHash, channel, artifactId, expiresAt }) => ({
  token_hash: toHexBytes(tokenHash), event_id: append.eventId, artifact_id: artifactId, channel, expires_at: toTimestamp(expiresAt),
}));

const acceptGroup = async (db: Database, group: NewNotification[]): Promise<Accepted[]> => {
  const appends = group.map((one) => one.append);
  const starts = group.flatMap(startRows);
  const rare = { ...rareRows(appends), starts, tickets: group.flatMap(ticketRows), links: group.flatMap(linkRows) };
  const hasRare = rare.dead_letters.length + rare.tickets.length + rare.links.length > 0;
  const won = await db.query<{ event_id: string }>(starts.length === 0 ? ACCEPT_ALL : hasRare ? ACCEPT_ALL_STARTED : ACCEPT_STARTED, [JSON.stringify(rare), ...ROWS.values({
    ...commonRows(appends), notifications: group.map(notificationRow), recipients: group.map(recipientRow), payloads: group.flatMap(partRows),
  })]);
  const ids = new Set(won.map((row) => row.event_id));
  const lost = group.filter((one) => !ids.has(one.append.eventId));
  const existing = lost.length === 0 ? [] : await findByKey(db, lost);
  const accepted = group.map((one): Accepted | null => (ids.has(one.append.eventId) ? { kind: 'accepted' } : existingFor(existing, one)));
  const barred = group.filter((_, index) => accepted[index] === null);
  const suppressed = barred.length === 0 ? [] : await suppressedFor(db, barred);
  return group.map((one, index) => accepted[index] ?? { kind: 'suppressed', suppressed: suppressed[barred.indexOf(one)] ?? [] });
};

interface Existing { tenant: string; idempotency_key: string; event_id: string; request_fingerprint: Buffer }

const findByKey = (db: Database, keys: readonly { tenant: string; idempotencyKey: string }[]): Promise<Existing[]> =>
  db.query<Existing>(EXISTING, [keys.map((key) => key.tenant), keys.map((key) => key.idempotencyKey)]);

const suppressedFor = async (db: Database, group: readonly NewNotification[]): Promise<string[][]> => {
  const bytes = (print: Uint8Array | null): Buffer | null => print && Buffer.from(print);
  const rows = await db.query<{ suppressed: string[] }>(SUPPRESSED, [
    group.map((one) => one.tenant), group.map(({ recipient }) => bytes(recipient.smsPrint)), group.map(({ recipient }) => bytes(recipient.emailPrint)),
    group.map((one) => one.purpose), group.map(({ throttles = [] }) => JSON.stringify(throttleRows(throttles))),
  ]);
  return rows.map((row) => row.suppressed);
};

const existingFor = (existing: Existing[], one: { tenant: string; idempotencyKey: string }): Accepted | null => {
  const row = existing.find((each) => each.tenant === one.tenant && each.idempotency_key === one.idempotencyKey);
  return row === undefined ? null : { kind: 'exists', eventId: row.event_id, requestFingerprint: row.request_fingerprint };
};

/** What stands under an idempotency key of a tenant; null where nothing does. */
export const findByIdempotencyKey = async (db: Database, tenant: string, idempotencyKey: string): Promise<{ eventId: string; requestFingerprint: Buffer } | null> => {
  const [row] = await findByKey(db, [{ tenant, idempotencyKey }]);
  return row ? { eventId: row.event_id, requestFingerprint: row.request_fingerprint } : null;
};

/**
 * The grouped acceptor of a process: notification, first entries, sealed payload, ticket and outbox rows in one transaction,
 * or nothing of them. Where the answer is lost with the connection, the caller's own retry under the same key finds out.
 */
export const createAcceptor = (db: Database, metrics: Metrics): ((one: NewNotification) => Promise<Accepted>) => groupCalls<NewNotification, Accepted>({
  run: (group) => {
    metrics.groupSize.observe({ statement: 'accept' }, group.length);
    return acceptGroup(db, group);
  },
  keyOf: (one) => `${one.tenant} ${one.idempotencyKey}`,
  maxGroup: 100,
  // While one group waits for its flush to disk the next one is worked on.
  lanes: 2,
  paceMs: PACE_MS,
  retryAlone: (error) => !isDatabaseAway(error),
});
