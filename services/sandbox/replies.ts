import type { Receipt } from './inbox.ts';
import { NOTHING_SPECIAL } from './script.ts';
import { newBatchId, newMessageId } from './submission.ts';
import { segmentsOf } from './segments.ts';

/** A text that somebody sent back to a sender. The stand-ins name it each in its own way. */
export interface Reply { twilioId: string; sinchId: string; from: string; to: string; text: string; at: number }

export interface Replies {
  /** `at`: when it was texted, where it shows only now. */
  add: (reply: { from: string; to: string; text: string; at?: number }) => Reply;
  /** The oldest first. */
  all: () => readonly Reply[];
  clear: () => void;
}

/** What was texted back. Kept in memory: whoever reads it has read it long before a restart. */
export const createReplies = (now: () => number): Replies => {
  let replies: Reply[] = [];
  return {
    add: ({ from, to, text, at = now() }) => {
      const reply = { twilioId: newMessageId('SM'), sinchId: newBatchId(), from, to, text, at };
      replies = [...replies, reply].sort((one, other) => one.at - other.at);
      return reply;
    },
    all: () => replies,
    clear: () => { replies = []; },
  };
};

/** A reply as a listing of messages holds it among those that were sent. */
export const INBOUND = 'inbound';
export const asReceipt = ({ twilioId, from, to, text, at }: Reply): Receipt => ({
  kind: 'accepted', id: twilioId, channel: 'sms', to, from, messagingServiceSid: null, body: text, subject: null, text: null, html: null, headers: {}, attemptKey: null,
  receivedAt: at, behaviour: INBOUND, code: null, segments: segmentsOf(text), contentSha256: '', fate: { ...NOTHING_SPECIAL, events: [{ status: 'received', afterMs: 0, errorCode: null }] },
});

/** One page of what was sent to a number, the newest first, as the batches API of Sinch lists it: of the last 24 hours unless a start is given. */
export const sinchInbounds = (replies: readonly Reply[], query: Record<string, string>, now: number): Record<string, unknown> => {
  const pageSize = Math.min(Math.max(Math.trunc(Number(query.page_size)) || 30, 1), 100);
  const page = Math.max(Math.trunc(Number(query.page)) || 0, 0);
  const since = query.start_date === undefined ? now - 86_400_000 : Date.parse(query.start_date);
  const until = query.end_date === undefined ? Infinity : Date.parse(query.end_date);
  const digits = (number: string): string => number.replace(/^\+/, '');
  const wanted = query.to?.split(',').map(digits);
  const matches = replies.filter(({ to, at }) => at >= since && at < until && (wanted === undefined || wanted.includes(digits(to)))).reverse();
  const inbounds = matches.slice(page * pageSize, (page + 1) * pageSize).map(({ sinchId, from, to, text, at }) =>
    ({ type: 'mo_text', id: sinchId, from: digits(from), to: digits(to), body: text, sent_at: new Date(at).toISOString(), received_at: new Date(at).toISOString() }));
  return { count: matches.length, page, page_size: inbounds.length, inbounds };
};
