import type { ReasonCode } from '../../domain/reasons.ts';
import type { Outcome } from '../../domain/words.ts';

export interface ReportMeaning { outcome: Outcome; reason: ReasonCode | null }

export interface ReportRow extends ReportMeaning {
  /** The Action field (RFC 3464, 2.3.3), in lower case. */
  action: string;
  /** Status code (RFC 3463), or its beginning; whole parts only. */
  status?: string;
}

/**
 * What a delivery report says of its message; the first row that fits counts (source: docs/providers.md, Status mapping; RFC 3464 and 3463).
 * The action decides, the status only says why: *delayed* is no bounce, whatever its status.
 */
export const REPORT_ROWS: readonly ReportRow[] = [
  { action: 'failed', status: '5.1.7', outcome: 'undelivered', reason: 'refused_by_provider' },
  { action: 'failed', status: '5.1.8', outcome: 'undelivered', reason: 'refused_by_provider' },
  { action: 'failed', status: '5.1', outcome: 'undelivered', reason: 'invalid_destination' },
  { action: 'failed', status: '5.6', outcome: 'undelivered', reason: 'content_refused' },
  { action: 'failed', status: '5.7.1', outcome: 'undelivered', reason: 'refused_by_provider' },
  { action: 'failed', status: '5.7', outcome: 'undelivered', reason: 'content_refused' },
  // given up after trying for as long as that server does
  { action: 'failed', status: '4', outcome: 'undelivered', reason: 'message_expired_at_provider' },
  { action: 'failed', outcome: 'undelivered', reason: 'carrier_failed' },
  { action: 'delayed', outcome: 'accepted', reason: null },
  { action: 'delivered', outcome: 'delivered', reason: null },
  // passed on to where no report comes from
  { action: 'relayed', outcome: 'accepted', reason: 'no_longer_updated' },
  { action: 'expanded', outcome: 'accepted', reason: 'no_longer_updated' },
];

const NOT_RECOGNISED: ReportMeaning = { outcome: 'unknown', reason: 'status_not_recognised' };

/** The meaning of an action with its status, as `5.1.1`; another action than those of the standard is kept as not recognised. */
export const meaningOfReport = (action: string, status: string | null): ReportMeaning => {
  const row = REPORT_ROWS.find((one) => one.action === action.toLowerCase() && (one.status === undefined || (status !== null && `${status}.`.startsWith(`${one.status}.`))));
  return row ? { outcome: row.outcome, reason: row.reason } : NOT_RECOGNISED;
};
