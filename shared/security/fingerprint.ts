import { createHmac, hkdfSync } from 'node:crypto';
import { oldestKey } from './key-ring.ts';
import type { KeyRing } from './key-ring.ts';
import { isSameSecret } from './same-secret.ts';

/** Derivation costs more than the HMAC itself, and a ring lives as long as the process. */
const subkeys = new WeakMap<KeyRing, Map<string, Buffer>>();

const subkeyOf = (ring: KeyRing, purpose: string): Buffer => {
  const known = subkeys.get(ring) ?? new Map<string, Buffer>();
  subkeys.set(ring, known);
  const found = known.get(purpose);
  if (found) return found;
  const derived = Buffer.from(hkdfSync('sha256', oldestKey(ring).key, Buffer.alloc(0), `tocsin/fingerprint/1/${purpose}`, 32));
  known.set(purpose, derived);
  return derived;
};

/**
 * Keyed fingerprint (HMAC-SHA-256, 32 bytes) by which rows are found or compared without their clear text: suppressed
 * addresses, request bodies, recipients. Equal texts of one purpose give equal fingerprints, and purposes do not compare.
 *
 * The subkey is derived (HKDF) from the *oldest* key of the ring: a new key put in front changes no fingerprint, so stored
 * ones keep matching. Taking the last key off the ring changes all of them: rows must be fingerprinted anew before that.
 * The caller normalises first (E.164, lower-case domain); nothing is normalised here.
 */
export const fingerprint = (ring: KeyRing, purpose: string, text: string): Buffer =>
  // As in a chain hash: a buffer of node's own pool is cheaper than the one that `digest` makes.
  Buffer.from(createHmac('sha256', subkeyOf(ring, purpose)).update(text, 'utf8').digest('binary'), 'binary');

/**
 * Text with a signature, for cursors and the like that leave the house and come back: `base64url(text).base64url(mac)`.
 * Signed, not secret.
 */
export const signText = (ring: KeyRing, purpose: string, text: string): string =>
  `${Buffer.from(text, 'utf8').toString('base64url')}.${fingerprint(ring, `sign/${purpose}`, text).toString('base64url')}`;

/** Reads what `signText` wrote for the same purpose; null where it was changed or never signed here. */
export const readSignedText = (ring: KeyRing, purpose: string, signed: string): string | null => {
  const match = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/.exec(signed);
  if (!match) return null;
  const text = Buffer.from(match[1] as string, 'base64url').toString('utf8');
  // Compared as the whole text: base64url has spare bits, and only one spelling of a cursor may pass.
  return isSameSecret(signText(ring, purpose, text), signed) ? text : null;
};
