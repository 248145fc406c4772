import type { StatusReading } from '../../domain/provider-answers.ts';
import { rawOf } from '../http/answer.ts';
import { notUnderstood } from '../http/read.ts';
import type { StatusRequest } from '../transport.ts';
import type { TwilioApi } from './api.ts';
import { MAX_BODY_BYTES } from './api.ts';
import { messageOf } from './message-resource.ts';
import { read } from './read.ts';
import { meaningOfMessage } from './status-table.ts';

/** One `GET Messages/{sid}.json`. */
export const readStatus = async (api: TwilioApi, { providerMessageId }: StatusRequest): Promise<StatusReading> => {
  const outcome = await read(api, api.messageAddress(providerMessageId), { limitMs: api.timeoutMs, maxBodyBytes: MAX_BODY_BYTES });
  if (outcome.kind !== 'read') return outcome;
  const message = messageOf(outcome.json);
  // another message's state must never count as this one's
  if (!message?.status || message.sid !== providerMessageId) return notUnderstood(outcome.answer);
  const meaning = meaningOfMessage(message, api.now());
  if (!meaning) return notUnderstood(outcome.answer, message.status);
  return { kind: 'observed', ...meaning, raw: rawOf(outcome.answer, message.errorCode ?? message.status) };
};
