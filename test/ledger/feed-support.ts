import { randomBytes } from 'node:crypto';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { decideAndAppend } from '../../shared/delivery/decide-and-append.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { notificationView } from '../../shared/delivery/notification-view.ts';
import type { NotificationView } from '../../shared/delivery/notification-view.ts';
import { readFeed } from '../../shared/delivery/read-feed.ts';
import type { FeedItem } from '../../shared/delivery/read-feed.ts';
import type { Command } from '../../shared/domain/decide.ts';
import { createPostgresLedger } from '../../shared/ledger/postgres-ledger.ts';
import { readNotification } from '../../shared/ledger/reads.ts';
import { urgentRequest } from '../support/test-engine.ts';

export const TENANT = 'default';
/** Another test on the same server may load its rows in one long transaction, and the feed waits for whatever is under way. */
export const PATIENCE_MS = 100_000;

/** Accepts an urgent intent; resolves to its event id. */
export const acceptOne = async (engine: Engine): Promise<string> => {
  const outcome = await acceptNotification(engine, urgentRequest('03', { idempotencyKey: randomBytes(12).toString('hex') }));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.eventId;
};

/** Loads, decides and appends one command. */
export const run = async (engine: Engine, eventId: string, command: Command): Promise<void> => {
  const result = await decideAndAppend(engine, eventId, { provenance: { actor: 'test', requestId: 'r' }, command: () => command });
  if (result.kind !== 'appended') throw new Error(`${command.kind}: ${result.kind}`);
};

/** What its public view says now. */
export const viewOf = async (engine: Engine, eventId: string): Promise<NotificationView> => {
  const record = await readNotification(engine.db, { eventId });
  if (!record) throw new Error(`no ${eventId}`);
  return notificationView(record, await engine.versions.bind(record.purpose, record.policyVersion));
};

/** The view that an item shows. */
export const shownBy = (item: FeedItem): NotificationView => {
  const view: Partial<FeedItem> = { ...item };
  delete view.version;
  delete view.changed_at;
  return view as NotificationView;
};

export interface OpenTransaction { engine: Engine; xid: string; commit: () => Promise<void>; rollback: () => Promise<void> }

const open = new Set<OpenTransaction>();

/** Ends what a failed test left open: it would hold the feed of every database of the server back. For `afterEach`. */
export const rollBackOpen = async (): Promise<void> => {
  for (const transaction of [...open]) await transaction.rollback();
};

/** A transaction that has its id already and stays open; what its engine writes becomes visible with `commit`. */
export const openTransaction = async (base: Engine): Promise<OpenTransaction> => {
  const client = await base.db.pool.connect();
  await client.query('BEGIN');
  const { rows: [row] } = await client.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
  const db = { ...base.db, query: async (statement: { name: string; text: string }, values: unknown[]) => (await client.query({ ...statement, values })).rows } as Engine['db'];
  const end = (how: string) => async (): Promise<void> => {
    open.delete(transaction);
    await client.query(how);
    client.release();
  };
  const transaction: OpenTransaction = {
    engine: createEngine({ ...base, db, ledger: createPostgresLedger(db) }), xid: row?.xid as string, commit: end('COMMIT'), rollback: end('ROLLBACK'),
  };
  open.add(transaction);
  return transaction;
};

export interface Page { items: FeedItem[]; nextCursor: string; hasMore: boolean; after: string | null; limit: number }

/** One page; throws where the cursor is refused. */
export const readPage = async (engine: Engine, after: string | null, limit = 50): Promise<Page> => {
  const outcome = await readFeed(engine, { tenant: TENANT, after, limit });
  if (outcome.kind !== 'page') throw new Error(outcome.kind);
  return { ...outcome, after, limit };
};

/**
 * Reads on from a cursor until what was read is as wanted. A transaction of another test on the same server may hold the feed
 * back for a moment, so that one look is not always enough.
 */
export const readUntil = async (engine: Engine, after: string | null, wanted: (items: FeedItem[]) => boolean, limit = 50): Promise<{ items: FeedItem[]; pages: Page[]; cursor: string }> => {
  const items: FeedItem[] = [];
  const pages: Page[] = [];
  const givesUpAt = performance.now() + PATIENCE_MS;
  for (let cursor = after; ; cursor = pages.at(-1)?.nextCursor ?? null) {
    const page = await readPage(engine, cursor, limit);
    pages.push(page);
    items.push(...page.items);
    if (wanted(items)) return { items, pages, cursor: page.nextCursor };
    if (performance.now() > givesUpAt) throw new Error(`the feed told ${items.length} items and no more`);
  }
};

/** Resolves once every transaction that is under way at the call has ended. */
export const untilSettled = async (engine: Engine): Promise<void> => {
  const { rows: [top] } = await engine.db.pool.query<{ xid: string }>('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xid');
  const givesUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    if (performance.now() > givesUpAt) throw new Error('a transaction stays open');
    const { rows: [row] } = await engine.db.pool.query<{ passed: boolean }>('SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 AS passed', [top?.xid]);
    if (row?.passed) return;
  }
};

/** All there is to read from a cursor on; call `untilSettled` first. */
export const readRest = async (engine: Engine, after: string | null, limit = 50): Promise<FeedItem[]> => {
  const items: FeedItem[] = [];
  for (let cursor = after; ;) {
    const page = await readPage(engine, cursor, limit);
    items.push(...page.items);
    if (!page.hasMore) return items;
    cursor = page.nextCursor;
  }
};

export const idsOf = (items: readonly FeedItem[]): string[] => items.map((item) => item.event_id);
export const keysOf = (items: readonly FeedItem[]): string[] => items.map((item) => `${item.event_id} ${item.version}`);
