import type { ReasonCode } from '../../domain/reasons.ts';

/** What an error of the provider means for a submission; each class is one kind of `SubmitResult`. */
export type ErrorClass = 'rejected' | 'suppressed' | 'deferred' | 'unavailable_auth' | 'unavailable_account' | 'unknown';

export interface ErrorMeaning { class: ErrorClass; reason: ReasonCode }

/** Twilio's error codes, in an error answer or inside a message resource (source: docs/providers.md, Errors). */
export const TWILIO_ERRORS: Readonly<Record<number, ErrorMeaning>> = {
  21211: { class: 'rejected', reason: 'invalid_destination' },
  21614: { class: 'rejected', reason: 'invalid_destination' },
  30005: { class: 'rejected', reason: 'invalid_destination' },
  30006: { class: 'rejected', reason: 'invalid_destination' },
  21610: { class: 'suppressed', reason: 'opted_out' },
  21408: { class: 'rejected', reason: 'blocked_region' },
  20429: { class: 'deferred', reason: 'rate_limited' },
  30001: { class: 'deferred', reason: 'quota_exhausted' },
  20003: { class: 'unavailable_auth', reason: 'provider_auth' },
  30002: { class: 'unavailable_account', reason: 'provider_account' },
  30007: { class: 'rejected', reason: 'content_refused' },
  30034: { class: 'rejected', reason: 'content_refused' },
  21602: { class: 'rejected', reason: 'content_refused' },
  21617: { class: 'rejected', reason: 'content_refused' },
  // the validity period ran out in the provider's queue: not sent
  30036: { class: 'rejected', reason: 'message_expired_at_provider' },
  20500: { class: 'unknown', reason: 'provider_error' },
};

/** HTTP statuses of a refused request whose code says nothing more precise. */
const HTTP_ERRORS: Readonly<Record<number, ErrorMeaning>> = {
  401: { class: 'unavailable_auth', reason: 'provider_auth' },
  // the server gave up waiting for the request, or says so: how much of it was used cannot be told
  408: { class: 'unknown', reason: 'provider_error' },
  429: { class: 'deferred', reason: 'rate_limited' },
};

const REFUSED: ErrorMeaning = { class: 'rejected', reason: 'refused_by_provider' };
const AMBIGUOUS: ErrorMeaning = { class: 'unknown', reason: 'provider_error' };
const NOT_UNDERSTOOD: ErrorMeaning = { class: 'unknown', reason: 'answer_not_understood' };

/**
 * The meaning of an answer other than 2xx. 5xx is ambiguous whatever its body says, for the message may have been created. A
 * redirect is ambiguous too: it may follow processing (303), and it is never followed.
 */
export const meaningOfRefusal = (httpStatus: number, code: number | null): ErrorMeaning => {
  if (httpStatus >= 500) return AMBIGUOUS;
  if (httpStatus < 400) return NOT_UNDERSTOOD;
  return meaningOfCode(code) ?? HTTP_ERRORS[httpStatus] ?? REFUSED;
};

/** The meaning of an error code inside a 2xx answer: the error, though the status line says otherwise. */
export const meaningOfInnerError = (code: number): ErrorMeaning => meaningOfCode(code) ?? REFUSED;

/** The row of a code; null where the table has none. */
export const meaningOfCode = (code: number | null): ErrorMeaning | null => (code === null ? null : TWILIO_ERRORS[code] ?? null);
