import { createHash, createHmac, createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** What a signature covers. `host` with its port where that is not 443, `target` is path and query as they are sent. */
export interface Signed { eventId: string; host: string; method: string; target: string; body: string; at: number }

/** The secrets as keys: a `KeyObject` keeps the bytes out of logs, JSON and `util.inspect`. */
export const signingSecrets = (secrets: readonly string[]): KeyObject[] => secrets.map((secret) => createSecretKey(Buffer.from(secret, 'utf8')));

/** The text that is signed, line by line; docs/precondition.md shows how a receiver makes it. */
const signedText = ({ eventId, host, method, target, body, at }: Signed): string =>
  ['tocsin-precondition-1', String(Math.floor(at / 1000)), eventId, method, host, target, createHash('sha256').update(body).digest('hex')].join('\n');

/** The header `Tocsin-Signature` over a text of ours: the instant in seconds, and one HMAC-SHA-256 in hex for each secret, the newest first. */
export const signatureOver = (keys: readonly KeyObject[], text: string, at: number): string =>
  [`t=${Math.floor(at / 1000)}`, ...keys.map((key) => `v1=${createHmac('sha256', key).update(text).digest('hex')}`)].join(',');

/** The header of a question to an origin system. */
export const signatureHeader = (keys: readonly KeyObject[], signed: Signed): string => signatureOver(keys, signedText(signed), signed.at);
