import { inboundIdOf, instantOf, objectOf, textOf } from '../http/answer.ts';
import type { ReadFailed } from '../http/read.ts';
import { notUnderstood, readAnswer } from '../http/read.ts';
import type { InboundMessage, InboundReading, InboundRequest } from '../transport.ts';
import type { SinchApi } from './api.ts';
import { digitsOf } from './api.ts';
import { SINCH_ERROR_READER } from './error-table.ts';

const PAGE_SIZE = 100;
/** A page of hundred messages of 1600 characters, each escaped, stays below this. */
const MAX_PAGE_BYTES = 2 * 1024 * 1024;

const failed = ({ reason, retryAfterMs }: ReadFailed): InboundReading => ({ kind: 'read_failed', reason, retryAfterMs });

const messageOf = (value: unknown, to: string): InboundMessage | null => {
  const json = objectOf(value);
  const [id, from, text, receivedAt] = [inboundIdOf(json?.id), textOf(json?.from), textOf(json?.body), instantOf(json?.received_at)];
  // Binary messages and files have no text of their own.
  if (json?.type !== 'mo_text' || !id || !from || text === null || receivedAt === null || digitsOf(textOf(json.to) ?? '') !== digitsOf(to)) return null;
  return { id, from: /^\d/.test(from) ? `+${from}` : from, text, receivedAt };
};

/** One page of what was sent to our number, the newest first, so that a message that comes meanwhile shifts others to a later page and hides none. */
export const readInbound = async (api: SinchApi, { to, since, page }: InboundRequest): Promise<InboundReading> => {
  const [number = 0, before = 0] = (page ?? '').split(':').filter((part) => part !== '').map(Number);
  const url = api.inboundsUrl({ to, since: new Date(since).toISOString(), page: number, pageSize: PAGE_SIZE });
  const outcome = readAnswer(await api.get(url, { limitMs: api.timeoutMs, maxBodyBytes: MAX_PAGE_BYTES }), SINCH_ERROR_READER, api.now());
  if (outcome.kind === 'not_found') return failed({ kind: 'read_failed', reason: 'not_found', retryAfterMs: null });
  if (outcome.kind !== 'read') return failed(outcome);
  const { inbounds, count } = outcome.json;
  if (!Array.isArray(inbounds) || typeof count !== 'number') return failed(notUnderstood(outcome.answer));
  const messages = inbounds.flatMap((value) => messageOf(value, to) ?? []);
  // Counted, and not reckoned from the size that was asked for: a page may hold fewer.
  const seen = before + inbounds.length;
  return { kind: 'read', messages, next: inbounds.length === 0 || seen >= count ? null : `${number + 1}:${seen}` };
};
