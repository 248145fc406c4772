import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startEmbeddedPostgres } from '../../services/standalone/embedded-postgres.ts';
import type { EmbeddedPostgres } from '../../services/standalone/embedded-postgres.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { readFeed } from '../../shared/delivery/read-feed.ts';
import { migrate } from '../../shared/ledger/migrate.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { copyDatabase } from './feed-copy-database.ts';
import { TENANT, acceptOne, idsOf, keysOf, openTransaction, readPage, readRest, readUntil, rollBackOpen, run, untilSettled } from './feed-support.ts';

type Opened = Engine & { close: () => Promise<void> };
const ring = generateKeyRingText();
let database: TestDatabase;
let folder: string;
let second: EmbeddedPostgres;
let origin: Opened;
let restored: Opened;

beforeAll(async () => {
  database = await createTestDatabase();
  origin = await createTestEngine({ url: database.url, ring });
  folder = await mkdtemp(join(tmpdir(), 'tocsin-restore-'));
  second = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined, extraOptions: ['fsync=off', 'full_page_writes=off'] });
  await migrate(second.url);
}, 240_000);
afterEach(rollBackOpen);
afterAll(async () => {
  await Promise.all([origin, restored].map((engine) => engine?.close()));
  await Promise.all([database.drop(), second?.stop()]);
  await rm(folder, { recursive: true, force: true });
});

/** Uses up transaction ids, so that those of the origin are well above those of a new cluster. */
const burn = async (engine: Engine, count: number): Promise<void> => {
  for (let left = count; left > 0; left -= 1) await engine.db.pool.query('SELECT pg_current_xact_id()');
};
const topXid = async (engine: Engine): Promise<bigint> =>
  BigInt((await engine.db.pool.query<{ xid: string }>('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xid')).rows[0]?.xid as string);
const close = (engine: Engine, eventId: string): Promise<void> => run(engine, eventId, { kind: 'close', reason: 'taken' });

test('after dump and restore into another cluster, an old cursor goes on: nothing is missed, nothing is told twice', async () => {
  await burn(origin, 300);
  const first = await acceptOne(origin);
  const before = await readUntil(origin, null, (items) => items.length === 1);
  // Not read before the dump; and of the last two, the one with the lower position has the higher transaction id.
  await close(origin, first);
  const lower = await openTransaction(origin);
  const higher = await openTransaction(origin);
  const late = await acceptOne(higher.engine);
  const early = await acceptOne(lower.engine);
  await lower.commit();
  await higher.commit();
  await untilSettled(origin);
  const whole = await readRest(origin, null);
  expect(idsOf(whole)).toEqual([first, first, early, late]);

  await copyDatabase(database.url, second.url);
  restored = await createTestEngine({ url: second.url, ring });
  const { rows: [top] } = await restored.db.pool.query<{ xid: string }>('SELECT max(xid::text::bigint)::text AS xid FROM ledger_entry');
  expect(BigInt(top?.xid as string)).toBeGreaterThan(await topXid(restored) + 100n);

  // Before anything is written there: what is left of the origin's.
  expect(await readRest(restored, before.cursor)).toEqual(whole.slice(1));
  expect(await readRest(restored, null)).toEqual(whole);
  const halfway = await readPage(restored, before.cursor, 2);

  await close(restored, early);
  const added = await acceptOne(restored);
  await untilSettled(restored);
  const onwards = await readRest(restored, before.cursor, 1);
  expect(idsOf(onwards)).toEqual([first, early, late, early, added]);
  expect(onwards.slice(0, 3)).toEqual(whole.slice(1));
  expect(await readRest(restored, halfway.nextCursor)).toEqual(onwards.slice(2));
  const all = await readRest(restored, null);
  expect(all).toEqual([whole[0], ...onwards]);
  expect(new Set(keysOf(all)).size).toBe(all.length);
  const times = all.map((item) => item.changed_at);
  expect(times).toEqual([...times].sort());
}, 240_000);

test('a cursor from after the dump goes on with what is new; one of the copy is refused where the origin lives on', async () => {
  await acceptOne(origin);
  await untilSettled(origin);
  const past = (await readPage(origin, null, 200)).nextCursor;
  const known = (await readPage(restored, null, 200)).nextCursor;
  const written = (await readRest(restored, null)).slice(4);
  const added = await acceptOne(restored);
  await untilSettled(restored);
  expect(idsOf(await readRest(restored, past))).toEqual([...idsOf(written), added]);
  expect(idsOf(await readRest(restored, known))).toEqual([added]);
  const outcome = await readFeed(origin, { tenant: TENANT, after: known, limit: 1 });
  expect(outcome.kind).toBe('cursor_diverged');
});
