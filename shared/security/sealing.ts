import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { KeyRing } from './key-ring.ts';
import { takeRandom } from './random-bytes.ts';

/** Sealed bytes as they are stored: the key's id in clear, the rest opaque. */
export interface Sealed { keyId: string; box: Buffer }

/** A box that cannot be opened: another context, an unknown key, or changed bytes. Says nothing of the content. */
export class SealError extends Error {
  override readonly name = 'SealError';
}

const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

const FORMAT_BYTE = Buffer.from([FORMAT]);

const aad = (keyId: string, context: string): Buffer => Buffer.from(`tocsin-seal-${FORMAT}\n${keyId}\n${context}`, 'utf8');

/**
 * Seals text or bytes with AES-256-GCM under the first key of the ring. `context` names the row and column the box is for
 * (e.g. `sealed_payload:evt_…`): a box copied to another row does not open there. The box is
 * format (1 byte) | nonce (12) | tag (16) | ciphertext.
 */
export const seal = (ring: KeyRing, plaintext: string | Buffer, context: string): Sealed => {
  const { id, key } = ring.keys[0];
  const nonce = takeRandom(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(aad(id, context));
  const ciphertext = typeof plaintext === 'string' ? cipher.update(plaintext, 'utf8') : cipher.update(plaintext);
  // GCM holds nothing back: the end gives the tag alone.
  cipher.final();
  return { keyId: id, box: Buffer.concat([FORMAT_BYTE, nonce, cipher.getAuthTag(), ciphertext], HEAD_BYTES + ciphertext.length) };
};

/**
 * Opens what `seal` sealed under the same context.
 * @throws SealError where the key is not in the ring, or key id, context or bytes differ from what was sealed.
 */
export const open = (ring: KeyRing, sealed: { keyId: string; box: Uint8Array }, context: string): Buffer => {
  const found = ring.keys.find((candidate) => candidate.id === sealed.keyId);
  if (!found) throw new SealError(`sealed with key ${JSON.stringify(sealed.keyId)}, which is not in the ring; put it back at the end of TOCSIN_KEYS`);
  const box = Buffer.from(sealed.box);
  if (box.length < HEAD_BYTES || box[0] !== FORMAT) throw new SealError('not a sealed box of a known format');
  const decipher = createDecipheriv('aes-256-gcm', found.key, box.subarray(1, 1 + NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(aad(found.id, context));
  decipher.setAuthTag(box.subarray(1 + NONCE_BYTES, HEAD_BYTES));
  try {
    return Buffer.concat([decipher.update(box.subarray(HEAD_BYTES)), decipher.final()]);
  } catch {
    throw new SealError('the box was changed, or was sealed for another context or under another key of the same id');
  }
};

/** `open`, read as UTF-8 text. */
export const openText = (ring: KeyRing, sealed: { keyId: string; box: Uint8Array }, context: string): string =>
  open(ring, sealed, context).toString('utf8');
