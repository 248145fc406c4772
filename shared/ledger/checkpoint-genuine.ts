import type { PublicKey } from '../security/signing-key.ts';
import { NO_CHECKPOINT_HASH, checkpointHash, isSigned, readBody } from './checkpoint.ts';
import type { Checkpoint, CheckpointBody } from './checkpoint.ts';
import { loadCheckpoint, readMarks, streamCheckpoints } from './checkpoint-read.ts';
import type { Asker, StoredCheckpoint } from './checkpoint-read.ts';

/**
 * What a checkpoint says, where a key of the deployment signed just that under just this number; else null. Whoever may insert
 * can copy a row, but neither sign another text nor store the same signature twice under one number. The columns beside the
 * text are not asked: what counts is what was signed.
 */
export const readGenuine = (one: Checkpoint, keys: readonly PublicKey[]): CheckpointBody | null => {
  if (!isSigned(one, keys) || !checkpointHash(one.prevHash, one.body).equals(one.hash)) return null;
  const body = readBody(one.body);
  return body?.sequence === one.sequence ? body : null;
};

/** Where a chain of genuine checkpoints has come to. */
export interface Link { sequence: number; hash: Buffer }
export interface Head extends Link { signature: Buffer; minuteAt: number; snapshot: string; cluster: string; ledger: string }
export const NO_LINK: Link = { sequence: 0, hash: NO_CHECKPOINT_HASH };

export interface Genuine { stored: StoredCheckpoint; body: CheckpointBody }

/** The genuine checkpoints that follow one in the table, as an unbroken chain; whatever else stands there is passed over. */
export const followGenuine = async function* (asker: Asker, after: Link, keys: readonly PublicKey[]): AsyncGenerator<Genuine> {
  let at = after;
  for await (const stored of streamCheckpoints(asker, after.sequence)) {
    // Genuine numbers have no gaps: beyond one there is nothing to look for, however much stands there.
    if (stored.sequence > at.sequence + 1) return;
    if (stored.sequence !== at.sequence + 1 || !stored.prevHash.equals(at.hash)) continue;
    const body = readGenuine(stored, keys);
    if (!body) continue;
    at = stored;
    yield { stored, body };
  }
};

export const toHead = ({ stored, body }: { stored: Checkpoint; body: CheckpointBody }): Head => ({
  sequence: stored.sequence, hash: stored.hash, signature: stored.signature, minuteAt: body.minute_at, snapshot: body.snapshot, cluster: body.cluster, ledger: body.ledger,
});

/**
 * The newest genuine checkpoint, sought from the highest number downwards; null where there is none. With `keys` null
 * signatures count for nothing. Costs one page and one row where nobody has forged any.
 */
export const newestGenuine = async (asker: Asker, keys: readonly PublicKey[] | null): Promise<Head | null> => {
  for await (const mark of readMarks(asker, { newestFirst: true })) {
    if (keys && !isSigned({ ...mark, body: '' }, keys)) continue;
    const stored = await loadCheckpoint(asker, mark);
    const body = stored && (keys ? readGenuine(stored, keys) : readBody(stored.body));
    if (stored && body?.sequence === stored.sequence) return toHead({ stored, body });
  }
  return null;
};

/** Whether a checkpoint stands in the table; not any more where the database was put back to an earlier time. */
export const stands = async (asker: Asker, { sequence, signature }: { sequence: number; signature: Buffer }): Promise<boolean> => {
  const { rows } = await asker.query('SELECT 1 FROM checkpoint WHERE sequence = $1 AND signature = $2', [sequence, signature]);
  return rows.length > 0;
};

/** The chain of genuine checkpoints, and where it has come to. */
export interface Chain {
  /** The newest one. What was passed once is not read again. */
  newest: (asker: Asker) => Promise<Head | null>;
  /** Tells of one just made. */
  made: (head: Head) => void;
}

export const openChain = (keys: readonly PublicKey[]): Chain => {
  let head: Head | null = null;
  return {
    newest: async (asker) => {
      if (!head || !(await stands(asker, head))) head = await newestGenuine(asker, keys);
      for await (const one of followGenuine(asker, head ?? NO_LINK, keys)) head = toHead(one);
      return head;
    },
    made: (one) => { head = one; },
  };
};
