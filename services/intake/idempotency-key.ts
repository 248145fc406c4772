import type { Request } from 'express';
import { faultyFields } from './problem.ts';

/** The header's idempotency key; null without the header. @throws Problem 400 where it is not 1 to 200 visible ASCII characters. */
export const keyHeader = (request: Request): string | null => {
  const key = request.get('idempotency-key');
  if (key === undefined) return null;
  if (/^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/.test(key)) return key;
  throw faultyFields([{ field: 'Idempotency-Key', problem: 'is not a usable key', cure: 'send 1 to 200 visible ASCII characters, such as a UUID' }], 'idempotency_key_invalid');
};
