import type { Json } from '../http/answer.ts';
import { jsonOf, textOf } from '../http/answer.ts';
import type { ErrorMeaning } from '../http/error-meaning.ts';
import { meaningOfErrorInside, meaningOfHttpRefusal } from '../http/error-meaning.ts';
import type { ErrorReader } from '../http/read.ts';

/**
 * Resend's errors by name, some of which mean another thing under another HTTP status (source: docs/providers.md, Errors, and
 * the provider's public error reference).
 */
export const RESEND_ERRORS: Readonly<Record<string, ErrorMeaning>> = {
  '400 validation_error': { class: 'rejected', reason: 'invalid_destination' },
  '422 validation_error': { class: 'rejected', reason: 'invalid_destination' },
  // the key is no key
  '401 validation_error': { class: 'unavailable_auth', reason: 'provider_auth' },
  // the sender's domain is not verified
  '403 validation_error': { class: 'unavailable_account', reason: 'provider_account' },
  missing_api_key: { class: 'unavailable_auth', reason: 'provider_auth' },
  restricted_api_key: { class: 'unavailable_auth', reason: 'provider_auth' },
  invalid_api_key: { class: 'unavailable_auth', reason: 'provider_auth' },
  invalid_from_address: { class: 'unavailable_account', reason: 'provider_account' },
  rate_limit_exceeded: { class: 'deferred', reason: 'rate_limited' },
  daily_quota_exceeded: { class: 'deferred', reason: 'quota_exhausted' },
  monthly_quota_exceeded: { class: 'deferred', reason: 'quota_exhausted' },
  invalid_attachment: { class: 'rejected', reason: 'content_refused' },
  // another request under this key is being worked on: this one was not, and may come again later
  concurrent_idempotent_requests: { class: 'deferred', reason: 'provider_temporary' },
  // the key was used with another body: a defect of ours that a person must look at
  invalid_idempotent_request: { class: 'rejected', reason: 'idempotency_conflict' },
};

/** HTTP statuses of a refused message whose name says nothing more precise. */
export const RESEND_HTTP_ERRORS: Readonly<Record<number, ErrorMeaning>> = {
  403: { class: 'unavailable_account', reason: 'provider_account' },
};

/** The name in an error body; null where there is none. */
export const nameOf = (json: Json | null): string | null => textOf(json?.name);

const rowOf = (httpStatus: number | null, name: string | null): ErrorMeaning | null => {
  const key = [`${httpStatus} ${name}`, `${name}`].find((candidate) => Object.hasOwn(RESEND_ERRORS, candidate));
  return key === undefined ? null : RESEND_ERRORS[key] ?? null;
};

/** The meaning of an answer other than 2xx. */
export const meaningOfRefusal = (httpStatus: number, name: string | null): ErrorMeaning =>
  meaningOfHttpRefusal(httpStatus, rowOf(httpStatus, name) ?? RESEND_HTTP_ERRORS[httpStatus] ?? null);

/** The meaning of an error inside a 2xx answer, as `meaningOfErrorInside`; `innerStatus` is its own. What is deferred may be sent again though an email is named: its key drops a duplicate. */
export const meaningOfInnerError = (innerStatus: number | null, name: string, namesEmail = false): ErrorMeaning | null => {
  const row = rowOf(innerStatus, name);
  return meaningOfErrorInside(innerStatus, row, row === null && namesEmail);
};

export const RESEND_ERROR_READER: ErrorReader = { codeOf: nameOf, meaningOf: (answer) => meaningOfRefusal(answer.httpStatus, nameOf(jsonOf(answer))) };
