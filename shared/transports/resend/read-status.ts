import type { StatusReading } from '../../domain/provider-answers.ts';
import { textOf } from '../http/answer.ts';
import type { JsonApi } from '../http/json-api.ts';
import { notUnderstood, readAnswer } from '../http/read.ts';
import type { StatusRequest } from '../transport.ts';
import { RESEND_ERROR_READER } from './error-table.ts';
import { meaningOfEvent } from './status-table.ts';

/** The answer repeats the whole message, text and HTML, each of which may be escaped. */
const MAX_EMAIL_BYTES = 2 * 1024 * 1024;

/** One `GET /emails/{id}`. */
export const readStatus = async (api: JsonApi, { providerMessageId }: StatusRequest): Promise<StatusReading> => {
  const url = api.url(`/emails/${encodeURIComponent(providerMessageId)}`);
  const outcome = readAnswer(await api.get(url, { limitMs: api.timeoutMs, maxBodyBytes: MAX_EMAIL_BYTES }), RESEND_ERROR_READER, api.now());
  if (outcome.kind !== 'read') return outcome;
  const event = textOf(outcome.json.last_event);
  // another message's state must never count as this one's
  if (event === null || outcome.json.id !== providerMessageId) return notUnderstood(outcome.answer);
  // the event is the evidence; the message itself need not be kept once more
  // a bounce is told as such, also after a delivery
  return { kind: 'observed', ...meaningOfEvent(event), ...(event === 'bounced' ? { laterBounce: true } : {}), raw: { httpStatus: outcome.answer.httpStatus, code: event } };
};
