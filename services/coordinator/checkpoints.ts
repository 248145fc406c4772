import type { Engine } from '../../shared/delivery/engine.ts';
import { openCheckpointFile } from '../../shared/ledger/checkpoint-file.ts';
import { makeCheckpoints, withCheckpointLock } from '../../shared/ledger/checkpoint-make.ts';
import { CHECKPOINT_PURPOSE } from '../../shared/ledger/checkpoint.ts';
import { signingKeyOf } from '../../shared/security/signing-key.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';

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
 * file of its own outside of the database.
 */
export const startCheckpoints = ({ engine, file }: { engine: Pick<Engine, 'db' | 'ring' | 'now' | 'log'>; file: string }): Checkpoints => {
  const copy = openCheckpointFile(file);
  const key = signingKeyOf(engine.ring, CHECKPOINT_PURPOSE);
  const tick = (): Promise<number> => withCheckpointLock(engine.db, async (asker) => {
    const made = await makeCheckpoints(asker, { now: engine.now(), key });
    await copy.catchUp(asker);
    return made;
  });

  let closed = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const layNext = (): void => {
    if (closed) return;
    timer = setTimeout(() => {
      running = tick().then(
        () => undefined,
        (error: unknown) => { engine.log.warn({ event: EVENTS.checkpointFailed, code: (error as { code?: string }).code, error: (error as Error).name }); },
      ).finally(layNext);
    }, EVERY_MS - (engine.now() % EVERY_MS) + AFTER_TURN_MS);
    timer.unref();
  };
  layNext();
  return {
    tick,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
};
