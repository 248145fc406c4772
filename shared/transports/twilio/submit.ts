import type { SubmitResult } from '../../domain/provider-answers.ts';
import type { Instant } from '../../domain/words.ts';
import { faultPoint } from '../../telemetry/fault-points.ts';
import type { CallOutcome } from '../http/client.ts';
import { retryAfterMs } from '../retry-after.ts';
import type { SubmitRequest } from '../transport.ts';
import type { TwilioApi } from './api.ts';
import type { ErrorMeaning } from './error-table.ts';
import { meaningOfInnerError, meaningOfRefusal } from './error-table.ts';
import { codeOf, jsonOf, messageOf, rawOf } from './message-resource.ts';

type Answered = Extract<CallOutcome, { kind: 'answered' }>;

/** A sender that is a messaging service goes under a name of its own. */
const senderField = (from: string): 'From' | 'MessagingServiceSid' => (/^MG[0-9a-fA-F]{32}$/.test(from) ? 'MessagingServiceSid' : 'From');

const resultOf = (meaning: ErrorMeaning, answer: Answered, code: number | null, now: Instant): SubmitResult => {
  const raw = rawOf(answer, code);
  switch (meaning.class) {
    case 'rejected':
    case 'suppressed':
      return { kind: 'rejected', outcome: meaning.class, reason: meaning.reason, raw };
    case 'deferred':
      return { kind: 'deferred', reason: meaning.reason, retryAfterMs: retryAfterMs(answer.headers['retry-after'], now), raw };
    case 'unavailable_auth':
      return { kind: 'provider_unavailable', reason: 'provider_auth', raw };
    case 'unavailable_account':
      return { kind: 'provider_unavailable', reason: 'provider_account', raw };
    case 'unknown':
      return { kind: 'unknown', reason: meaning.reason, raw };
  }
};

/** Statuses of a new message that say it will not be sent, though no code says why. */
const STILLBORN = new Set(['failed', 'canceled']);

/** The meaning of the answer to `POST Messages.json`. */
export const readSubmitAnswer = (answer: Answered, now: Instant): SubmitResult => {
  const json = jsonOf(answer);
  if (answer.httpStatus < 200 || answer.httpStatus > 299) {
    const code = codeOf(json?.code);
    return resultOf(meaningOfRefusal(answer.httpStatus, code), answer, code, now);
  }
  const message = messageOf(json);
  if (!message) return { kind: 'unknown', reason: 'answer_not_understood', raw: rawOf(answer, null) };
  // an error resource (`code`) or a message that failed at once (`error_code`), both under a 2xx
  const innerError = message.errorCode ?? codeOf(json?.code);
  if (innerError !== null) return resultOf(meaningOfInnerError(innerError), answer, innerError, now);
  if (STILLBORN.has(message.status)) {
    return { kind: 'rejected', outcome: 'rejected', reason: 'refused_by_provider', raw: rawOf(answer, message.status) };
  }
  if (!message.sid) return { kind: 'unknown', reason: 'answer_without_id', raw: rawOf(answer, null) };
  return { kind: 'accepted', providerMessageId: message.sid, raw: rawOf(answer, message.status || null) };
};

/** One `POST Messages.json`, never repeated here: Twilio has no idempotency key. */
export const submit = async (api: TwilioApi, { attemptKey, message, mayStart }: SubmitRequest): Promise<SubmitResult> => {
  if (message.channel !== 'sms') throw new Error('twilio carries sms only');
  const form = new URLSearchParams({ To: message.to, [senderField(message.from)]: message.from, Body: message.text });
  const outcome = await api.post(form, { headers: { 'Tocsin-Attempt-Key': attemptKey }, mayStart, onWritten: () => faultPoint('bytes-sent') });
  switch (outcome.kind) {
    case 'answered':
      return readSubmitAnswer(outcome, api.now());
    case 'not_written':
      return { kind: 'deferred', reason: outcome.reason, retryAfterMs: null };
    case 'abandoned':
      return { kind: 'abandoned', reason: 'start_too_late' };
    case 'lost':
      return { kind: 'unknown', reason: outcome.reason };
  }
};
