import type { EventId } from '../domain/words.ts';
import type { Provenance } from '../ledger/rows.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { Logger } from '../telemetry/logger.ts';

/** An append that came too late: it was decided on version `decidedOn`, and another one took the version after it. */
export interface LostRace { eventId: EventId; decidedOn: number; provenance: Provenance }

const fieldsOf = ({ eventId, decidedOn, provenance }: LostRace) => ({ event_id: eventId, decided_on: decidedOn, actor: provenance.actor, request_id: provenance.requestId });

/** Says that an append was refused for its version. Nothing of it was written. */
export const noteLostRace = (log: Logger, lost: LostRace): void => log.info({ event: EVENTS.appendLost, ...fieldsOf(lost) });

/** Says which version the loser found when it loaded again, and the kinds of entries it then appended: often none. */
export const noteReload = (log: Logger, lost: LostRace, came: { found: number; to: readonly string[] }): void =>
  log.info({ event: EVENTS.appendReloaded, ...fieldsOf(lost), found: came.found, came_to: came.to });

/**
 * The provenance of what the loser appends once it has loaded again: its request id names the version it had lost on, so that
 * the entry itself says that it was decided anew.
 */
export const afterReload = ({ decidedOn, provenance }: LostRace): Provenance => ({ ...provenance, requestId: `${provenance.requestId}+reloaded-from-v${decidedOn}` });
