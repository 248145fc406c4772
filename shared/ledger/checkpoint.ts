import { createHash } from 'node:crypto';
import { z } from 'zod';
import { chainHash } from '../security/chain-hash.ts';
import { isSignedBy } from '../security/signing-key.ts';
import type { PublicKey } from '../security/signing-key.ts';

/** The purpose under which the key ring derives the pair that signs checkpoints. */
export const CHECKPOINT_PURPOSE = 'checkpoint';
/** What the first checkpoint of a ledger takes as the hash before it. */
export const NO_CHECKPOINT_HASH = Buffer.alloc(32);

const HEX = /^[0-9a-f]{64}$/;
// What is read here may be forged, and goes to Postgres and into dates where no key is at hand to tell: only what both accept.
const isOrdered = (text: string): boolean => {
  const [xmin = '', xmax = '', running = ''] = text.split(':');
  const open = running === '' ? [] : running.split(',').map(BigInt);
  return BigInt(xmin) > 0n && BigInt(xmin) <= BigInt(xmax) && open.every((xid, index) => xid >= BigInt(xmin) && xid < BigInt(xmax) && (index === 0 || xid > (open[index - 1] ?? 0n)));
};
const snapshot = z.string().regex(/^\d{1,18}:\d{1,18}:(\d{1,18}(,\d{1,18})*)?$/).refine(isOrdered);
const version = z.number().int().positive().max(2_147_483_647);
const LAST_DATE_MS = 8.64e15;
const bodySchema = z.strictObject({
  ledger: z.string(), sequence: z.number().int().positive(), minute_at: z.number().int().nonnegative().max(LAST_DATE_MS), part: z.number().int().positive(), cluster: z.string(),
  since: snapshot, snapshot, entries: z.number().int().nonnegative(),
  runs: z.array(z.tuple([z.string().regex(/^[\w.-]+$/), version, version, z.string().regex(HEX), z.string().regex(HEX)])),
});

/**
 * What a checkpoint says. `runs` holds, for each notification that gained entries, `[event_id, first, last, hash, positions]`:
 * the versions gained, the chain hash of the last of them, and a digest of their feed positions. Since every hash covers the one
 * before, it pins the whole chain below it and the intent; since each run names its notification, so does every fault.
 */
export type CheckpointBody = z.output<typeof bodySchema>;
export type Run = CheckpointBody['runs'][number];

/** A checkpoint as table and file keep it. */
export interface Checkpoint { sequence: number; body: string; prevHash: Buffer; hash: Buffer; keyId: string; signature: Buffer }

/** Reads the text of a checkpoint; null where it says something else. */
export const readBody = (text: string): CheckpointBody | null => {
  try {
    return bodySchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
};

/** The snapshot by which nothing had happened yet. */
export const NO_SNAPSHOT = '1:1:';

/** Whether a transaction had ended by a snapshot (`xmin:xmax:running,…`, the text of Postgres' `pg_snapshot`). */
export const hadEnded = (snapshotText: string): ((xid: string) => boolean) => {
  const [, xmax = '0', running = ''] = snapshotText.split(':');
  const open = new Set(running.split(','));
  return (xid) => BigInt(xid) < BigInt(xmax) && !open.has(xid);
};

export const checkpointHash = (prevHash: Uint8Array, body: string): Buffer => chainHash(prevHash, body);

/** What is signed: the hash, under a name that no other signature of the house has. */
export const signedBytes = (hash: Uint8Array): Buffer => Buffer.concat([Buffer.from('tocsin-checkpoint-1\n'), hash]);

/** Digest (hex) of the feed positions of a run, in the order of their versions. */
export const positionsDigest = (entries: readonly { version: number; position: string }[]): string =>
  createHash('sha256').update(entries.map((entry) => `${entry.version}:${entry.position}`).join(',')).digest('hex');

/** Whether the signature is one of a known key. */
export const isSigned = (checkpoint: Checkpoint, keys: readonly PublicKey[]): boolean => {
  const key = keys.find((one) => one.id === checkpoint.keyId);
  return key !== undefined && isSignedBy(key, signedBytes(checkpoint.hash), checkpoint.signature);
};

const lineSchema = z.object({ sequence: z.number().int(), ledger: z.string(), body: z.string(), prev_hash: z.string(), hash: z.string(), key: z.string(), signature: z.string() });

/** A checkpoint as one line of JSON, as it stands outside of the database. */
export const toLine = (one: Checkpoint, ledger: string): string => JSON.stringify({
  sequence: one.sequence, ledger, body: one.body, prev_hash: one.prevHash.toString('hex'), hash: one.hash.toString('hex'), key: one.keyId, signature: one.signature.toString('base64url'),
});

/** Reads such a line; null where it is none. The ledger is that of the line: the body has its own. */
export const readLine = (text: string): (Checkpoint & { ledger: string }) | null => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const line = lineSchema.safeParse(value).data;
  return line === undefined ? null : {
    sequence: line.sequence, ledger: line.ledger, body: line.body, prevHash: Buffer.from(line.prev_hash, 'hex'), hash: Buffer.from(line.hash, 'hex'), keyId: line.key, signature: Buffer.from(line.signature, 'base64url'),
  };
};
