import { createCipheriv, createDecipheriv } from 'node:crypto';
import { ArtifactError } from './artifact-store.ts';

/** Plain bytes per chunk. */
export const CHUNK_BYTES = 64 * 1024;
export const TAG_BYTES = 16;
export const PREFIX_BYTES = 7;

/** How many chunks so many plain bytes make; an empty stream is one empty chunk. */
export const chunkCount = (bytes: number): number => Math.max(1, Math.ceil(bytes / CHUNK_BYTES));
/** Bytes of all chunks together, as they are stored. */
export const sealedBytes = (bytes: number): number => bytes + chunkCount(bytes) * TAG_BYTES;

export interface ChunkKey { key: Buffer; /** Random, stored in front of the chunks. */ prefix: Buffer; /** Bound to every chunk. */ context: string }

/**
 * The nonce says which chunk it is and whether it is the last, as in the STREAM construction (Hoang, Reyhanitabar, Rogaway and Vizár
 * 2015): a chunk that was swapped, left out, repeated or cut off at the end does not open.
 */
const nonceOf = (prefix: Buffer, index: number, last: boolean): Buffer => {
  const nonce = Buffer.alloc(PREFIX_BYTES + 5);
  prefix.copy(nonce);
  nonce.writeUInt32BE(index, PREFIX_BYTES);
  nonce.writeUInt8(last ? 1 : 0, PREFIX_BYTES + 4);
  return nonce;
};

/** Seals one chunk with AES-256-GCM: ciphertext, then tag. */
export const sealChunk = ({ key, prefix, context }: ChunkKey, plain: Buffer, { index, last }: { index: number; last: boolean }): Buffer => {
  const cipher = createCipheriv('aes-256-gcm', key, nonceOf(prefix, index, last), { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(context, 'utf8'));
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
};

/** Opens one chunk. @throws ArtifactError where it is not that chunk, byte for byte. */
export const openChunk = ({ key, prefix, context }: ChunkKey, sealed: Buffer, { index, last }: { index: number; last: boolean }): Buffer => {
  const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(prefix, index, last), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context, 'utf8'));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  try {
    const plain = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES));
    decipher.final();
    return plain;
  } catch {
    throw new ArtifactError('artifact_damaged', `chunk ${index} of the stored artifact was changed`);
  }
};
