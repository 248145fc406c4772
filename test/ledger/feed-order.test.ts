import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Engine } from '../../shared/delivery/engine.ts';
import { readFeed } from '../../shared/delivery/read-feed.ts';
import { readFeedHorizon } from '../../shared/ledger/feed.ts';
import { writeFeedCursor } from '../../shared/ledger/feed-cursor.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { TENANT, acceptOne, idsOf, openTransaction, readPage, readRest, readUntil, rollBackOpen, run, shownBy, untilSettled, viewOf } from './feed-support.ts';

let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };

beforeAll(async () => {
  database = await createTestDatabase();
  engine = await createTestEngine({ url: database.url, poolSize: 8 });
  // The first append of a database opens its epoch, and whoever comes meanwhile waits for it.
  await acceptOne(engine);
});
afterEach(rollBackOpen);
afterAll(async () => {
  await engine.close();
  await database.drop();
});

/** A cursor behind all that is there. */
const here = async (): Promise<string> => {
  await untilSettled(engine);
  for (let cursor: string | null = null; ;) {
    const page = await readPage(engine, cursor, 200);
    if (!page.hasMore) return page.nextCursor;
    cursor = page.nextCursor;
  }
};
/** Where an accepted notification stands in the ledger. */
const positions = async (eventId: string): Promise<{ xid: bigint; position: bigint }> => {
  const { rows: [row] } = await engine.db.pool.query('SELECT xid::text, min(position)::text AS position FROM ledger_entry WHERE event_id = $1 GROUP BY xid', [eventId]);
  return { xid: BigInt(row.xid), position: BigInt(row.position) };
};

describe('two transactions that overlap', () => {
  test('the lower position with the lower transaction id commits last: neither is told before it, both after it', async () => {
    const start = await here();
    const first = await openTransaction(engine);
    const second = await openTransaction(engine);
    const early = await acceptOne(first.engine);
    const late = await acceptOne(second.engine);
    await second.commit();
    const between = await readPage(engine, start);
    expect(between.items).toEqual([]);
    await first.commit();
    expect(await positions(early)).toMatchObject({ xid: BigInt(first.xid) });
    expect((await positions(early)).position < (await positions(late)).position).toBe(true);
    const { items } = await readUntil(engine, between.nextCursor, (all) => all.length >= 2);
    expect(idsOf(items)).toEqual([early, late]);
  });

  test('the lower position with the higher transaction id commits last: it is told last, and not lost', async () => {
    const start = await here();
    const lower = await openTransaction(engine);
    const higher = await openTransaction(engine);
    const late = await acceptOne(higher.engine);
    const early = await acceptOne(lower.engine);
    await lower.commit();
    const first = await readUntil(engine, start, (all) => all.length >= 1);
    expect(idsOf(first.items)).toEqual([early]);
    await higher.commit();
    expect((await positions(late)).xid > (await positions(early)).xid).toBe(true);
    expect((await positions(late)).position < (await positions(early)).position).toBe(true);
    const second = await readUntil(engine, first.cursor, (all) => all.length >= 1);
    expect(idsOf(second.items)).toEqual([late]);
    expect(idsOf(await readRest(engine, start))).toEqual([early, late]);
  });

  test.each(['commit', 'rollback'] as const)('a writer that stays open holds the feed back and loses nothing, whether it ends in %s', async (ending) => {
    const start = await here();
    const open = await openTransaction(engine);
    const held = await acceptOne(open.engine);
    const others: string[] = [];
    for (let count = 0; count < 5; count += 1) others.push(await acceptOne(engine));
    let { nextCursor } = await readPage(engine, start);
    for (let looks = 0; looks < 5; looks += 1) {
      const page = await readPage(engine, nextCursor);
      expect(page).toMatchObject({ items: [], hasMore: false });
      nextCursor = page.nextCursor;
    }
    await open[ending]();
    const wanted = ending === 'commit' ? [held, ...others] : others;
    const { items } = await readUntil(engine, nextCursor, (all) => all.length >= wanted.length);
    expect(idsOf(items)).toEqual(wanted);
  });
});

describe('an item', () => {
  test('is one change of the public view, as it was then; what changes nothing is passed over', async () => {
    const start = await here();
    const eventId = await acceptOne(engine);
    const attempt = `${eventId}.sms.1`;
    const views = [await viewOf(engine, eventId)];
    const go = async (command: Parameters<typeof run>[2], changes: boolean): Promise<void> => {
      await run(engine, eventId, command);
      if (changes) views.push(await viewOf(engine, eventId));
    };
    await go({ kind: 'start_submission', attempt }, true);
    await go({ kind: 'record_submission', attempt, submission: 1, result: { kind: 'accepted', providerMessageId: `SM${eventId}` } }, true);
    await go({ kind: 'record_status', attempt, reading: { kind: 'observed', outcome: 'accepted', reason: null } }, false);
    await go({ kind: 'record_status', attempt, reading: { kind: 'read_failed', reason: 'read_failed', retryAfterMs: null } }, false);
    await go({ kind: 'record_status', attempt, reading: { kind: 'observed', outcome: 'delivered', reason: null } }, true);
    await untilSettled(engine);
    const items = await readRest(engine, start);
    expect(items.map(shownBy)).toEqual(views);
    expect(items.map((item) => item.status)).toEqual(['accepted', 'in_progress', 'in_progress', 'delivered']);
    expect(await readRest(engine, start, 1)).toEqual(items);
  });

  test('has a changed_at that never decreases, also where the clocks of two writers disagree', async () => {
    const start = await here();
    const behind = { ...engine, now: () => Date.now() - 60_000 };
    await acceptOne(engine);
    await acceptOne(behind);
    await acceptOne(engine);
    await untilSettled(engine);
    const whole = await readRest(engine, start);
    const times = whole.map((item) => item.changed_at);
    expect(times).toEqual([...times].sort());
    expect(times[1]).toBe(times[0]);
    expect(await readRest(engine, start, 1)).toEqual(whole);
  });
});

describe('a cursor', () => {
  test('of a place that this database has not reached is refused, not answered with nothing', async () => {
    const { identity, epoch, xid } = await readFeedHorizon(engine.db, '');
    const at = (place: { epoch: number; xid: string }, issuer = identity): Promise<{ kind: string }> =>
      readFeed(engine, { tenant: TENANT, limit: 1, after: writeFeedCursor(engine.ring, TENANT, { place: { ...place, position: '1' }, issuer, changedAt: 0 }) });
    expect((await at({ epoch, xid: String(BigInt(xid) + 1_000_000n) })).kind).toBe('cursor_diverged');
    expect((await at({ epoch: epoch + 1, xid: '1' })).kind).toBe('cursor_diverged');
    expect((await at({ epoch, xid: '1' }, 'another')).kind).toBe('cursor_diverged');
    expect((await at({ epoch, xid: '1' })).kind).toBe('page');
  });
});
