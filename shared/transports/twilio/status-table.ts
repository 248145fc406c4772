import type { ReasonCode } from '../../domain/reasons.ts';
import type { Instant, Outcome } from '../../domain/words.ts';
import { meaningOfCode } from './error-table.ts';
import type { MessageResource } from './message-resource.ts';

export interface StatusMeaning { outcome: Outcome; reason: ReasonCode | null }

/** After this long in `sent` the provider hardly ever says more (docs/providers.md). */
const NO_MORE_NEWS_AFTER_MS = 72 * 3_600_000;

/**
 * Twilio's statuses of an outbound message (source: docs/providers.md, Status mapping). `null`: a status that only inbound
 * messages have, so the answer is about something else.
 */
export const TWILIO_STATUSES: Readonly<Record<string, StatusMeaning | null>> = {
  accepted: { outcome: 'pending', reason: null },
  scheduled: { outcome: 'pending', reason: null },
  queued: { outcome: 'pending', reason: null },
  sending: { outcome: 'pending', reason: null },
  // handed to the carrier; may stay so for ever
  sent: { outcome: 'accepted', reason: null },
  delivered: { outcome: 'delivered', reason: null },
  read: { outcome: 'delivered', reason: null },
  undelivered: { outcome: 'undelivered', reason: 'carrier_failed' },
  failed: { outcome: 'rejected', reason: 'refused_by_provider' },
  canceled: { outcome: 'rejected', reason: 'cancelled_at_provider' },
  partially_delivered: { outcome: 'unknown', reason: null },
  receiving: null,
  received: null,
};

const NOT_RECOGNISED: StatusMeaning = { outcome: 'unknown', reason: 'status_not_recognised' };

const isOver = (outcome: Outcome): boolean => outcome === 'undelivered' || outcome === 'rejected';

/**
 * What a message resource says about its message: error 21610 means suppressed in any state, the error code of a failure gives
 * the more precise reason.
 *
 * @returns null where the answer cannot be about an outbound message
 */
export const meaningOfMessage = (message: MessageResource, now: Instant): StatusMeaning | null => {
  const error = meaningOfCode(message.errorCode);
  if (error?.class === 'suppressed') return { outcome: 'suppressed', reason: error.reason };
  const row = Object.hasOwn(TWILIO_STATUSES, message.status) ? TWILIO_STATUSES[message.status] : NOT_RECOGNISED;
  if (!row) return null;
  if (isOver(row.outcome)) return { outcome: row.outcome, reason: error?.reason ?? row.reason };
  const sentLongAgo = row.outcome === 'accepted' && message.sentAt !== null && now - message.sentAt > NO_MORE_NEWS_AFTER_MS;
  return sentLongAgo ? { outcome: row.outcome, reason: 'no_longer_updated' } : row;
};
