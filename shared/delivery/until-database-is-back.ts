import { appendInDoubt } from '../ledger/appender.ts';
import { isDatabaseAway } from '../ledger/database.ts';
import type { Append } from '../ledger/rows.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { Engine } from './engine.ts';

const GIVE_UP_AFTER_MS = 120_000;

/**
 * Repeats what failed because the database was away, further and further apart, for at most two minutes. Only for what may be
 * repeated: a round of load, decide and append is told which of its own earlier appends may stand, finds one that does, and does nothing.
 */
export const untilDatabaseIsBack = async <Value>(engine: Engine, run: (doubts: readonly Append[]) => Promise<Value>): Promise<Value> => {
  const doubts: Append[] = [];
  const from = engine.monotonic();
  for (let pause = 100; ; pause = Math.min(2_000, pause * 2)) {
    try {
      return await run(doubts);
    } catch (error) {
      if (!isDatabaseAway(error) || engine.monotonic() - from > GIVE_UP_AFTER_MS) throw error;
      const doubt = appendInDoubt(error);
      if (doubt) doubts.push(doubt);
      engine.log.warn({ event: EVENTS.databaseAway, retry_in_ms: pause });
      await engine.wait(pause);
    }
  }
};
