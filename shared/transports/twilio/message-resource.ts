import type { RawAnswer } from '../../domain/provider-answers.ts';
import type { Instant } from '../../domain/words.ts';
import type { CallOutcome } from '../http/client.ts';

type Json = Record<string, unknown>;
type Answered = Extract<CallOutcome, { kind: 'answered' }>;

/** The provider's message, as far as it is understood; a field of another type than expected counts as absent. */
export interface MessageResource {
  sid: string | null;
  status: string;
  errorCode: number | null;
  to: string | null;
  from: string | null;
  messagingServiceSid: string | null;
  body: string | null;
  createdAt: Instant | null;
  sentAt: Instant | null;
}

/** Provider text kept as evidence is cut to this many characters. */
const RAW_TEXT_CHARS = 2_000;

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
const instantOf = (value: unknown): Instant | null => {
  const at = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? null : at;
};

/** Reads an error code, which comes as a number or as digits; 0 means none. */
export const codeOf = (value: unknown): number | null => {
  const code = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof code === 'number' && Number.isInteger(code) && code > 0 ? code : null;
};

/** The JSON object in an answer; null where it is none or too long. */
export const jsonOf = (answer: Answered): Json | null => {
  try {
    const value: unknown = JSON.parse(answer.body ?? '');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    return null;
  }
};

/** Reads a message resource; null where the value is not an object. */
export const messageOf = (value: unknown): MessageResource | null => {
  if (typeof value !== 'object' || value === null) return null;
  const json = value as Json;
  return {
    sid: textOf(json.sid),
    status: textOf(json.status) ?? '',
    errorCode: codeOf(json.error_code),
    to: textOf(json.to),
    from: textOf(json.from),
    messagingServiceSid: textOf(json.messaging_service_sid),
    body: textOf(json.body),
    createdAt: instantOf(json.date_created),
    sentAt: instantOf(json.date_sent),
  };
};

/** The evidence to seal: HTTP status, the provider's code or raw status, and the start of its text. */
export const rawOf = (answer: Answered, code: number | string | null): RawAnswer => ({
  httpStatus: answer.httpStatus,
  ...(code === null ? {} : { code: String(code) }),
  ...(answer.body === null ? {} : { text: answer.body.slice(0, RAW_TEXT_CHARS) }),
});
