import { randomBytes } from 'node:crypto';
import { hexHash } from './chain-hash.ts';
import { isSameSecret } from './same-secret.ts';

/** A fresh key: `text` is shown once, `id` names it in lists and audits, `hash` (sha-256, hex) is what is stored. */
export interface GeneratedApiKey { text: string; id: string; hash: string }

const SHAPE = /^tk_([0-9a-f]{12})_[A-Za-z0-9_-]{43}$/;

/** sha-256 (hex) of an API key's text. The key has 256 random bits, so a slow hash would add nothing. */
export const hashApiKey = (text: string): string => hexHash(text);

/** Draws an API key: `tk_<id>_<256 bits, base64url>`. */
export const generateApiKey = (): GeneratedApiKey => {
  const id = randomBytes(6).toString('hex');
  const text = `tk_${id}_${randomBytes(32).toString('base64url')}`;
  return { text, id, hash: hashApiKey(text) };
};

/** The id inside a key's text, by which its row is found; null where the text is no API key. */
export const apiKeyIdOf = (text: string): string | null => SHAPE.exec(text)?.[1] ?? null;

/** Whether a presented key has this stored hash; takes equally long for every key. */
export const apiKeyMatches = (text: string, storedHash: string): boolean => isSameSecret(hashApiKey(text), storedHash);
