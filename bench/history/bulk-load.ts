import type pg from 'pg';
import { encodeTime } from 'ulid';
import { monthOf } from '../../shared/ledger/partitions.ts';
import { openClient } from './open-client.ts';
import type { Model } from './clone-sql.ts';
import { FILL_COPY, prepareCopies } from './clone-sql.ts';
import { smsIdOf } from './lives.ts';

export interface BulkLoad {
  /** The owner's URL. */
  url: string;
  /** Lives of this database, to be copied; the shares add up to 100. */
  models: readonly Model[];
  count: number;
  /** The instants that the event ids of the copies are spread over. */
  from: number;
  to: number;
  /** Connections that copy at the same time, each a stretch of the time. */
  lanes?: number;
  /** Copies in one transaction. */
  batch?: number;
  /** First number of a copy; ids never collide where numbers do not. */
  firstNumber?: number;
  onProgress?: (done: number) => void;
}

const ENSURE = 'SELECT tocsin_ensure_partition($1, $2, $3)';

const ensureMonths = async (client: pg.Client, from: number, to: number): Promise<void> => {
  for (let ahead = 0; ; ahead += 1) {
    const month = monthOf(from, ahead);
    await client.query(ENSURE, [month.suffix, month.fromId, month.toId]).catch((error: { code?: string }) => {
      // The lives themselves may stand in the default partition of a month that there was none for.
      if (error.code !== '23514') throw error;
    });
    if (month.toId > `evt_${encodeTime(to, 10)}`) return;
  }
};

const connect = async (url: string): Promise<pg.Client> => {
  const client = await openClient(url);
  // The chain and foreign keys are not checked row by row: that would take longer than the rest. `sampleFaults` looks afterwards.
  await client.query("SET synchronous_commit = off; SET work_mem = '128MB'; SET temp_buffers = '64MB'; SET session_replication_role = replica");
  return client;
};

/**
 * Copies settled or pending lives with every row they have, as the owner, with the triggers off (`session_replication_role`): chains are
 * recomputed, and every CHECK and unique index holds. Sealed boxes are the model's own, so that a copy cannot be rendered; recorded instants are the model's
 * too, while event ids, and with them partitions, are spread over the time given.
 */
export const bulkLoad = async (load: BulkLoad): Promise<void> => {
  const { lanes = 2, batch = 5_000, firstNumber = 0 } = load;
  const first = await connect(load.url);
  await ensureMonths(first, load.from, load.to);
  await first.end();
  const upto = load.models.reduce<number[]>((sums, { share }) => [...sums, (sums.at(-1) ?? 0) + share], []);
  let done = 0;
  const lane = async (index: number): Promise<void> => {
    const client = await connect(load.url);
    try {
      const statements = await prepareCopies(client, load.models, smsIdOf);
      const [low, high] = [Math.floor(load.count * index / lanes), Math.floor(load.count * (index + 1) / lanes)];
      for (let at = low; at < high; at += batch) {
        const end = Math.min(high, at + batch);
        await client.query('BEGIN');
        await client.query('TRUNCATE copy, head');
        await client.query(FILL_COPY, [firstNumber + at, firstNumber + end - 1, encodeTime(Math.floor(load.from + (load.to - load.from) * at / load.count), 10), upto]);
        await client.query('ANALYZE copy');
        for (const statement of statements) await client.query(statement);
        await client.query('COMMIT');
        done += end - at;
        load.onProgress?.(done);
      }
    } finally {
      await client.end();
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, index) => lane(index)));
};
