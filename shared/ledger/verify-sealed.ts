import type { NotificationState } from '../domain/state.ts';
import { commitTo } from '../security/commitment.ts';
import { fingerprint } from '../security/fingerprint.ts';
import type { KeyRing } from '../security/key-ring.ts';
import { open, SealError } from '../security/sealing.ts';
import type { Faults } from './verify-fault.ts';

/** The recipient of a notification as its row holds it: sealed, and the prints by which it is found. */
export interface RecipientRow { event_id: string; key_id: string | null; box: Buffer | null; reference_print: Buffer | null; sms_print: Buffer | null; email_print: Buffer | null }
/** A part of a payload: whether its box is still there. */
export interface SealedPartRow { event_id: string; part: string; kept: boolean }

interface Sealed { recipient: RecipientRow | null; parts: readonly SealedPartRow[] }
interface Around { commitment: string; ring: KeyRing | null; faults: Faults }

/** What of a sealed recipient the intent is committed to, and its salt. */
interface Recipient { ref: string; sms: string | null; email: string | null; salt: string }

/** As the rows were written: which key of the ring was the oldest then is not known. */
const isPrint = (ring: KeyRing, print: Buffer | null, { kind, text }: { kind: string; text: string | null }): boolean =>
  (text === null ? print === null : print !== null && ring.keys.some((key) => fingerprint({ keys: [key] }, kind, text).equals(print)));

const openRecipient = (eventId: string, row: RecipientRow & { key_id: string; box: Buffer }, ring: KeyRing): Recipient | null => {
  try {
    return JSON.parse(open(ring, { keyId: row.key_id, box: row.box }, `${eventId}/recipient`).toString('utf8')) as Recipient;
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
};

const checkRecipient = (eventId: string, row: RecipientRow, { commitment, ring, faults }: Around): void => {
  const { key_id: keyId, box } = row;
  // A key that is not at hand proves nothing either way; `doctor` tells of it.
  if (box === null || keyId === null || !ring?.keys.some(({ id }) => id === keyId)) return;
  const recipient = openRecipient(eventId, { ...row, key_id: keyId, box }, ring);
  if (recipient === null) {
    faults.add({ eventId }, 'recipient.box', 'does not open: it was changed, or sealed for something else');
    return;
  }
  const { ref, sms, email, salt } = recipient;
  if (commitTo({ ref, sms, email }, salt) !== commitment) faults.add({ eventId }, 'recipient.box', 'is not the recipient that the intent is committed to');
  const prints = { reference_print: { kind: 'recipient-ref', text: ref }, sms_print: { kind: 'sms', text: sms }, email_print: { kind: 'email', text: email?.toLowerCase() ?? null } } as const;
  for (const [column, of] of Object.entries(prints)) {
    if (!isPrint(ring, row[column as keyof typeof prints], of)) faults.add({ eventId }, `recipient.${column}`, 'is not the print of the sealed recipient: a suppression or an erasure would miss it');
  }
};

/**
 * Holds what is sealed beside the entries against them: a part is there until an entry says that it was destroyed, and not after it; the
 * recipient is the one that the intent is committed to. Of notifications from before parts were kept apart only the recipient is checked.
 */
export const checkSealed = (eventId: string, { recipient, parts }: Sealed, { state, ...around }: Around & { state: NotificationState | null }): void => {
  if (recipient) checkRecipient(eventId, recipient, around);
  const payload = state?.payload;
  if (!payload) return;
  const kept = new Map<string, boolean>(parts.map((row) => [row.part, row.kept]));
  if (recipient) kept.set('addresses', recipient.box !== null);
  for (const part of payload.parts) {
    const column = part === 'addresses' ? 'recipient.box' : 'sealed_payload.box';
    if (payload.destroyed[part] === undefined && kept.get(part) !== true) around.faults.add({ eventId }, column, `${part} are gone, and no entry says that they were destroyed`);
    if (payload.destroyed[part] !== undefined && kept.get(part) === true) around.faults.add({ eventId }, column, `${part} are still there, and an entry says that they were destroyed`);
  }
};
