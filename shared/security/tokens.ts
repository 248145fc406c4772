import { randomBytes } from 'node:crypto';
import { contentHash } from './chain-hash.ts';
import { isSameSecret } from './same-secret.ts';

/** A random URL-safe token of 256 bits (43 characters). Only its hash is stored. */
export const generateToken = (): string => randomBytes(32).toString('base64url');

/** What is stored of a token: sha-256. Plain hashing is enough, since the token has 256 bits of its own. */
export const hashToken = (token: string): Buffer => contentHash(token);

/** Whether a token has this stored hash; takes equally long for all tokens. */
export const tokenMatches = (token: string, storedHash: Uint8Array): boolean => isSameSecret(hashToken(token), storedHash);

const FORM_TOKEN = /^form_[A-Za-z0-9_-]{22}$/;

/**
 * The hidden field that makes a double click one ticket: drawn when the form is shown, used as idempotency key where the
 * client sends no header. It identifies a form, it grants nothing.
 */
export const generateFormToken = (): string => `form_${randomBytes(16).toString('base64url')}`;

/** Whether a text has the shape of a form token. */
export const isFormToken = (text: string): boolean => FORM_TOKEN.test(text);

/** A code of six decimal digits for a person to type, without bias towards small ones. */
export const generateCode = (): string => {
  // 2^32 is not a multiple of 10^6: draws above the last full multiple are thrown away.
  const limit = 4_294_000_000;
  for (;;) {
    const drawn = randomBytes(4).readUInt32BE();
    if (drawn < limit) return String(drawn % 1_000_000).padStart(6, '0');
  }
};
