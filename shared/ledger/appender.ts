import type { Metrics } from '../telemetry/metrics.ts';
import type { Database, Statement } from './database.ts';
import { isDatabaseAway } from './database.ts';
import type { Append } from './rows.ts';
import { appendGroup, appendWithProvider, changesProvider } from './append-group.ts';
import { PACE_MS, groupCalls } from './group-commit.ts';

/** Appends; true where it won, false where the version had moved on (reload and decide again). */
export type Appender = (append: Append) => Promise<boolean>;

const OURS: Statement = {
  name: 'tocsin_append_landed_v1',
  text: 'SELECT hash FROM ledger_entry WHERE event_id = $1 AND version = $2',
};

/**
 * Whether an append whose answer was lost with the connection had been committed: its last hash covers actor, request and
 * instant, so that only our own append can have left it there.
 */
const landed = async (db: Database, append: Append): Promise<boolean | null> => {
  const [row] = await db.query<{ hash: Buffer }>(OURS, [append.eventId, append.version]);
  return row === undefined ? null : row.hash.equals(append.headHash);
};

/** The grouped appender of a process. An error of the database reaches the caller only where the append is known not to stand. */
export const createAppender = (db: Database, metrics: Metrics): Appender => {
  const grouped = groupCalls<Append, boolean>({
    run: async (appends) => {
      metrics.groupSize.observe({ statement: 'append' }, appends.length);
      const won = await appendGroup(db, appends);
      return appends.map((append) => won.has(append.eventId));
    },
    keyOf: (append) => append.eventId,
    maxGroup: 100,
    // While one group waits for its flush to disk the next one is worked on.
    lanes: 2,
    paceMs: PACE_MS,
    retryAlone: (error) => !isDatabaseAway(error),
  });
  const appended: Appender = async (append) => {
    try {
      return await (changesProvider(append) ? appendWithProvider(db, append) : grouped(append));
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
      const stands = await landed(db, append);
      if (stands === null) throw error;
      return stands;
    }
  };
  return async (append) => {
    const won = await appended(append);
    metrics.appends.inc({ result: won ? 'won' : 'lost' });
    return won;
  };
};
