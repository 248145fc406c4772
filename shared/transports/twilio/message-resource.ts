import type { Instant } from '../../domain/words.ts';
import type { Json } from '../http/answer.ts';
import { idOf, instantOf, textOf } from '../http/answer.ts';

/** The provider's message, as far as it is understood; a field of another type than expected counts as absent. */
export interface MessageResource {
  sid: string | null;
  status: string;
  errorCode: number | null;
  direction: string | null;
  to: string | null;
  from: string | null;
  messagingServiceSid: string | null;
  body: string | null;
  createdAt: Instant | null;
  sentAt: Instant | null;
}

/** Reads an error code, which comes as a number or as digits; 0 means none. */
export const codeOf = (value: unknown): number | null => {
  const code = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof code === 'number' && Number.isInteger(code) && code > 0 ? code : null;
};

/** Reads a message resource; null where the value is not an object. */
export const messageOf = (value: unknown): MessageResource | null => {
  if (typeof value !== 'object' || value === null) return null;
  const json = value as Json;
  return {
    sid: idOf(json.sid),
    status: textOf(json.status) ?? '',
    errorCode: codeOf(json.error_code),
    direction: textOf(json.direction),
    to: textOf(json.to),
    from: textOf(json.from),
    messagingServiceSid: textOf(json.messaging_service_sid),
    body: textOf(json.body),
    createdAt: instantOf(json.date_created),
    sentAt: instantOf(json.date_sent),
  };
};
