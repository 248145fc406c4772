import type { RawAnswer } from '../../domain/provider-answers.ts';
import type { Instant } from '../../domain/words.ts';
import { hexHash } from '../../security/chain-hash.ts';
import type { CallOutcome } from './client.ts';

export type Answered = Extract<CallOutcome, { kind: 'answered' }>;
export type Json = Record<string, unknown>;

/** Provider text kept as evidence is cut to this many characters. */
const RAW_TEXT_CHARS = 2_000;

/** A text that says something; a value of another type counts as absent. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

// Visible ASCII, no longer than any provider's, without what makes an address.
const PROVIDER_ID = /^(?!\+\d)[\x21-\x3f\x41-\x7e]{1,128}$/;

/** A provider's id of a message. It stands in the ledger as it is, so that whatever could be an address, a text, or cannot be stored counts as absent. */
export const idOf = (value: unknown): string | null => {
  const id = textOf(value);
  return id !== null && PROVIDER_ID.test(id) ? id : null;
};

/** Whether there is an id at all, also one that cannot be kept: then there is a message, whatever else is said. */
export const hasId = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

/** An HTTP status inside a body; null where there is none. */
export const statusOf = (value: unknown): number | null => (typeof value === 'number' && Number.isInteger(value) ? value : null);

/** The id of a message that came to us. One that cannot be kept is told apart by its digest: a word to stop must be heard under whatever id it comes. */
export const inboundIdOf = (value: unknown): string | null => {
  const text = textOf(value);
  return idOf(text) ?? (text === null ? null : hexHash(text));
};

/** A date in any form `Date.parse` reads; null for everything else. */
export const instantOf = (value: unknown): Instant | null => {
  const at = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? null : at;
};

/** The value as a JSON object; null where it is none. */
export const objectOf = (value: unknown): Json | null =>
  (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null);

/** The JSON object in an answer; null where it is none or too long. */
export const jsonOf = (answer: Answered): Json | null => {
  try {
    return objectOf(JSON.parse(answer.body ?? ''));
  } catch {
    return null;
  }
};

/** The evidence to seal: HTTP status, the provider's code or raw status, and the start of its text. */
export const rawOf = ({ httpStatus, body }: Answered, code: number | string | null): RawAnswer => {
  const raw: RawAnswer = { httpStatus };
  if (code !== null) raw.code = String(code);
  if (body !== null) raw.text = body.slice(0, RAW_TEXT_CHARS);
  return raw;
};

/** Whether the status line says that the request was carried out. */
export const isSuccess = (answer: Answered): boolean => answer.httpStatus >= 200 && answer.httpStatus <= 299;
