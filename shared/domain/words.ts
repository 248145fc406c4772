/**
 * The words of the field as types. Instants are integers, milliseconds since the Unix epoch, and end in `At`; durations
 * are milliseconds and end in `Ms`. Everything here is plain JSON, so that a state can be stored and compared as it is.
 */

/** Milliseconds since the Unix epoch. */
export type Instant = number;

export const CHANNELS = ['sms', 'email'] as const;
export type Channel = (typeof CHANNELS)[number];

/** `evt_` + ULID. */
export type EventId = string;
/** What an event id looks like. */
export const EVENT_ID = /^evt_[0-9A-HJKMNP-TV-Z]{26}$/;
/** `evt_….sms.1`: event id, channel, sequence. Goes to the provider unchanged on every transport retry. */
export type AttemptKey = string;

/** Builds the attempt key of (event, channel, sequence). */
export const attemptKeyOf = (eventId: EventId, channel: Channel, sequence: number): AttemptKey => `${eventId}.${channel}.${sequence}`;

export interface AttemptKeyParts { eventId: EventId; channel: Channel; sequence: number }

/** Reads an attempt key; null where the text is not one. */
export const parseAttemptKey = (key: string): AttemptKeyParts | null => {
  const match = /^(evt_[0-9A-HJKMNP-TV-Z]{26})\.(sms|email)\.([1-9]\d*)$/.exec(key);
  return match ? { eventId: match[1] as string, channel: match[2] as Channel, sequence: Number(match[3]) } : null;
};

/**
 * The eight characters of an attempt key that a text carries as `{{ref}}`, for look-ups in a provider's listing: six of the
 * event id's random part, then channel letter and sequence in base 36.
 */
export const referenceOf = (key: AttemptKey): string => {
  const parts = parseAttemptKey(key);
  if (!parts) throw new Error('not an attempt key');
  return `${parts.eventId.slice(-6)}${parts.channel === 'sms' ? 'S' : 'E'}${(parts.sequence % 36).toString(36).toUpperCase()}`;
};

export type AttemptStateName =
  | 'planned' | 'queued' | 'submitting' | 'submitted' | 'submitted_unknown' | 'delivered' | 'undelivered' | 'rejected'
  | 'suppressed' | 'render_failed' | 'dead_lettered' | 'expired' | 'cancelled' | 'shadowed';

/**
 * A part of a payload, sealed by itself and with a lifetime of its own: secret variables, the other variables, where the recipient is reached, and
 * where the origin system is asked.
 */
export type PayloadPart = 'secrets' | 'variables' | 'addresses' | 'precondition';

/** Whom a notification told, and who wrote the ticket that caused it: either may ask to be erased, and the other one stays. */
export type ErasedPerson = 'recipient' | 'player';

/** What is known of an attempt's fate, normalized over all providers. `unknown` means no evidence. */
export type Outcome = 'pending' | 'accepted' | 'delivered' | 'undelivered' | 'rejected' | 'suppressed' | 'unknown';

export type PublicStatus =
  | 'accepted' | 'in_progress' | 'sent' | 'delivered' | 'partially_delivered' | 'undelivered' | 'unknown' | 'expired'
  | 'closed' | 'suppressed' | 'policy_rejected' | 'shadowed';

/** A message as it goes to a provider, byte for byte. Its hash is fixed when the attempt is planned. */
export type RenderedMessage =
  /** With `providerTemplate` the provider makes the text, out of its template of that id; `text` is our copy of what comes of it. */
  | { channel: 'sms'; to: string; from: string; text: string; providerTemplate?: { id: string; variables: Record<string, string> } }
  /** `mime` is the whole RFC 5322 message with CRLF line ends, deterministic in attempt key and planned_at. */
  | { channel: 'email'; to: string; from: string; mime: string; attachments?: MessageAttachment[] };

/**
 * A part of a message that is named and not held: the base64 of that artifact's bytes stands at `at` in `mime`, in lines of 76 characters
 * without a line end after the last one. Its checksum is part of the message, and so of the message's hash.
 */
export interface MessageAttachment {
  artifact: string;
  /** Of the plain bytes, hex. */
  sha256: string;
  bytes: number;
  /** Index into `mime`, of which nothing is replaced. */
  at: number;
}
