import type { Decision } from '../domain/work.ts';
import type { Append } from '../ledger/rows.ts';
import { isAwayInMidStatement } from '../ledger/database.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { decideAndAppend } from './decide-and-append.ts';
import type { Engine } from './engine.ts';
import { untilDatabaseIsBack } from './until-database-is-back.ts';

interface Doubted { decision: Decision; append: Append; actor: string; /** How what came of it is recorded. */ record: typeof decideAndAppend }

/** What the database had received when it went away may be carried out once it is back; looked for after these waits, in milliseconds. */
const LOOK_AFTER_MS = [0, 1_000, 4_000, 15_000];

const lands = async (engine: Engine, append: Append): Promise<boolean> => {
  for (const pause of LOOK_AFTER_MS) {
    if (pause > 0) await engine.wait(pause);
    const landed = await untilDatabaseIsBack(engine, () => engine.ledger.landed(append));
    if (landed !== null) return landed;
  }
  return false;
};

const recordAbandoned = async (engine: Engine, { decision, append, actor, record }: Doubted): Promise<void> => {
  const started = decision.transitions.flatMap(({ transition: t }) => (t.kind === 'SubmissionStarted' ? [t.details] : []));
  if (started.length === 0 || !(await lands(engine, append))) return;
  for (const { attempt, submission } of started) {
    await untilDatabaseIsBack(engine, (doubts) => record(engine, append.eventId, {
      doubts, provenance: { actor, requestId: `never-called-${attempt}-${submission}` },
      command: () => ({ kind: 'record_submission', attempt, submission, result: { kind: 'abandoned', reason: 'start_too_late' } }),
    }));
  }
};

/**
 * After an append or acceptance that failed since the database went away: where it stands all the same, the submissions that it started were never
 * made, for nobody makes them but whoever hears that they stand. They are recorded as abandoned and so tried again, instead of being taken, once their
 * time is over, for messages that may have been sent. Goes on by itself; a process that dies meanwhile leaves them unknown.
 */
export const abandonIfLanded = (engine: Engine, error: unknown, doubted: Doubted): void => {
  if (!isAwayInMidStatement(error)) return;
  recordAbandoned(engine, doubted).catch((failed: unknown) => engine.log.warn({ event: EVENTS.databaseAway, event_id: doubted.append.eventId, error: (failed as Error).name }));
};
