import type { Database, Statement } from './database.ts';
import { lowestEventId } from './event-ids.ts';

export interface Month { suffix: string; fromId: string; toId: string }

/** The month of an instant (UTC), with the range of event ids made in it; `ahead` counts months from there. */
export const monthOf = (at: number, ahead = 0): Month => {
  const date = new Date(at);
  const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead, 1);
  const next = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead + 1, 1);
  return { suffix: new Date(first).toISOString().slice(0, 7).replace('-', '_'), fromId: lowestEventId(first), toId: lowestEventId(next) };
};

const ENSURE: Statement = { name: 'tocsin_ensure_partition_v1', text: 'SELECT tocsin_ensure_partition($1, $2, $3) AS made' };

/** Makes the ledger's partitions of this month and the two after it, so that none is missing when its month begins. */
export const ensurePartitions = async (db: Pick<Database, 'query'>, now: number): Promise<number> => {
  let made = 0;
  for (const ahead of [0, 1, 2]) {
    const month = monthOf(now, ahead);
    const [row] = await db.query<{ made: boolean }>(ENSURE, [month.suffix, month.fromId, month.toId]);
    if (row?.made) made += 1;
  }
  return made;
};
