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

/** Thrown where the database was away in mid-append and could not be asked afterwards whether it stands, or did not have it yet: one that was received may be carried out later still. */
class AppendInDoubt extends Error {
  readonly append: Append;
  constructor(append: Append, cause: unknown) {
    super('the database was away in mid-append', { cause });
    this.append = append;
  }
}

/** The append that an error leaves in doubt; null where it leaves none. */
export const appendInDoubt = (error: unknown): Append | null => (error instanceof AppendInDoubt ? error.append : null);

/**
 * Whether an append whose answer was lost with the connection had been committed: its last hash covers actor, request and
 * instant, so that only our own append can have left it there.
 */
export const landed = async (db: Database, append: Append): Promise<boolean | null> => {
  const [row] = await db.query<{ hash: Buffer }>(OURS, [append.eventId, append.version]);
  return row === undefined ? null : row.hash.equals(append.headHash);
};

/** The grouped appender of a process. An error of the database that leaves open whether the append stands is told apart: see `appendInDoubt`. */
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
      const stands = await landed(db, append).catch((again: unknown) => {
        if (!isDatabaseAway(again)) throw again;
        return null;
      });
      if (stands === null) throw new AppendInDoubt(append, error);
      return stands;
    }
  };
  return async (append) => {
    const won = await appended(append);
    metrics.appends.inc({ result: won ? 'won' : 'lost' });
    return won;
  };
};
