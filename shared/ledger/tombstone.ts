import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalText } from '../security/canonical.ts';
import { isSignedBy, signBytes } from '../security/signing-key.ts';
import type { PublicKey, SigningKey } from '../security/signing-key.ts';

/** The last version and hash (hex) of a notification that was removed. */
export interface BuriedHead { eventId: string; version: number; hash: string }

const count = z.number().int().positive();
const position = z.string().regex(/^\d{1,19}$/);
const bodySchema = z.strictObject({
  month: z.string().regex(/^\d{4}-\d{2}$/), purpose: z.string(), classification: z.string(), removed_at: z.number().int(), notifications: count, entries: count,
  first_position: position, last_position: position, first_event: z.string(), last_event: z.string(), heads: z.string().regex(/^[0-9a-f]{64}$/),
});

/** What a tombstone says: how much of what month, purpose and class was removed, between which positions, and a digest of its heads. */
export type TombstoneBody = z.output<typeof bodySchema>;
/** A tombstone as table and export have it. */
export interface Tombstone { body: string; keyId: string; signature: Buffer }

/** Digest (hex) of heads, in the order of their ids; the database comes to the same. */
export const headsDigest = (heads: readonly BuriedHead[]): string =>
  createHash('sha256').update(heads.map((head) => `${head.eventId} ${head.version} ${head.hash}`).join('\n')).digest('hex');

const signedBytes = (body: string): Buffer => Buffer.concat([Buffer.from('tocsin-tombstone-1\n'), createHash('sha256').update(body, 'utf8').digest()]);

export const signTombstone = (key: SigningKey, body: TombstoneBody): Tombstone => {
  const text = canonicalText(body);
  return { body: text, keyId: key.publicKey.id, signature: signBytes(key, signedBytes(text)) };
};

/** Reads the text of a tombstone; null where it says something else. */
export const readTombstone = (text: string): TombstoneBody | null => {
  try {
    return bodySchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
};

/** Whether a known key signed it. */
export const isTombstoneSigned = ({ body, keyId, signature }: Tombstone, keys: readonly PublicKey[]): boolean => {
  const key = keys.find((one) => one.id === keyId);
  return key !== undefined && isSignedBy(key, signedBytes(body), signature);
};

/** What is wrong with a tombstone and its heads; null where it counts. Without keys its signature is not asked. */
export const tombstoneFault = (stone: Tombstone, heads: readonly BuriedHead[], keys: readonly PublicKey[] | null): { column: string; text: string } | null => {
  const body = readTombstone(stone.body);
  if (keys !== null && !isTombstoneSigned(stone, keys)) return { column: 'tombstone.signature', text: 'is not one of a key of this deployment: what it names was removed by someone else, or it was changed' };
  if (body === null) return { column: 'tombstone.body', text: 'is not the text of a tombstone' };
  const agrees = body.notifications === heads.length && body.entries === heads.reduce((sum, head) => sum + head.version, 0) && body.heads === headsDigest(heads);
  return agrees ? null : { column: 'tombstone.heads', text: 'the notifications it names are not those that were signed' };
};
