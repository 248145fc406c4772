import { jsonOf } from '../http/answer.ts';
import type { ErrorMeaning } from '../http/error-meaning.ts';
import { meaningOfErrorInside, meaningOfHttpRefusal } from '../http/error-meaning.ts';
import type { ErrorReader } from '../http/read.ts';
import { codeOf } from './message-resource.ts';

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

/** The meaning of an answer other than 2xx. */
export const meaningOfRefusal = (httpStatus: number, code: number | null): ErrorMeaning => meaningOfHttpRefusal(httpStatus, meaningOfCode(code));

/** The meaning of an error code inside a 2xx answer, as `meaningOfErrorInside`; `innerStatus` is its own. */
export const meaningOfInnerError = (innerStatus: number | null, code: number, namesMessage = false): ErrorMeaning | null =>
  meaningOfErrorInside(innerStatus, meaningOfCode(code), namesMessage);

/** The row of a code; null where the table has none. */
export const meaningOfCode = (code: number | null): ErrorMeaning | null => (code === null ? null : TWILIO_ERRORS[code] ?? null);

export const TWILIO_ERROR_READER: ErrorReader = {
  codeOf: (json) => codeOf(json?.code), meaningOf: (answer) => meaningOfRefusal(answer.httpStatus, codeOf(jsonOf(answer)?.code)),
};
