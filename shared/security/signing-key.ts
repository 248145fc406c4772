import { createHash, createPrivateKey, createPublicKey, hkdfSync, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { KeyRing } from './key-ring.ts';

/** A public key by which signatures of this deployment can be checked without any of its secrets. */
export interface PublicKey {
  /** The first 16 hex digits of the key's sha-256. */
  id: string;
  /** The raw 32 bytes, base64url. */
  text: string;
  key: KeyObject;
}
export interface SigningKey { publicKey: PublicKey; privateKey: KeyObject }

// What stands before the 32 bytes of a seed, and of a public key, in DER (RFC 8410).
const SEED_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_HEAD = Buffer.from('302a300506032b6570032100', 'hex');
const RAW_BYTES = 32;

/** Reads a public key as `text` writes it; null where it is none. */
export const readPublicKey = (text: string): PublicKey | null => {
  const raw = Buffer.from(text, 'base64url');
  if (raw.length !== RAW_BYTES || raw.toString('base64url') !== text) return null;
  return { id: createHash('sha256').update(raw).digest('hex').slice(0, 16), text, key: createPublicKey({ key: Buffer.concat([PUBLIC_HEAD, raw]), format: 'der', type: 'spki' }) };
};

const derive = (key: KeyObject, purpose: string): SigningKey => {
  const seed = Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `tocsin/sign/1/${purpose}`, RAW_BYTES));
  const privateKey = createPrivateKey({ key: Buffer.concat([SEED_HEAD, seed]), format: 'der', type: 'pkcs8' });
  const raw = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(PUBLIC_HEAD.length);
  return { privateKey, publicKey: readPublicKey(raw.toString('base64url')) as PublicKey };
};

/** The Ed25519 pair of a purpose, derived (HKDF) from the newest key of the ring: nothing more has to be kept. */
export const signingKeyOf = (ring: KeyRing, purpose: string): SigningKey => derive(ring.keys[0].key, purpose);

/** The public keys of all keys of the ring, so that signatures of before a rotation still count. */
export const publicKeysOf = (ring: KeyRing, purpose: string): PublicKey[] => ring.keys.map(({ key }) => derive(key, purpose).publicKey);

export const signBytes = (key: SigningKey, bytes: Uint8Array): Buffer => sign(null, bytes, key.privateKey);
export const isSignedBy = (key: PublicKey, bytes: Uint8Array, signature: Uint8Array): boolean => verify(null, bytes, key.key, signature);
