import { readFate } from './fate.ts';
import type { Inbox, ReceivedAttachment, Receipt } from './inbox.ts';

/** A received message as `GET /messages` shows it. */
export interface MessageView {
  id: string;
  channel: 'sms' | 'email';
  to: string;
  from: string | null;
  body: string | null;
  subject: string | null;
  text: string | null;
  html: string | null;
  headers: Record<string, string>;
  attempt_key: string | null;
  received_at: string;
  /** What a status read answers now; `refused` for a submission that was not accepted. */
  status: string;
  error_code: number | null;
  behaviour: string;
  segments: number | null;
  content_sha256: string;
  attachments?: ReceivedAttachment[];
  /** Submissions seen with this attempt key, accepted or refused. */
  submission_count: number;
  /** Accepted messages with this attempt key; above 1 is a duplicate. */
  accepted_count: number;
  /** Accepted messages of this event on this channel, over all sequences. */
  event_channel_count: number;
}

export interface MessageFilter { to?: string | undefined; attemptKey?: string | undefined; limit?: number | undefined }

export interface Counts { accepted: number; refused: number; sms: number; email: number; attempt_keys: number; duplicate_attempt_keys: number; duplicate_events: number }

const viewOf = (receipt: Receipt, inbox: Inbox, now: number): MessageView => {
  const event = receipt.kind === 'accepted' ? readFate(receipt, now).event : null;
  const key = receipt.attemptKey;
  return {
    id: receipt.id, channel: receipt.channel, to: receipt.to, from: receipt.from, body: receipt.body, subject: receipt.subject,
    text: receipt.text, html: receipt.html, headers: receipt.headers, attempt_key: key, received_at: new Date(receipt.receivedAt).toISOString(),
    status: event?.status ?? 'refused', error_code: event ? event.errorCode : receipt.code, behaviour: receipt.behaviour,
    segments: receipt.segments, content_sha256: receipt.contentSha256, ...(receipt.attachments ? { attachments: receipt.attachments } : {}),
    submission_count: key ? inbox.submissionCount(key) : 1,
    accepted_count: key ? inbox.acceptedCount(key) : 1,
    event_channel_count: key ? inbox.eventCount(key) : 1,
  };
};

/** The receipts that match, newest first, as they stand at `now`. */
export const viewsOf = (kind: Receipt['kind'], inbox: Inbox, filter: MessageFilter, now: number): MessageView[] => {
  const all = kind === 'refused' ? inbox.refused() : filter.to === undefined ? inbox.accepted() : inbox.acceptedTo(filter.to);
  const to = filter.to?.toLowerCase();
  const views: MessageView[] = [];
  for (let index = all.length - 1; index >= 0 && views.length < (filter.limit ?? Infinity); index -= 1) {
    const receipt = all[index] as Receipt;
    if (to !== undefined && receipt.to.toLowerCase() !== to) continue;
    if (filter.attemptKey !== undefined && receipt.attemptKey !== filter.attemptKey) continue;
    views.push(viewOf(receipt, inbox, now));
  }
  return views;
};

/** Totals over everything received since the last clearing. */
export const countsOf = (inbox: Inbox): Counts => {
  const accepted = inbox.accepted();
  const sms = accepted.reduce((count, receipt) => count + (receipt.channel === 'sms' ? 1 : 0), 0);
  return {
    accepted: accepted.length, refused: inbox.refused().length, sms, email: accepted.length - sms, attempt_keys: inbox.attemptKeys(),
    duplicate_attempt_keys: inbox.duplicates().length, duplicate_events: inbox.duplicateEvents().length,
  };
};
