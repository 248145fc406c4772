import type { Database, Statement } from './database.ts';
import { isDatabaseAway } from './database.ts';
import { groupCalls } from './group-commit.ts';
import { toTimestamp } from './instants.ts';

/** An append that came too late and, once its decider had loaded again, was not followed by another. */
export interface LostRaceRecord { eventId: string; at: number; actor: string; requestId: string; decidedOn: number; found: number }

const RECORD: Statement = {
  name: 'tocsin_record_lost_races_v1',
  text: `INSERT INTO lost_race (event_id, at, actor, request_id, decided_on, found)
         SELECT * FROM jsonb_to_recordset($1::jsonb) AS r(event_id text, at timestamptz, actor text, request_id text, decided_on integer, found integer)`,
};

/** Records them, those of the same time in one statement. */
export const createLostRaceRecorder = (db: Database): ((one: LostRaceRecord) => Promise<void>) => {
  let serial = 0;
  const record = groupCalls<LostRaceRecord & { serial: number }, null>({
    run: async (races) => {
      await db.query(RECORD, [JSON.stringify(races.map((one) => ({
        event_id: one.eventId, at: toTimestamp(one.at), actor: one.actor, request_id: one.requestId, decided_on: one.decidedOn, found: one.found,
      })))]);
      return races.map(() => null);
    },
    keyOf: (one) => String(one.serial), maxGroup: 500, retryAlone: (error) => !isDatabaseAway(error),
  });
  return async (one) => {
    serial += 1;
    await record({ ...one, serial });
  };
};

/** The races lost for a notification without an entry to show for it, oldest first. */
export const readLostRaces = async (db: Database, eventId: string): Promise<LostRaceRecord[]> => {
  const rows = await db.prisma.lostRace.findMany({ where: { eventId }, orderBy: { id: 'asc' } });
  return rows.map(({ at, actor, requestId, decidedOn, found }) => ({ eventId, at: at.getTime(), actor, requestId, decidedOn, found }));
};
