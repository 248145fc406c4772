import type { Engine } from '../../shared/delivery/engine.ts';
import { openCheckpointFile } from '../../shared/ledger/checkpoint-file.ts';
import { openChain } from '../../shared/ledger/checkpoint-genuine.ts';
import { makeCheckpoints, withCheckpointLock } from '../../shared/ledger/checkpoint-make.ts';
import { openCheckpointPatrol } from '../../shared/ledger/checkpoint-patrol.ts';
import { CHECKPOINT_PURPOSE } from '../../shared/ledger/checkpoint.ts';
import { publicKeysOf, signingKeyOf } from '../../shared/security/signing-key.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import { repeat } from './repeat.ts';

const EVERY_MS = 60_000;
/** Let the transactions of the minute's turn end, so that a checkpoint covers all of its minute. */
const AFTER_TURN_MS = 1_000;

export interface Checkpoints {
  /** Makes what is due and brings the file up to date. Returns how many checkpoints this call made. */
  tick: () => Promise<number>;
  close: () => Promise<void>;
}

/**
 * A signed checkpoint every minute in which something was appended, made by one coordinator of all, and copied by each into a
 * file of its own outside of the database. Rows that no key of the deployment signed divert neither; each is told once, as an error.
 */
export const startCheckpoints = ({ engine, file }: { engine: Pick<Engine, 'db' | 'ring' | 'now' | 'log'>; file: string }): Checkpoints => {
  const key = signingKeyOf(engine.ring, CHECKPOINT_PURPOSE);
  const keys = publicKeysOf(engine.ring, CHECKPOINT_PURPOSE);
  const [chain, copy, patrol] = [openChain(keys), openCheckpointFile(file, keys), openCheckpointPatrol(keys)];
  const tick = (): Promise<number> => withCheckpointLock(engine.db, async (asker) => {
    const made = await makeCheckpoints(asker, { now: engine.now(), key, chain });
    const newest = await chain.newest(asker);
    await copy.catchUp(asker, newest?.ledger ?? null);
    const forged = await patrol.look(asker, newest);
    // Somebody writes into the database who has no business there; `ledger verify` names every such row.
    if (forged.length > 0) engine.log.error({ event: EVENTS.checkpointForged, checkpoints: forged.slice(0, 10), count: forged.length });
    return made;
  });

  const { close } = repeat({
    turn: tick, waitMs: () => EVERY_MS - (engine.now() % EVERY_MS) + AFTER_TURN_MS,
    onError: (error) => engine.log.warn({ event: EVENTS.checkpointFailed, code: (error as { code?: string }).code, error: (error as Error).name }),
  });
  return { tick, close };
};
