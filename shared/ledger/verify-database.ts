import type { KeyRing } from '../security/key-ring.ts';
import type { Asker } from './checkpoint-read.ts';
import type { Database } from './database.ts';
import { checkEvent } from './verify-event.ts';
import type { EventCheck } from './verify-event.ts';
import type { Faults } from './verify-fault.ts';
import { checkIntentColumns, checkIntentText } from './verify-intent.ts';
import type { IntentRow } from './verify-intent.ts';
import { checkMaterialized } from './verify-materialized.ts';
import type { AttemptRow, StateRow } from './verify-materialized.ts';
import { readAttempts, readIntents, readRecipients, readSealedParts, readStates, streamEntries } from './verify-rows.ts';
import type { Range } from './verify-rows.ts';
import { checkSealed } from './verify-sealed.ts';
import type { RecipientRow, SealedPartRow } from './verify-sealed.ts';

/** Notifications checked in one snapshot: a few, so that a long verification holds back no vacuum. */
const PAGE = 200;

export interface Counts { notifications: number; entries: number }
export interface VerifyOptions { faults: Faults; ring: KeyRing | null; onProgress?: (counts: Counts) => void }

/** One consistent look that writes nothing. */
export const inSnapshot = async <Result>(db: Database, work: (asker: Asker) => Promise<Result>): Promise<Result> => {
  const client = await db.pool.connect();
  let broken = true;
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const result = await work(client);
    await client.query('COMMIT');
    broken = false;
    return result;
  } finally {
    client.release(broken);
  }
};

interface Page { intents: Map<string, IntentRow>; states: Map<string, StateRow>; attempts: Map<string, AttemptRow[]>; recipients: Map<string, RecipientRow>; parts: Map<string, SealedPartRow[]> }

const grouped = <Row extends { event_id: string }>(rows: readonly Row[]): Map<string, Row[]> => {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.event_id, [...(groups.get(row.event_id) ?? []), row]);
  return groups;
};
const byEvent = <Row extends { event_id: string }>(rows: readonly Row[]): Map<string, Row> => new Map(rows.map((row) => [row.event_id, row]));

const beginEvent = (eventId: string, page: Page, { faults, ring }: VerifyOptions): EventCheck => {
  const intent = page.intents.get(eventId);
  if (!intent) return checkEvent(eventId, null, faults);
  const text = checkIntentText(eventId, { intent: intent.intent, intentHash: intent.intent_hash }, faults);
  if (text) checkIntentColumns(intent, text, { faults, ring });
  return checkEvent(eventId, intent.intent_hash, faults);
};

/** Checks every event of a range. Events without entries, and whatever stands beside no notification, count as well. */
const verifyRange = async (asker: Asker, range: Range & { intents: IntentRow[] }, options: VerifyOptions): Promise<number> => {
  const page: Page = {
    intents: byEvent(range.intents), states: byEvent(await readStates(asker, range)), attempts: grouped(await readAttempts(asker, range)),
    recipients: byEvent(await readRecipients(asker, range)), parts: grouped(await readSealedParts(asker, range)),
  };
  const unseen = new Set([...page.intents.keys(), ...page.states.keys(), ...page.attempts.keys()]);
  let entries = 0;
  let current = null as { eventId: string; check: EventCheck } | null;
  const end = (eventId: string, check: EventCheck): void => {
    unseen.delete(eventId);
    const folded = check.end();
    const { faults, ring } = options;
    checkMaterialized(eventId, folded, { state: page.states.get(eventId) ?? null, attempts: page.attempts.get(eventId) ?? [], faults });
    const intent = page.intents.get(eventId);
    if (intent) checkSealed(eventId, { recipient: page.recipients.get(eventId) ?? null, parts: page.parts.get(eventId) ?? [] }, { state: folded.state, commitment: intent.recipient_commitment, ring, faults });
  };
  for await (const row of streamEntries(asker, range)) {
    if (current?.eventId !== row.event_id) {
      if (current) end(current.eventId, current.check);
      current = { eventId: row.event_id, check: beginEvent(row.event_id, page, options) };
    }
    current.check.entry(row);
    entries += 1;
  }
  if (current) end(current.eventId, current.check);
  for (const eventId of [...unseen].sort()) end(eventId, beginEvent(eventId, page, options));
  return entries;
};

/** The greatest text before an event id, and the id itself: a range of one. */
const only = (eventId: string): Range => ({ after: `${eventId.slice(0, -1)}${String.fromCharCode(eventId.charCodeAt(eventId.length - 1) - 1)}\u{10FFFF}`, through: eventId });

/** Checks one notification; false where there is nothing of it. */
export const verifyNotification = (db: Database, eventId: string, options: VerifyOptions): Promise<Counts> => inSnapshot(db, async (asker) => {
  const range = only(eventId);
  const intents = (await readIntents(asker, range.after, 1)).filter((row) => row.event_id === eventId);
  return { notifications: intents.length, entries: await verifyRange(asker, { ...range, intents }, options) };
});

/** Checks all notifications, in the order of their ids, page by page. */
export const verifyNotifications = async (db: Database, options: VerifyOptions): Promise<Counts> => {
  const counts: Counts = { notifications: 0, entries: 0 };
  for (let after: string | null = ''; after !== null;) {
    const from: string = after;
    after = await inSnapshot(db, async (asker) => {
      const intents = await readIntents(asker, from, PAGE);
      const through = intents.length < PAGE ? null : intents.at(-1)?.event_id ?? null;
      counts.entries += await verifyRange(asker, { after: from, through, intents }, options);
      counts.notifications += intents.length;
      return through;
    });
    options.onProgress?.(counts);
  }
  return counts;
};
