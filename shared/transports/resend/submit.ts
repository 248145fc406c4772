import type { SubmitResult } from '../../domain/provider-answers.ts';
import type { Instant } from '../../domain/words.ts';
import { faultPoint } from '../../telemetry/fault-points.ts';
import type { Answered } from '../http/answer.ts';
import { isSuccess, jsonOf, rawOf, textOf } from '../http/answer.ts';
import { resultOfCall, resultOfError } from '../http/error-meaning.ts';
import type { JsonApi } from '../http/json-api.ts';
import type { SubmitRequest } from '../transport.ts';
import { meaningOfInnerError, meaningOfRefusal, nameOf } from './error-table.ts';
import { mailFieldsOf } from './mail-fields.ts';

/** The meaning of the answer to `POST /emails`. */
export const readSubmitAnswer = (answer: Answered, now: Instant): SubmitResult => {
  const json = jsonOf(answer);
  const name = nameOf(json);
  if (!isSuccess(answer)) return resultOfError(meaningOfRefusal(answer.httpStatus, name), answer, name, now);
  if (!json) return { kind: 'unknown', reason: 'answer_not_understood', raw: rawOf(answer, null) };
  // an error body under a 2xx
  if (name !== null) return resultOfError(meaningOfInnerError(Number(json.statusCode), name), answer, name, now);
  const id = textOf(json.id);
  if (!id) return { kind: 'unknown', reason: 'answer_without_id', raw: rawOf(answer, null) };
  return { kind: 'accepted', providerMessageId: id, raw: rawOf(answer, null) };
};

/**
 * One `POST /emails` under the attempt key as `Idempotency-Key`. Never repeated here; but as the same attempt gives the same
 * body byte for byte, a second call within the provider's 24 hours sends nothing and answers with the first one's id.
 */
export const submit = async (api: JsonApi, { attemptKey, message, mayStart }: SubmitRequest): Promise<SubmitResult> => {
  if (message.channel !== 'email') throw new Error('resend carries email only');
  const fields = mailFieldsOf(message.mime);
  // not a message of ours: nothing was sent, and sending it again would not help
  if (!fields) return { kind: 'rejected', outcome: 'rejected', reason: 'render_error' };
  const { from, subject, text, html, headers } = fields;
  const body = JSON.stringify({ from, to: [message.to], subject, text, html, headers });
  const outcome = await api.post(api.url('/emails'), body, {
    headers: { 'Idempotency-Key': attemptKey, 'Tocsin-Attempt-Key': attemptKey }, mayStart, onWritten: () => faultPoint('bytes-sent'),
  });
  return resultOfCall(outcome, (answer) => readSubmitAnswer(answer, api.now()));
};
