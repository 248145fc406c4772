import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import type { NotificationView } from '../../shared/delivery/notification-view.ts';
import { createPostgresLedger } from '../../shared/ledger/postgres-ledger.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { acceptOne, keysOf, openTransaction, readPage, readUntil, rollBackOpen, run, shownBy, untilSettled, viewOf } from './feed-support.ts';
import type { Page } from './feed-support.ts';

const WRITERS = 8;
const EACH = 5;
let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };

beforeAll(async () => {
  database = await createTestDatabase();
  engine = await createTestEngine({ url: database.url, poolSize: 40 });
  // The first append of a database opens its epoch, and whoever comes meanwhile waits for it.
  await acceptOne(engine);
});
afterEach(rollBackOpen);
afterAll(async () => {
  await engine.close();
  await database.drop();
});

/** Whoever arrives waits for the next one to arrive; the last is let go by `open`. So transactions overlap, in ever other pairs. */
const turnstile = () => {
  let leave: (() => void) | null = null;
  const open = (): void => { leave?.(); leave = null; };
  return { open, pass: (): Promise<void> => { open(); return new Promise((resolve) => { leave = resolve; }); } };
};

test('eight writers and a reader: every change is told once, none is missed, and each page again with the same items first', async () => {
  const views = new Map<string, NotificationView[]>();
  const gate = turnstile();
  let writing = WRITERS;
  const record = async (eventId: string): Promise<void> => {
    views.set(eventId, [...(views.get(eventId) ?? []), await viewOf(engine, eventId)]);
  };
  const write = async (index: number): Promise<void> => {
    // Each its own ledger: in one process appends would be grouped into one transaction at a time.
    const own = createEngine({ ...engine, ledger: createPostgresLedger(engine.db) });
    for (let round = 0; round < EACH; round += 1) {
      const transaction = await openTransaction(own);
      const eventId = await acceptOne(transaction.engine);
      if (writing === WRITERS) await gate.pass();
      await transaction.commit();
      await record(eventId);
      const attempt = `${eventId}.sms.1`;
      await run(own, eventId, { kind: 'start_submission', attempt });
      await record(eventId);
      await run(own, eventId, { kind: 'record_submission', attempt, submission: 1, result: { kind: 'accepted', providerMessageId: `SM${eventId}` } });
      await record(eventId);
      await run(own, eventId, { kind: 'record_status', attempt, reading: { kind: 'observed', outcome: 'accepted', reason: null } });
      await record(eventId);
      if ((index + round) % 2 === 0) await run(own, eventId, { kind: 'record_status', attempt, reading: { kind: 'observed', outcome: 'delivered', reason: null } });
      else await run(own, eventId, { kind: 'close', reason: 'taken' });
      await record(eventId);
    }
    writing -= 1;
    gate.open();
  };
  const pages: Page[] = [];
  // What is there already is read before anybody writes.
  let { cursor } = await readUntil(engine, null, (all) => all.length === 1);
  const readAll = async (): Promise<void> => {
    for (let done = false; ;) {
      const page = await readPage(engine, cursor, 7);
      pages.push(page);
      cursor = page.nextCursor;
      if (done && !page.hasMore) return;
      if (writing === 0 && !done) {
        await untilSettled(engine);
        done = true;
      }
    }
  };
  await Promise.all([readAll(), ...Array.from({ length: WRITERS }, (_, index) => write(index))]);

  const items = pages.flatMap((page) => page.items);
  expect(new Set(keysOf(items)).size).toBe(items.length);
  const told = new Map<string, NotificationView[]>();
  for (const item of items) told.set(item.event_id, [...(told.get(item.event_id) ?? []), shownBy(item)]);
  const changed = ([eventId, all]: [string, NotificationView[]]) => [eventId, all.filter((view, index) =>
    JSON.stringify({ ...view, updated_at: '' }) !== JSON.stringify({ ...all[index - 1], updated_at: '' }))] as const;
  expect(told).toEqual(new Map([...views].map(changed)));
  expect(items).toHaveLength(WRITERS * EACH * 4);
  const times = items.map((item) => item.changed_at);
  expect(times).toEqual([...times].sort());

  for (const page of pages.filter((_page, index) => index % 5 === 0)) {
    const again = await readPage(engine, page.after, 50);
    expect(again.items.slice(0, page.items.length)).toEqual(page.items);
  }
}, 240_000);
