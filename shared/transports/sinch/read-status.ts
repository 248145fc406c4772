import type { StatusReading } from '../../domain/provider-answers.ts';
import type { Json } from '../http/answer.ts';
import { objectOf, rawOf, textOf } from '../http/answer.ts';
import { MAX_BODY_BYTES } from '../http/json-api.ts';
import { notUnderstood, readAnswer } from '../http/read.ts';
import type { StatusRequest } from '../transport.ts';
import type { SinchApi } from './api.ts';
import { digitsOf } from './api.ts';
import { SINCH_ERROR_READER } from './error-table.ts';
import { meaningOfStatus } from './status-table.ts';

const recipientStatus = (json: Json, to: string): string | null => {
  const recipient = textOf(json.recipient);
  return recipient !== null && digitsOf(recipient) === digitsOf(to) ? textOf(json.status) : null;
};

/** The one status of a batch of one; an empty list says that no final status has come yet. */
const batchStatus = (json: Json): string | null => {
  if (!Array.isArray(json.statuses) || json.statuses.length > 1) return null;
  return json.statuses.length === 0 ? 'Queued' : textOf(objectOf(json.statuses[0])?.status);
};

/** One GET of the delivery report: of the recipient, or of the batch where the number has been erased meanwhile. */
export const readStatus = async (api: SinchApi, { providerMessageId, to }: StatusRequest): Promise<StatusReading> => {
  const url = to === '' ? api.batchReportUrl(providerMessageId) : api.recipientReportUrl(providerMessageId, to);
  const outcome = readAnswer(await api.get(url, { limitMs: api.timeoutMs, maxBodyBytes: MAX_BODY_BYTES }), SINCH_ERROR_READER, api.now());
  if (outcome.kind !== 'read') return outcome;
  const { json, answer } = outcome;
  const status = to === '' ? batchStatus(json) : recipientStatus(json, to);
  // another message's state must never count as this one's
  if (status === null || json.batch_id !== providerMessageId) return notUnderstood(answer);
  return { kind: 'observed', ...meaningOfStatus(status), raw: rawOf(answer, status) };
};
