import { hash } from 'node:crypto';

// A digest as text, put into node's own pool: one that node hands over as a buffer has memory of its own, which costs as much again.
const digest = (bytes: string | Uint8Array): Buffer => Buffer.from(hash('sha256', bytes, 'binary'), 'binary');

/**
 * Hash of a ledger entry: sha-256 over the previous entry's hash (32 bytes) and the UTF-8 of the entry's own canonical text.
 * Version 1 takes the hash of the immutable intent row as its previous hash.
 */
export const chainHash = (previousHash: Uint8Array, canonicalText: string): Buffer => {
  const bytes = Buffer.allocUnsafe(previousHash.length + Buffer.byteLength(canonicalText, 'utf8'));
  bytes.set(previousHash);
  bytes.write(canonicalText, previousHash.length, 'utf8');
  return digest(bytes);
};

/** Hash of a text that nothing comes before: sha-256 over its UTF-8. */
export const contentHash = (canonicalText: string): Buffer => digest(canonicalText);

/** The same in hex. */
export const hexHash = (text: string): string => hash('sha256', text, 'hex');
