import { domainToASCII } from 'node:url';
import type { AttemptState } from '../domain/state.ts';
import { findAttempt } from '../domain/state.ts';
import type { AttemptKey } from '../domain/words.ts';
import { parseAttemptKey } from '../domain/words.ts';
import type { DeliveryReport, ReportedRecipient } from '../transports/smtp/delivery-report.ts';
import { readingOfReport } from '../transports/smtp/delivery-report.ts';
import { decideAndAppend } from './decide-and-append.ts';
import type { Engine } from './engine.ts';
import { sealRaw } from './observe.ts';
import { addressOf } from './payload.ts';
import { untilDatabaseIsBack } from './until-database-is-back.ts';

/** What a report came to. `unmatched`: it is not, or not for certain, about a message of ours. */
export type RecordedReport = { kind: 'recorded'; attempt: AttemptKey } | { kind: 'unmatched' };

const UNMATCHED: RecordedReport = { kind: 'unmatched' };

/** The attempt key that a Message-ID of ours begins with. */
const keyIn = (messageId: string | null): AttemptKey | null => /^<([^@<>]+)@[^@<>]+>$/.exec(messageId ?? '')?.[1] ?? null;

/** The one attempt that the report names: by the envelope id, the Message-ID, or both; null where they name none, or two. */
const keyOf = ({ envelopeId, messageId }: DeliveryReport): AttemptKey | null => {
  const named = [envelopeId, keyIn(messageId)].filter((key): key is AttemptKey => key !== null && parseAttemptKey(key)?.channel === 'email');
  return named.length > 0 && named.every((key) => key === named[0]) ? named[0] as AttemptKey : null;
};

const domainOf = (mailbox: string): string => domainToASCII(/@([^@<>\s]+)>?\s*$/.exec(mailbox)?.[1] ?? '');

/** Whether the attempt is by mail, was submitted, and has the Message-ID that came back, to the letter; one that is unknown, the one that it was composed with. */
const isAbout = (attempt: AttemptState | null, { messageId }: DeliveryReport, sender: string): attempt is AttemptState =>
  attempt !== null && attempt.provider === 'smtp' && attempt.firstSubmissionAt !== null
  && (messageId === null || messageId === (attempt.providerMessageId ?? `<${attempt.key}@${domainOf(sender)}>`));

const sameMailbox = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/**
 * What it says of our recipient. A message of ours has one, so a report on a single one is about that, also where its mail is forwarded; of several, only
 * the one with our address is.
 */
const ourRecipient = ({ recipients }: DeliveryReport, to: string | null): ReportedRecipient | null =>
  (to === null ? undefined : recipients.find(({ address }) => address !== null && sameMailbox(address, to))) ?? (recipients.length === 1 ? recipients[0] ?? null : null);

/**
 * Records what a delivery report says of the attempt that it names exactly; anything else is left alone, for a bounce of another message must never end
 * one of ours. Late and repeated reports are kept and change nothing.
 */
export const recordReport = async (engine: Engine, report: DeliveryReport, { actor }: { actor: string }): Promise<RecordedReport> => {
  const key = keyOf(report);
  const parts = key === null ? null : parseAttemptKey(key);
  const loaded = parts ? await engine.load(parts.eventId) : null;
  if (!key || !parts || !loaded || !isAbout(findAttempt(loaded.state, key), report, engine.sender.email)) return UNMATCHED;
  const recipient = ourRecipient(report, addressOf(engine.ring, loaded, 'email'));
  if (!recipient) return UNMATCHED;
  const reading = readingOfReport(recipient);
  await untilDatabaseIsBack(engine, (doubts) => decideAndAppend(engine, parts.eventId, {
    doubts,
    provenance: { actor, requestId: `report-${key}-${loaded.state.version}` },
    command: () => ({ kind: 'record_status', attempt: key, reading, source: 'mailbox' }),
    enrich: sealRaw(engine, parts.eventId, reading.raw),
  }));
  return { kind: 'recorded', attempt: key };
};
