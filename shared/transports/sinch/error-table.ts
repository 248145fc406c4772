import type { Json } from '../http/answer.ts';
import { jsonOf, textOf } from '../http/answer.ts';
import type { ErrorMeaning } from '../http/error-meaning.ts';
import { meaningOfErrorInside, meaningOfHttpRefusal } from '../http/error-meaning.ts';
import type { ErrorReader } from '../http/read.ts';

/** Codes in the error bodies of the batches API (source: its public documentation). */
export const SINCH_ERRORS: Readonly<Record<string, ErrorMeaning>> = {
  // the only formatted parameters that are sent are numbers, and the sender is set up beforehand
  syntax_invalid_parameter_format: { class: 'rejected', reason: 'invalid_destination' },
  syntax_constraint_violation: { class: 'rejected', reason: 'content_refused' },
  syntax_invalid_json: { class: 'rejected', reason: 'content_refused' },
};

/** HTTP statuses of a refused batch whose code says nothing more precise (source: docs/providers.md, Errors). */
export const SINCH_HTTP_ERRORS: Readonly<Record<number, ErrorMeaning>> = {
  402: { class: 'deferred', reason: 'quota_exhausted' },
  403: { class: 'rejected', reason: 'blocked_region' },
};

/** The code in an error body; null where there is none. */
export const codeOf = (json: Json | null): string | null => textOf(json?.code);

const rowOf = (code: string | null): ErrorMeaning | null => (code !== null && Object.hasOwn(SINCH_ERRORS, code) ? SINCH_ERRORS[code] ?? null : null);

/** The meaning of an answer other than 2xx. */
export const meaningOfRefusal = (httpStatus: number, code: string | null): ErrorMeaning =>
  meaningOfHttpRefusal(httpStatus, rowOf(code) ?? SINCH_HTTP_ERRORS[httpStatus] ?? null);

/** The meaning of an error code inside a 2xx answer, as `meaningOfErrorInside`; the API tells no other status there. */
export const meaningOfInnerError = (code: string, namesBatch = false): ErrorMeaning | null => meaningOfErrorInside(null, rowOf(code), namesBatch);

export const SINCH_ERROR_READER: ErrorReader = { codeOf, meaningOf: (answer) => meaningOfRefusal(answer.httpStatus, codeOf(jsonOf(answer))) };
