import { z } from 'zod';
import type { Channel } from '../../shared/domain/words.ts';
import { isTimeZone } from '../../shared/content/time-zones.ts';
import { normaliseEmail, normalisePhone } from '../../shared/content/address.ts';
import type { ConsentReference } from '../../shared/delivery/accept-notification.ts';
import type { Cures } from './faults.ts';
import { freeText, localeField, oneLine, readAs, readFields, regionField } from './faults.ts';
import { faultyFields } from './problem.ts';

/** An intent as the API takes it, checked and normalised. Plain JSON: two equal ones are the same request. */
export interface NotificationFields {
  purpose: string;
  recipient: { ref: string; sms: string | null; email: string | null; region: string; locale: string; timeZone: string | null; consent: ConsentReference[] };
  variables: Record<string, string>;
  expiresAt: number | null;
  /** Absent where none was given, so that requests of before it existed stay the same request. */
  preconditionUrl?: string;
  /** Absent where there are none, as in requests from before they were taken: their fingerprints must not change. */
  artifacts?: string[];
}

const BASIS = '[a-z][a-z0-9_]{0,63}';

const CONSENT_TEXT = new RegExp(`^(sms|email):(${BASIS})$`);

const consentFromText = (text: string): ConsentReference | null => {
  const match = CONSENT_TEXT.exec(text);
  // Where a caller names no record of its own, the request itself is the record.
  return match ? { channel: match[1] as Channel, basis: match[2] as string, reference: 'request' } : null;
};

const consent = z.union([
  readAs(consentFromText, 'is not of the form channel:basis'),
  z.strictObject({ channel: z.enum(['sms', 'email']), basis: z.string().regex(new RegExp(`^${BASIS}$`)), reference: oneLine(200) }),
], { error: 'is no consent' });

/** The body of `POST /notifications`. */
export const notificationSchema = z.strictObject({
  purpose: z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, 'is not the name of a purpose'),
  recipient: z.strictObject({
    ref: oneLine(200),
    sms: readAs(normalisePhone, 'is not a valid phone number').nullish(),
    email: readAs(normaliseEmail, 'is not a valid email address').nullish(),
    region: regionField,
    locale: localeField,
    time_zone: z.string().refine(isTimeZone, 'is not a known time zone').nullish(),
    consent: z.array(consent).max(20, 'has more than 20 entries').default([]),
  }),
  subject: oneLine(200).nullish(),
  variables: z.record(z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'has a name that cannot be'), freeText(20_000)).default({}),
  artifacts: z.array(z.string().regex(/^art_[0-9A-HJKMNP-TV-Z]{26}$/, 'is not an artifact')).max(1, 'has more than one entry').default([]),
  expires_at: z.iso.datetime({ offset: true, error: 'is not an instant with its offset' }).nullish(),
  precondition_url: z.string().max(2_000, 'has more than 2,000 characters').nullish(),
});

export const NOTIFICATION_CURES: Cures = {
  purpose: 'name a purpose of this deployment, such as game-support-urgent',
  recipient: 'give an object with ref, region, locale and at least one of sms and email',
  'recipient.ref': 'give your own id of the recipient in at most 200 visible characters',
  'recipient.sms': 'write the number with + and country code, such as +12025550123, or leave it out',
  'recipient.email': 'write an address such as name@example.com, or leave it out',
  'recipient.region': 'give two capital letters, such as US or EU',
  'recipient.locale': 'give a BCP 47 tag, such as en-US or de',
  'recipient.time_zone': 'give an IANA name, such as Europe/Berlin, or leave it out',
  'recipient.consent': 'give a list such as ["sms:consent", "email:contract"]',
  'recipient.consent.*': 'write it as "sms:consent", or as {"channel", "basis", "reference"}',
  subject: 'give one line of at most 200 characters, or leave it out',
  variables: 'give an object of names and texts',
  'variables.*': 'give a text of at most 20,000 characters, under a name of letters, digits and underscores',
  artifacts: 'give a list of the one report, or leave it out',
  'artifacts.*': 'give the artifact that POST /artifacts answered with',
  expires_at: 'write it as 2026-11-29T18:30:00Z or with an offset, or leave it out',
  precondition_url: 'give an https URL of an origin that may be asked, or leave it out',
};

const LONGEST_EXPIRY_DAYS = 400;
const DAY_MS = 86_400_000;

/** The expiry never moves, and until it comes the notification is work: a slip in the year must not make it so for a century. */
const expiryOf = (text: string | null | undefined, now: number): number | null => {
  if (!text) return null;
  const at = Date.parse(text);
  if (at - now <= LONGEST_EXPIRY_DAYS * DAY_MS) return at;
  throw faultyFields([{ field: 'expires_at', problem: `is more than ${LONGEST_EXPIRY_DAYS} days away`, cure: 'give an earlier instant, or leave it out' }], 'expiry_too_long', 422);
};

/** Consents are a set: in another order they are the same request. */
const sorted = (consents: ConsentReference[]): ConsentReference[] => {
  if (consents.length < 2) return consents;
  const textOf = ({ channel, basis, reference }: ConsentReference): string => JSON.stringify([channel, basis, reference]);
  return consents.toSorted((one, other) => (textOf(one) < textOf(other) ? -1 : 1));
};

/** Reads the body of `POST /notifications`. @throws Problem 400 naming the faults; 422 for what is not supported, or expires after more than 400 days. */
export const readNotificationFields = (body: unknown, now: number): NotificationFields => {
  const { recipient, ...read } = readFields(notificationSchema, body, NOTIFICATION_CURES);
  const sms = recipient.sms ?? null;
  const email = recipient.email ?? null;
  if (sms === null && email === null) throw faultyFields([{ field: 'recipient', problem: 'has no address', cure: 'give sms, email or both' }], 'no_address');
  return {
    purpose: read.purpose,
    recipient: { ref: recipient.ref, sms, email, region: recipient.region, locale: recipient.locale, timeZone: recipient.time_zone ?? null, consent: sorted(recipient.consent) },
    variables: read.subject ? { ...read.variables, subject: read.subject } : read.variables,
    expiresAt: expiryOf(read.expires_at, now),
    ...(read.precondition_url ? { preconditionUrl: read.precondition_url } : {}),
    ...(read.artifacts.length > 0 ? { artifacts: read.artifacts } : {}),
  };
};
