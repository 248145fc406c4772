import { verifyNotification } from '../../shared/ledger/verify-database.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import { openClient } from './open-client.ts';
import { bulkLoad } from './bulk-load.ts';
import type { Model } from './clone-sql.ts';
import { openHistory } from './engine.ts';
import type { HistoryDatabase } from './engine.ts';
import { live } from './lives.ts';

const DAY_MS = 86_400_000;
/** How far ahead of the measured clock everything of the pending ones is due; rounds move the clock by a day each. */
const AHEAD_DAYS = 90;
/** Numbers of pending copies begin here, above those of settled ones. */
const PENDING_FROM = 8_000_000;

export interface Sizes { settled: number; pending: number }

const minutes = (ms: number): string => `${(ms / 1_000).toFixed(0)} s`;

const progress = (name: string, what: string, { count, say }: { count: number; say: (line: string) => void }) => {
  const startedAt = performance.now();
  let told = 0;
  return (done: number): void => {
    if (done < count && done - told < count / 10) return;
    told = done;
    say(`${name}: ${done.toLocaleString('en')} of ${count.toLocaleString('en')} ${what} after ${minutes(performance.now() - startedAt)}`);
  };
};

/** The lives that the settled ones are copied from: lived some days ago, until their addresses were destroyed. */
const settledModels = async (database: HistoryDatabase, startAt: number): Promise<Model[]> => {
  const models: Model[] = [];
  for (const [ending, share] of [['delivered', 75], ['undelivered', 20], ['unconfirmed', 5]] as const) {
    database.moveTo(startAt - 3 * DAY_MS);
    models.push({ eventId: await live(database, ending, startAt - DAY_MS), share });
  }
  return models;
};

/** An SMS submitted and not confirmed yet, at an instant far ahead. */
const pendingModel = async (database: HistoryDatabase, at: number): Promise<Model[]> => {
  database.moveTo(at);
  return [{ eventId: await live(database, 'unconfirmed', at + 12_000), share: 100 }];
};

/** Looks at some copies as `tocsin ledger verify` does. @throws where one is not sound. */
const verifySome = async (database: HistoryDatabase, sizes: Sizes): Promise<number> => {
  const faults = collectFaults();
  const { rows } = await database.engine.db.pool.query<{ event_id: string }>(
    'SELECT event_id FROM notification TABLESAMPLE BERNOULLI ($1)', [Math.min(100, 5_000 / (sizes.settled + sizes.pending))]);
  for (const { event_id } of rows) await verifyNotification(database.engine.db, event_id, { faults, ring: null });
  const [first] = faults.list;
  if (first) throw new Error(`${database.name}: copy ${first.eventId}: ${first.column} ${first.text}`);
  return rows.length;
};

/** Makes a database with so much history, and tells how large it became and how long it took. */
export const makeHistory = async (serverUrl: string, name: string, { startAt, sizes, say }: { startAt: number; sizes: Sizes; say: (line: string) => void }): Promise<void> => {
  const database = await openHistory(serverUrl, name);
  try {
    const startedAt = performance.now();
    const settled = await settledModels(database, startAt);
    await bulkLoad({
      url: database.url, models: settled, count: sizes.settled, from: startAt - 400 * DAY_MS, to: startAt - 4 * DAY_MS,
      onProgress: progress(name, 'settled', { count: sizes.settled, say }),
    });
    const at = startAt + AHEAD_DAYS * DAY_MS;
    const pending = await pendingModel(database, at);
    await bulkLoad({ url: database.url, models: pending, count: sizes.pending, firstNumber: PENDING_FROM, from: at, to: at + 60_000, onProgress: progress(name, 'pending', { count: sizes.pending, say }) });
    const owner = await openClient(database.url);
    await owner.query("SET maintenance_work_mem = '256MB'");
    await owner.query('VACUUM (FREEZE, ANALYZE)');
    const { rows: [row] } = await owner.query<{ size: string }>('SELECT pg_size_pretty(pg_database_size(current_database())) AS size');
    await owner.end();
    const verified = await verifySome(database, sizes);
    say(`${name}: ${row?.size}, loaded and vacuumed in ${minutes(performance.now() - startedAt)}; ${verified} copies verified`);
  } finally {
    await database.close();
  }
};
