import { nextDecideAt } from '../domain/lifecycle.ts';
import type { Loaded } from '../ledger/load.ts';
import { faultPoint } from '../telemetry/fault-points.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { Engine } from './engine.ts';
import { decideAndAppend, tryDecide } from './decide-and-append.ts';
import { noteLostRace } from './reload.ts';
import { isDatabaseAway } from '../ledger/database.ts';

const BATCH = 500;

/** How long a notification that could not be decided on is left alone; an operator has to act on its error in the log. */
const POSTPONE_MS = 30_000;

type Fate = 'moved' | 'lost_race' | 'failed';

const decideOne = async (engine: Engine, loaded: Loaded, actor: string): Promise<Fate> => {
  try {
    const provenance = { actor, requestId: `tick-${loaded.eventId}-${loaded.state.version}` };
    const first = await tryDecide(engine, loaded, { kind: 'tick' }, { provenance });
    if (first) return first.kind === 'appended' ? 'moved' : 'lost_race';
    const lost = { eventId: loaded.eventId, decidedOn: loaded.state.version, provenance };
    noteLostRace(engine.log, lost);
    const again = await decideAndAppend(engine, loaded.eventId, { provenance, command: () => ({ kind: 'tick' }) }, lost);
    return again.kind === 'appended' ? 'moved' : 'lost_race';
  } catch (error) {
    if (isDatabaseAway(error)) throw error;
    // One notification that cannot be decided on must not hold up the others.
    engine.log.error({ event: EVENTS.decisionFailed, event_id: loaded.eventId, error: (error as Error).name, code: (error as { code?: string }).code });
    return 'failed';
  }
};

/**
 * Sets free what waited for a provider that is back, and lets one attempt through to each provider whose probe is due. Whoever
 * comes second loses the race and finds nothing to do. Returns how many moved.
 */
export const releaseWaiting = async (engine: Engine, actor: string): Promise<number> => {
  let released = 0;
  for (;;) {
    const waiting = await engine.ledger.loadWaiting(engine.now(), BATCH);
    const outcomes = await Promise.all(waiting.map((loaded) => decideOne(engine, loaded, actor)));
    const moved = outcomes.filter((fate) => fate === 'moved').length;
    released += moved;
    if (waiting.length < BATCH || moved === 0) return released;
  }
};

/**
 * Applies every decision that is due, the longest overdue first, in grouped appends. Needs Postgres alone. No lease: of two
 * coordinators at one deadline one append wins, and the other reloads and finds nothing more to do. Returns how many were decided.
 */
export const sweepDecisions = async (engine: Engine, actor: string): Promise<number> => {
  let decided = 0;
  for (;;) {
    const due = await engine.ledger.loadDueDecisions(engine.now(), BATCH);
    if (due.length === 0) return decided;
    for (const { state } of due) engine.metrics.decisionLagSeconds.observe(Math.max(0, engine.now() - (nextDecideAt(state) ?? engine.now())) / 1000);
    const outcomes = await Promise.all(due.map((loaded) => decideOne(engine, loaded, actor)));
    const moved = outcomes.filter((fate) => fate === 'moved').length;
    const failed = due.filter((_, index) => outcomes[index] === 'failed').map((loaded) => loaded.eventId);
    if (failed.length > 0) await engine.ledger.postponeDecisions(failed, engine.now() + POSTPONE_MS);
    decided += moved;
    faultPoint('mid-tick');
    // Nothing moved: another coordinator took them all; the next tick looks again.
    if (due.length < BATCH || moved + failed.length === 0) return decided;
  }
};
