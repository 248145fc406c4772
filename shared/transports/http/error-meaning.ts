import type { SubmitResult } from '../../domain/provider-answers.ts';
import type { ReasonCode } from '../../domain/reasons.ts';
import type { Instant } from '../../domain/words.ts';
import { retryAfterMs } from '../retry-after.ts';
import type { Answered } from './answer.ts';
import { rawOf } from './answer.ts';
import type { CallOutcome } from './client.ts';

/** What an error of the provider means for a submission; each class is one kind of `SubmitResult`. */
export type ErrorClass = 'rejected' | 'suppressed' | 'deferred' | 'unavailable_auth' | 'unavailable_account' | 'unknown';

export interface ErrorMeaning { class: ErrorClass; reason: ReasonCode }

/** An error of the provider whose code says no more. */
export const REFUSED: ErrorMeaning = { class: 'rejected', reason: 'refused_by_provider' };
const AMBIGUOUS: ErrorMeaning = { class: 'unknown', reason: 'provider_error' };
/** An answer that says nothing of which anything could be made. */
export const NOT_UNDERSTOOD: ErrorMeaning = { class: 'unknown', reason: 'answer_not_understood' };

/** HTTP statuses of a refused request, the same at every provider. */
export const HTTP_ERRORS: Readonly<Record<number, ErrorMeaning>> = {
  401: { class: 'unavailable_auth', reason: 'provider_auth' },
  // the server gave up waiting for the request, or says so: how much of it was used cannot be told
  408: { class: 'unknown', reason: 'provider_error' },
  429: { class: 'deferred', reason: 'rate_limited' },
};

/**
 * The meaning of an answer other than 2xx. 5xx is ambiguous whatever its body says, for the message may have been created. A
 * redirect is ambiguous too: it may follow processing (303), and it is never followed.
 *
 * @param precise what the provider's own table says of the error's code; null where it has no row
 */
export const meaningOfHttpRefusal = (httpStatus: number, precise: ErrorMeaning | null): ErrorMeaning => {
  if (httpStatus >= 500) return AMBIGUOUS;
  if (httpStatus < 400) return NOT_UNDERSTOOD;
  return precise ?? HTTP_ERRORS[httpStatus] ?? REFUSED;
};

/**
 * The meaning of an error inside a 2xx answer: the error, though the status line says otherwise. Only one that says it is a 5xx leaves open what was done. Null
 * where the answer names a message as well, and the error is not known to deny it: whoever takes it for a refusal then may send it twice.
 *
 * @param innerStatus the HTTP status that the error says it is; null where it says none
 */
export const meaningOfErrorInside = (innerStatus: number | null, precise: ErrorMeaning | null, namesMessage: boolean): ErrorMeaning | null => {
  if (innerStatus !== null && innerStatus >= 500) return AMBIGUOUS;
  if (namesMessage && (precise === null || precise.class === 'deferred')) return null;
  return precise ?? (innerStatus !== null && innerStatus >= 400 ? meaningOfHttpRefusal(innerStatus, null) : REFUSED);
};

/** The result of a submission whose answer was an error. */
export const resultOfError = (meaning: ErrorMeaning, answer: Answered, code: number | string | null, now: Instant): SubmitResult => {
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

/** The result of one POST, told apart by whether the request may have reached the provider. */
export const resultOfCall = (outcome: CallOutcome, ofAnswer: (answer: Answered) => SubmitResult): SubmitResult => {
  switch (outcome.kind) {
    case 'answered':
      return ofAnswer(outcome);
    case 'not_written':
      return { kind: 'deferred', reason: outcome.reason, retryAfterMs: null };
    case 'abandoned':
      return { kind: 'abandoned', reason: 'start_too_late' };
    case 'lost':
      return { kind: 'unknown', reason: outcome.reason };
  }
};
