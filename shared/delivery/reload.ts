import type { EventId } from '../domain/words.ts';
import type { Provenance } from '../ledger/rows.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Engine } from './engine.ts';

/** An append that came too late: it was decided on version `decidedOn`, and another one took the version after it. */
export interface LostRace { eventId: EventId; decidedOn: number; provenance: Provenance }

const fieldsOf = ({ eventId, decidedOn, provenance }: LostRace) => ({ event_id: eventId, decided_on: decidedOn, actor: provenance.actor, request_id: provenance.requestId });

/** Says that an append was refused for its version. Nothing of it was written. */
export const noteLostRace = (log: Logger, lost: LostRace): void => log.info({ event: EVENTS.appendLost, ...fieldsOf(lost) });

/**
 * Says which version the loser found when it loaded again, and the kinds of entries it then appended. Where there are none, the
 * ledger keeps a row of it, since no entry tells; a row that cannot be written is missed by nobody but an auditor.
 */
export const noteReload = async ({ log, ledger, now }: Pick<Engine, 'log' | 'ledger' | 'now'>, lost: LostRace, came: { found: number; to: readonly string[] }): Promise<void> => {
  const { eventId, decidedOn, provenance } = lost;
  if (came.to.length === 0) {
    await ledger.recordLostRace({ eventId, at: now(), actor: provenance.actor, requestId: provenance.requestId, decidedOn, found: came.found })
      .catch((error: unknown) => log.warn({ event: EVENTS.databaseAway, ...fieldsOf(lost), error: (error as Error).name }));
  }
  log.info({ event: EVENTS.appendReloaded, ...fieldsOf(lost), found: came.found, came_to: came.to });
};

/**
 * The provenance of what the loser appends once it has loaded again: its request id names the version it had lost on, so that
 * the entry itself says that it was decided anew.
 */
export const afterReload = ({ decidedOn, provenance }: LostRace): Provenance => ({ ...provenance, requestId: `${provenance.requestId}+reloaded-from-v${decidedOn}` });
