import type { PublicKey } from '../security/signing-key.ts';
import { NO_CHECKPOINT_HASH, checkpointHash, isSigned, readBody } from './checkpoint.ts';
import type { Checkpoint, CheckpointBody } from './checkpoint.ts';
import { readGenuine } from './checkpoint-genuine.ts';
import type { StoredCheckpoint } from './checkpoint-read.ts';
import type { Faults } from './verify-fault.ts';

/** Follows one chain of checkpoints, that of the table or that of a file; checks each by itself and against the one before. */
export interface CheckpointChain {
  /** What the checkpoint says; null where it cannot be read, or no key signed it: what a forger says is held against nothing. */
  next: (one: Checkpoint & Partial<StoredCheckpoint>) => CheckpointBody | null;
}

export type Row = Checkpoint & Partial<StoredCheckpoint>;
const UNSIGNED = 'is not one of a key of this deployment: the checkpoint was made by someone else, or changed';

/**
 * One row of each number: the genuine one where there is one, so that a forged row beside it diverts nothing. The others are told.
 */
export const onePerNumber = async function* (rows: AsyncGenerator<Row>, { faults, keys }: { faults: Faults; keys: readonly PublicKey[] | null }): AsyncGenerator<Row> {
  let best: { row: Row; genuine: boolean } | null = null;
  for await (const row of rows) {
    const genuine = keys !== null && readGenuine(row, keys) !== null;
    if (best?.row.sequence === row.sequence) {
      faults.add({ checkpoint: row.sequence }, 'checkpoint.signature', keys ? `of a second row of this number ${UNSIGNED}` : 'there are several rows of this number, and without a key it cannot be told which is genuine');
      if (genuine && !best.genuine) best = { row, genuine };
    } else {
      if (best) yield best.row;
      best = { row, genuine };
    }
  }
  if (best) yield best.row;
};

/** `keys` null: signatures cannot be checked, since no key is known. */
export const followCheckpoints = ({ where, faults, keys }: { where: 'checkpoint' | 'checkpoint file'; faults: Faults; keys: readonly PublicKey[] | null }): CheckpointChain => {
  let sequence = 0;
  let previous: Buffer = NO_CHECKPOINT_HASH;
  return {
    next: (one) => {
      const at = { checkpoint: one.sequence };
      const unsigned = keys !== null && !isSigned(one, keys);
      if (unsigned) faults.add(at, `${where}.signature`, UNSIGNED);
      const gap = one.sequence !== sequence + 1;
      const body = readBody(one.body);
      const copied = body !== null && body.sequence !== one.sequence;
      if (copied) faults.add(at, `${where}.sequence`, 'is not the one in the text');
      // A forged row far ahead does not make what lies between missing.
      if (gap && (unsigned || copied)) return null;
      if (gap) faults.add({ checkpoint: sequence + 1 }, `${where}.sequence`, one.sequence === sequence + 2 ? `checkpoint ${sequence + 1} is missing` : `checkpoints ${sequence + 1} to ${one.sequence - 1} are missing`);
      else if (!one.prevHash.equals(previous)) faults.add(at, `${where}.prev_hash`, 'is not the hash of the checkpoint before');
      if (!checkpointHash(one.prevHash, one.body).equals(one.hash)) faults.add(at, `${where}.body`, 'its hash does not cover this text: body or hash was changed');
      sequence = one.sequence;
      previous = one.hash;
      if (body === null) faults.add(at, `${where}.body`, 'is not the text of a checkpoint');
      else {
        if (one.minuteAt !== undefined && one.minuteAt !== body.minute_at) faults.add(at, `${where}.minute_at`, 'is not the one in the text');
        if (one.part !== undefined && one.part !== body.part) faults.add(at, `${where}.part`, 'is not the one in the text');
        if (one.snapshot !== undefined && one.snapshot !== body.snapshot) faults.add(at, `${where}.snapshot`, 'is not the one in the text');
      }
      return unsigned || copied ? null : body;
    },
  };
};
