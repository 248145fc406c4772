import type { SubmitResult } from '../../domain/provider-answers.ts';
import type { Instant } from '../../domain/words.ts';
import { faultPoint } from '../../telemetry/fault-points.ts';
import type { Answered } from '../http/answer.ts';
import { hasId, isSuccess, jsonOf, rawOf, statusOf } from '../http/answer.ts';
import { REFUSED, resultOfCall, resultOfError } from '../http/error-meaning.ts';
import type { SubmitRequest } from '../transport.ts';
import type { TwilioApi } from './api.ts';
import { meaningOfCode, meaningOfInnerError, meaningOfRefusal } from './error-table.ts';
import { codeOf, messageOf } from './message-resource.ts';

/** A sender that is a messaging service goes under a name of its own. */
const senderField = (from: string): 'From' | 'MessagingServiceSid' => (/^MG[0-9a-fA-F]{32}$/.test(from) ? 'MessagingServiceSid' : 'From');

/** Statuses of a new message that say it will not be sent, though no code says why. */
const STILLBORN = new Set(['failed', 'canceled']);

/** The meaning of the answer to `POST Messages.json`. */
export const readSubmitAnswer = (answer: Answered, now: Instant): SubmitResult => {
  const json = jsonOf(answer);
  if (!isSuccess(answer)) {
    const code = codeOf(json?.code);
    return resultOfError(meaningOfRefusal(answer.httpStatus, code), answer, code, now);
  }
  const message = messageOf(json);
  if (!message) return { kind: 'unknown', reason: 'answer_not_understood', raw: rawOf(answer, null) };
  // an error resource (`code`) or a message with an error of its own (`error_code`), both under a 2xx
  const innerError = message.errorCode ?? codeOf(json?.code);
  if (STILLBORN.has(message.status)) return resultOfError(meaningOfCode(innerError) ?? REFUSED, answer, innerError ?? message.status, now);
  // Where it does not deny the message that is named, that one's polls tell.
  const inside = innerError === null ? null : meaningOfInnerError(statusOf(json?.status), innerError, hasId(json?.sid));
  if (inside !== null) return resultOfError(inside, answer, innerError, now);
  if (!message.sid) return { kind: 'unknown', reason: 'answer_without_id', raw: rawOf(answer, null) };
  return { kind: 'accepted', providerMessageId: message.sid, raw: rawOf(answer, innerError ?? (message.status || null)) };
};

/** What is posted: the ends, and the text or the id of a content template with what stands for its placeholders, for the API takes one of both. */
const formOf = ({ to, from, text, providerTemplate }: Extract<SubmitRequest['message'], { channel: 'sms' }>): URLSearchParams => {
  const form = new URLSearchParams();
  form.append('To', to);
  form.append(senderField(from), from);
  if (!providerTemplate) {
    form.append('Body', text);
    return form;
  }
  const { id, variables } = providerTemplate;
  form.append('ContentSid', id);
  // A template without placeholders refuses an empty set of them.
  if (Object.keys(variables).length > 0) form.append('ContentVariables', JSON.stringify(variables));
  return form;
};

/** One `POST Messages.json`, never repeated here: Twilio has no idempotency key. */
export const submit = async (api: TwilioApi, { attemptKey, message, mayStart }: SubmitRequest): Promise<SubmitResult> => {
  if (message.channel !== 'sms') throw new Error('twilio carries sms only');
  const outcome = await api.post(formOf(message), { headers: { 'Tocsin-Attempt-Key': attemptKey }, mayStart, onWritten: () => faultPoint('bytes-sent') });
  return resultOfCall(outcome, (answer) => readSubmitAnswer(answer, api.now()));
};
