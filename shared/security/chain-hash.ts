import { createHash, hash } from 'node:crypto';

/**
 * Hash of a ledger entry: sha-256 over the previous entry's hash (32 bytes) and the UTF-8 of the entry's own canonical text.
 * Version 1 takes the hash of the immutable intent row as its previous hash.
 */
export const chainHash = (previousHash: Uint8Array, canonicalText: string): Buffer =>
  createHash('sha256').update(previousHash).update(canonicalText, 'utf8').digest();

/** Hash of a text that nothing comes before: sha-256 over its UTF-8. */
export const contentHash = (canonicalText: string): Buffer => hash('sha256', canonicalText, 'buffer');
