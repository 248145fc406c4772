import type { SubmitResult } from '../../domain/provider-answers.ts';
import type { Instant } from '../../domain/words.ts';
import { faultPoint } from '../../telemetry/fault-points.ts';
import type { Answered } from '../http/answer.ts';
import { hasId, idOf, isSuccess, jsonOf, rawOf } from '../http/answer.ts';
import { NOT_UNDERSTOOD, resultOfCall, resultOfError } from '../http/error-meaning.ts';
import type { SubmitRequest } from '../transport.ts';
import type { SinchApi } from './api.ts';
import { codeOf, meaningOfInnerError, meaningOfRefusal } from './error-table.ts';

/** The meaning of the answer to `POST batches`. A batch that is cancelled already is polled as any other: what was under way then may still arrive. */
export const readSubmitAnswer = (answer: Answered, now: Instant): SubmitResult => {
  const json = jsonOf(answer);
  const code = codeOf(json);
  if (!isSuccess(answer)) return resultOfError(meaningOfRefusal(answer.httpStatus, code), answer, code, now);
  if (!json) return { kind: 'unknown', reason: 'answer_not_understood', raw: rawOf(answer, null) };
  // an error body under a 2xx
  if (code !== null) return resultOfError(meaningOfInnerError(code, hasId(json.id)) ?? NOT_UNDERSTOOD, answer, code, now);
  const id = idOf(json.id);
  if (!id) return { kind: 'unknown', reason: 'answer_without_id', raw: rawOf(answer, null) };
  return { kind: 'accepted', providerMessageId: id, raw: rawOf(answer, null) };
};

/** One `POST batches` for one recipient, never repeated here: the API has no idempotency key, only our reference to look for. */
export const submit = async (api: SinchApi, { attemptKey, message, mayStart }: SubmitRequest): Promise<SubmitResult> => {
  if (message.channel !== 'sms') throw new Error('sinch carries sms only');
  const body = JSON.stringify({
    from: message.from, to: [message.to], body: message.text, type: 'mt_text', delivery_report: 'full', client_reference: attemptKey,
  });
  const outcome = await api.post(api.batchesUrl(), body, { headers: { 'Tocsin-Attempt-Key': attemptKey }, mayStart, onWritten: () => faultPoint('bytes-sent') });
  return resultOfCall(outcome, (answer) => readSubmitAnswer(answer, api.now()));
};
