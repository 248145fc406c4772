import { createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** One key of the ring. The `KeyObject` keeps the bytes out of logs, JSON and `util.inspect`. */
export interface RingKey { readonly id: string; readonly key: KeyObject }

/** The deployment's keys, newest first: the first seals, all open, the last is the root of fingerprints. */
export interface KeyRing { readonly keys: readonly [RingKey, ...RingKey[]] }

/** A text that is not a key ring. The message names the entry by its place, never by its key. */
export class KeyRingError extends Error {
  override readonly name = 'KeyRingError';
}

const KEY_BYTES = 32;
const cure = 'write TOCSIN_KEYS as "k1:<base64 of 32 bytes>", newest key first, separated by commas';

/**
 * Reads the text of `TOCSIN_KEYS`: `k2:base64,k1:base64`. To rotate, put a new key in front and keep the old ones for as long
 * as anything sealed with them is needed.
 * @throws KeyRingError where an entry is malformed, a key is not 32 bytes or an id appears twice.
 */
export const parseKeyRing = (text: string): KeyRing => {
  const seen = new Set<string>();
  const keys = text.split(',').map((entry, index): RingKey => {
    const where = `key ${index + 1} of the ring`;
    const match = /^([A-Za-z0-9][A-Za-z0-9_-]{0,31}):([A-Za-z0-9+/_-]+={0,2})$/.exec(entry.trim());
    if (!match) throw new KeyRingError(`${where} is not of the form id:base64; ${cure}`);
    const [, id, encoded] = match as unknown as [string, string, string];
    const bytes = Buffer.from(encoded, 'base64');
    if (bytes.length !== KEY_BYTES) throw new KeyRingError(`${where} (${id}) has ${bytes.length} bytes, not ${KEY_BYTES}; ${cure}`);
    if (seen.has(id)) throw new KeyRingError(`${where} repeats the id ${id}; give each key an id of its own`);
    seen.add(id);
    return { id, key: createSecretKey(bytes) };
  });
  const [first, ...rest] = keys;
  if (!first) throw new KeyRingError(`the key ring is empty; ${cure}`);
  return { keys: [first, ...rest] };
};

/** A ring of one fresh random key, as text for `TOCSIN_KEYS`. */
export const generateKeyRingText = (id = 'k1'): string => `${id}:${randomBytes(KEY_BYTES).toString('base64')}`;

/** The oldest key: the root from which fingerprints are derived, so that adding a key in front changes none of them. */
export const oldestKey = (ring: KeyRing): RingKey => ring.keys[ring.keys.length - 1] ?? ring.keys[0];
