import type { ReasonCode } from '../../domain/reasons.ts';
import type { Outcome } from '../../domain/words.ts';

export interface StatusMeaning { outcome: Outcome; reason: ReasonCode | null }

/** What `last_event` says (source: docs/providers.md, Status mapping). Only the last event is told, so an earlier one may be missed. */
export const RESEND_EVENTS: Readonly<Record<string, StatusMeaning>> = {
  queued: { outcome: 'pending', reason: null },
  scheduled: { outcome: 'pending', reason: null },
  sent: { outcome: 'accepted', reason: null },
  delivery_delayed: { outcome: 'accepted', reason: null },
  delivered: { outcome: 'delivered', reason: null },
  // evidence of delivery, never of anything more
  opened: { outcome: 'delivered', reason: null },
  clicked: { outcome: 'delivered', reason: null },
  // it arrived, and its reader wants no more of them
  complained: { outcome: 'delivered', reason: 'opted_out' },
  bounced: { outcome: 'undelivered', reason: 'carrier_failed' },
  failed: { outcome: 'rejected', reason: 'refused_by_provider' },
  canceled: { outcome: 'rejected', reason: 'cancelled_at_provider' },
  suppressed: { outcome: 'suppressed', reason: 'opted_out' },
};

/** What an event says; a word that is not in the table is kept as not recognised. */
export const meaningOfEvent = (event: string): StatusMeaning =>
  (Object.hasOwn(RESEND_EVENTS, event) ? RESEND_EVENTS[event] as StatusMeaning : { outcome: 'unknown', reason: 'status_not_recognised' });
