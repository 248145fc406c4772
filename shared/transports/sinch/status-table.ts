import type { ReasonCode } from '../../domain/reasons.ts';
import type { Outcome } from '../../domain/words.ts';

export interface StatusMeaning { outcome: Outcome; reason: ReasonCode | null }

/** Sinch's statuses in delivery reports (source: docs/providers.md, Status mapping). */
export const SINCH_STATUSES: Readonly<Record<string, StatusMeaning>> = {
  Queued: { outcome: 'pending', reason: null },
  // handed to the carrier; may stay so for ever
  Dispatched: { outcome: 'accepted', reason: null },
  Delivered: { outcome: 'delivered', reason: null },
  // ended before the carrier had it
  Aborted: { outcome: 'rejected', reason: 'refused_by_provider' },
  Rejected: { outcome: 'rejected', reason: 'refused_by_provider' },
  Cancelled: { outcome: 'rejected', reason: 'cancelled_at_provider' },
  Failed: { outcome: 'undelivered', reason: 'carrier_failed' },
  Expired: { outcome: 'undelivered', reason: 'message_expired_at_provider' },
  Deleted: { outcome: 'undelivered', reason: 'carrier_failed' },
  // dispatched, but the carrier's receipt never came or made no sense
  Unknown: { outcome: 'unknown', reason: null },
};

/** What a status says; the provider's list is open, so another word is kept as not recognised. */
export const meaningOfStatus = (status: string): StatusMeaning =>
  (Object.hasOwn(SINCH_STATUSES, status) ? SINCH_STATUSES[status] as StatusMeaning : { outcome: 'unknown', reason: 'status_not_recognised' });
