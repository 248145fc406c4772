import type { Json } from '../http/answer.ts';
import { inboundIdOf } from '../http/answer.ts';
import { notUnderstood } from '../http/read.ts';
import type { InboundMessage, InboundReading, InboundRequest } from '../transport.ts';
import type { TwilioApi } from './api.ts';
import { messageOf } from './message-resource.ts';
import { read } from './read.ts';

const PAGE_SIZE = 100;
/** A page of hundred messages of ten segments with every character escaped stays below this. */
const MAX_PAGE_BYTES = 2 * 1024 * 1024;

/** One page of what was sent to our number, the newest first; the whole listing where our sender is a messaging service, which it cannot be filtered by. */
export const readInbound = async (api: TwilioApi, { to, since, page }: InboundRequest): Promise<InboundReading> => {
  const ours = (message: { to: string | null; messagingServiceSid: string | null }): boolean => message.to === to || message.messagingServiceSid === to;
  const url = page === null ? api.inboundUrl({ to, sentSince: new Date(since).toISOString().replace(/\.\d+Z$/, 'Z'), pageSize: PAGE_SIZE }) : api.nextPageUrl(page);
  if (!url) return { kind: 'read_failed', reason: 'answer_not_understood', retryAfterMs: null };
  const outcome = await read(api, url, { limitMs: api.timeoutMs, maxBodyBytes: MAX_PAGE_BYTES });
  if (outcome.kind === 'not_found') return { kind: 'read_failed', reason: 'not_found', retryAfterMs: null };
  if (outcome.kind !== 'read') return { kind: 'read_failed', reason: outcome.reason, retryAfterMs: outcome.retryAfterMs };
  const { messages: listed, next_page_uri: next } = outcome.json;
  if (!Array.isArray(listed)) return { kind: 'read_failed', reason: notUnderstood(outcome.answer).reason, retryAfterMs: null };
  const all = listed.flatMap((value) => {
    const message = messageOf(value);
    return message ? [{ ...message, id: inboundIdOf((value as Json).sid) }] : [];
  });
  const messages = all.flatMap((message): InboundMessage[] => {
    const receivedAt = message.sentAt ?? message.createdAt;
    return message.direction === 'inbound' && ours(message) && message.id && message.from && message.body !== null && receivedAt !== null
      ? [{ id: message.id, from: message.from, text: message.body, receivedAt }] : [];
  });
  // The filter may be by whole days: behind the first message that is too old come only older ones.
  const ends = all.some(({ sentAt, createdAt }) => (sentAt ?? createdAt ?? since) < since - 1_000);
  return { kind: 'read', messages, next: typeof next === 'string' && next !== '' && !ends ? next : null };
};
