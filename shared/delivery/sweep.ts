import type { Loaded } from '../ledger/load.ts';
import { faultPoint } from '../telemetry/fault-points.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { Engine } from './engine.ts';
import { tryDecide } from './decide-and-append.ts';
import { isDatabaseAway } from '../ledger/database.ts';

const BATCH = 500;

const decideOne = async (engine: Engine, loaded: Loaded, actor: string): Promise<boolean> => {
  try {
    const result = await tryDecide(engine, loaded, { kind: 'tick' }, { provenance: { actor, requestId: `tick-${loaded.eventId}-${loaded.state.version}` } });
    return result?.kind === 'appended';
  } catch (error) {
    if (isDatabaseAway(error)) throw error;
    // One notification that cannot be decided on must not hold up the others.
    engine.log.error({ event: EVENTS.decisionFailed, event_id: loaded.eventId, error: (error as Error).name });
    return false;
  }
};

/**
 * Applies every decision that is due, the longest overdue first, in grouped appends. Needs Postgres alone. No lease: of two
 * coordinators at one deadline one append wins, and the other finds nothing more to do. Returns how many were decided.
 */
export const sweepDecisions = async (engine: Engine, actor: string): Promise<number> => {
  let decided = 0;
  for (;;) {
    const due = await engine.ledger.loadDueDecisions(engine.now(), BATCH);
    if (due.length === 0) return decided;
    const outcomes = await Promise.all(due.map((loaded) => decideOne(engine, loaded, actor)));
    const moved = outcomes.filter(Boolean).length;
    decided += moved;
    faultPoint('mid-tick');
    // Nothing moved: another coordinator took them all, or they cannot be decided; the next tick looks again.
    if (due.length < BATCH || moved === 0) return decided;
  }
};
