import { isDatabaseAway } from '../ledger/database.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { Engine } from './engine.ts';

const GIVE_UP_AFTER_MS = 120_000;

/**
 * Repeats what failed because the database was away, further and further apart, for at most two minutes. Only for what may be
 * repeated: a round of load, decide and append finds its own earlier append and does nothing.
 */
export const untilDatabaseIsBack = async <Value>(engine: Engine, run: () => Promise<Value>): Promise<Value> => {
  const from = engine.monotonic();
  for (let pause = 100; ; pause = Math.min(2_000, pause * 2)) {
    try {
      return await run();
    } catch (error) {
      if (!isDatabaseAway(error) || engine.monotonic() - from > GIVE_UP_AFTER_MS) throw error;
      engine.log.warn({ event: EVENTS.databaseAway, retry_in_ms: pause });
      await engine.wait(pause);
    }
  }
};
