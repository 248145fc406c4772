import type { AttemptKey } from '../domain/words.ts';
import { isMessageTaken } from '../ledger/database.ts';
import type { Append } from '../ledger/rows.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { Engine } from './engine.ts';
import { untilDatabaseIsBack } from './until-database-is-back.ts';

/**
 * Records an answer, however long the database is away. One that names a message which another attempt has already cannot be true of both, so that
 * `instead` is recorded then: that it was not understood. A person has to look at such a provider.
 */
export const recordUnlessTaken = async <Value, Answer>(engine: Engine, key: AttemptKey, answer: { heard: Answer; instead: Answer }, record: (answer: Answer, doubts: readonly Append[]) => Promise<Value>): Promise<Value> => {
  try {
    return await untilDatabaseIsBack(engine, (doubts) => record(answer.heard, doubts));
  } catch (error) {
    if (!isMessageTaken(error)) throw error;
    engine.log.error({ event: EVENTS.messageTaken, attempt: key });
    return await untilDatabaseIsBack(engine, (doubts) => record(answer.instead, doubts));
  }
};
