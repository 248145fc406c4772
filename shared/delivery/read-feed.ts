import { evolve } from '../domain/evolve.ts';
import { emptyState } from '../domain/state.ts';
import type { NotificationState } from '../domain/state.ts';
import type { Stamped, Transition } from '../domain/transitions.ts';
import type { FeedEntry, FeedHorizon, FeedPlace, IntentRecord, PastEntry } from '../ledger/feed.ts';
import { FEED_START, loadPast, readFeedHorizon, readIntents, scanFeed } from '../ledger/feed.ts';
import type { FeedCursor } from '../ledger/feed-cursor.ts';
import { readFeedCursor, writeFeedCursor } from '../ledger/feed-cursor.ts';
import type { Engine } from './engine.ts';
import type { NotificationView } from './notification-view.ts';
import { stateView } from './notification-view.ts';

/** The public view of a notification as one append left it. `changed_at` never decreases from one item to the next. */
export type FeedItem = NotificationView & { version: number; changed_at: string };

export type FeedOutcome =
  | { kind: 'page'; items: FeedItem[]; nextCursor: string; hasMore: boolean }
  /** Not a cursor of this tenant's feed. */
  | { kind: 'cursor_invalid' }
  /** A cursor past a restored backup, or of another copy: what it has seen cannot be told from what it has not. */
  | { kind: 'cursor_diverged' };

/** Entries scanned at once, for each item asked for: an append has two or three, and not every one changes the view. */
const ENTRIES_PER_ITEM = 4;
const LEAST_WINDOW = 100;
/** A page scans no more than so many windows, also for a tenant to whom next to none of the entries belong. */
const MOST_WINDOWS = 4;

interface Change { place: FeedPlace; version: number; at: number; view: NotificationView }

const stampedOf = ({ at, body }: PastEntry): Stamped => {
  const { kind, details } = JSON.parse(body) as Transition;
  return { at, transition: { kind, details } as Transition };
};

/** All states a notification has been in, by version; as far as its entries were loaded. */
const statesOf = (eventId: string, past: readonly PastEntry[]): NotificationState[] => {
  const states = [emptyState(eventId)];
  for (const entry of past) states.push(evolve(states.at(-1) as NotificationState, stampedOf(entry)));
  return states;
};

/** The versions around the append that ends with a version; null where its append goes on: nobody ever saw it then. */
const appendEndingAt = (version: number, past: readonly PastEntry[]): { before: number } | null => {
  const own = past[version - 1];
  if (own?.version !== version) throw new Error('the ledger has a gap');
  if (past[version]?.append === own.append) return null;
  let before = version - 1;
  while (before > 0 && past[before - 1]?.append === own.append) before -= 1;
  return { before };
};

const samePublicly = (one: NotificationView, other: NotificationView): boolean =>
  JSON.stringify({ ...one, updated_at: '' }) === JSON.stringify({ ...other, updated_at: '' });

interface Told { intent: IntentRecord; past: readonly PastEntry[]; states: NotificationState[] }

/** The change of the public view that an entry concludes; null where there is none. */
const changeAt = async (engine: Engine, { place, version }: FeedEntry, { intent, past, states }: Told): Promise<Change | null> => {
  const append = appendEndingAt(version, past);
  if (!append) return null;
  const bound = await engine.versions.bind(intent.purpose, intent.policyVersion);
  const viewAt = (index: number): NotificationView =>
    stateView(intent, { state: states[index] as NotificationState, updatedAt: new Date(past[index - 1]?.at ?? 0) }, bound);
  const view = viewAt(version);
  if (append.before > 0 && samePublicly(viewAt(append.before), view)) return null;
  return { place, version, at: past[version - 1]?.at as number, view };
};

/** The changes of a tenant among some entries, in their order: two statements, however many entries there are. */
const changesAmong = async (engine: Engine, tenant: string, entries: readonly FeedEntry[]): Promise<Change[]> => {
  const intents = await readIntents(engine.db, tenant, [...new Set(entries.map((entry) => entry.eventId))]);
  if (intents.length === 0) return [];
  const upTo = new Map(intents.map((intent) => [intent.eventId, 0]));
  for (const { eventId, version } of entries) {
    const known = upTo.get(eventId);
    if (known !== undefined && known < version) upTo.set(eventId, version);
  }
  const pasts = await loadPast(engine.db, upTo);
  const told = new Map(intents.map((intent) => {
    const past = pasts.get(intent.eventId) ?? [];
    return [intent.eventId, { intent, past, states: statesOf(intent.eventId, past) }];
  }));
  const changes: Change[] = [];
  for (const entry of entries) {
    const of = told.get(entry.eventId);
    const change = of && await changeAt(engine, entry, of);
    if (change) changes.push(change);
  }
  return changes;
};

interface Collected { items: FeedItem[]; place: FeedPlace; changedAt: number; hasMore: boolean }
interface Reading { tenant: string; limit: number; horizon: FeedHorizon; from: Pick<FeedCursor, 'place' | 'changedAt'> }

const collect = async (engine: Engine, { tenant, limit, horizon, from }: Reading): Promise<Collected> => {
  const items: FeedItem[] = [];
  let { place, changedAt } = from;
  const windowSize = Math.max(LEAST_WINDOW, limit * ENTRIES_PER_ITEM);
  for (let windows = 0; windows < MOST_WINDOWS; windows += 1) {
    const entries = await scanFeed(engine.db, { after: place, below: horizon, limit: windowSize });
    for (const change of await changesAmong(engine, tenant, entries)) {
      // One change more than asked for: there is more for certain. It is not told, so the place stays before it.
      if (items.length === limit) return { items, place, changedAt, hasMore: true };
      changedAt = Math.max(changedAt, change.at);
      place = change.place;
      items.push({ ...change.view, version: change.version, changed_at: new Date(changedAt).toISOString() });
    }
    place = entries.at(-1)?.place ?? place;
    if (entries.length < windowSize) return { items, place, changedAt, hasMore: false };
  }
  return { items, place, changedAt, hasMore: true };
};

/** Whether everything below a cursor is a part of this ledger too, so that what follows it is all that its reader lacks. */
const canGoOn = ({ place }: FeedCursor, horizon: FeedHorizon): boolean => horizon.descends
  && (place.epoch < horizon.epoch || (place.epoch === horizon.epoch && BigInt(place.xid) < BigInt(horizon.xid)));

/**
 * The changes of a tenant's notifications after a cursor (null: from the first one on), at most `limit`. Nothing is skipped and
 * nothing told twice: the order is (epoch, transaction, position), below every transaction that is still under way. The same
 * cursor gives the same items again, with more behind them as they come. Rejects where the database is away.
 */
export const readFeed = async (engine: Engine, request: { tenant: string; after: string | null; limit: number }): Promise<FeedOutcome> => {
  const { tenant, after, limit } = request;
  const cursor = after === null ? null : readFeedCursor(engine.ring, tenant, after);
  if (after !== null && cursor === null) return { kind: 'cursor_invalid' };
  const horizon = await readFeedHorizon(engine.db, cursor?.issuer ?? '');
  if (cursor && !canGoOn(cursor, horizon)) return { kind: 'cursor_diverged' };
  const { items, place, changedAt, hasMore } = await collect(engine, { tenant, limit, horizon, from: cursor ?? { place: FEED_START, changedAt: 0 } });
  return { kind: 'page', items, nextCursor: writeFeedCursor(engine.ring, tenant, { place, issuer: horizon.identity, changedAt }), hasMore };
};
