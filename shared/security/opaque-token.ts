import { createCipheriv, createDecipheriv, timingSafeEqual } from 'node:crypto';
import { fingerprint } from './fingerprint.ts';
import type { KeyRing } from './key-ring.ts';

const MAC_BYTES = 16;
const LONGEST = 2_000;

const keyOf = (ring: KeyRing, purpose: string): Buffer => fingerprint(ring, `token-key/${purpose}`, 'aes-256-ctr');
const macOf = (ring: KeyRing, purpose: string, text: string): Buffer => fingerprint(ring, `token/${purpose}`, text).subarray(0, MAC_BYTES);

/**
 * A text as a token that leaves the house and comes back: nobody else can read, change or make one, and nothing is stored of it. The same
 * text gives the same token, for the MAC of the text is also the start of its key stream (the SIV construction, RFC 5297); a random
 * nonce would make another message of every render. Keyed as fingerprints are: by the oldest key of the ring.
 */
export const sealToken = (ring: KeyRing, purpose: string, text: string): string => {
  const mac = macOf(ring, purpose, text);
  const cipher = createCipheriv('aes-256-ctr', keyOf(ring, purpose), mac);
  return Buffer.concat([mac, cipher.update(text, 'utf8'), cipher.final()]).toString('base64url');
};

/** Reads what `sealToken` wrote for the same purpose; null for everything else. */
export const openToken = (ring: KeyRing, purpose: string, token: string): string | null => {
  const bytes = token.length > LONGEST ? Buffer.alloc(0) : Buffer.from(token, 'base64url');
  // Compared as the whole text: base64url has spare bits, and only one spelling of a token may pass.
  if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== token) return null;
  const mac = bytes.subarray(0, MAC_BYTES);
  const decipher = createDecipheriv('aes-256-ctr', keyOf(ring, purpose), mac);
  const text = Buffer.concat([decipher.update(bytes.subarray(MAC_BYTES)), decipher.final()]).toString('utf8');
  return timingSafeEqual(macOf(ring, purpose, text), mac) ? text : null;
};
