import type { FeedItem } from '../../../shared/delivery/read-feed.ts';
import { readFeed } from '../../../shared/delivery/read-feed.ts';
import type { OpenTransaction } from '../../ledger/feed-support.ts';
import { TENANT, openTransaction, rollBackOpen, run, untilSettled } from '../../ledger/feed-support.ts';
import type { Rig } from './rig.ts';
import { acceptOne } from './rig.ts';

const WRITERS = 8;
const STEPS = 40;
const MOST = 200;

interface Page { after: string | null; keys: string[] }
interface Reader { cursor: string | null; pages: Page[]; changedAt: string }
/** A writer has a transaction open, or none; `written` is what its commit will make public. */
interface Writer { open: OpenTransaction | null; written: string | null; own: string[] }

const keyOf = (item: FeedItem): string => `${item.event_id} ${item.version}`;

/** Reads one page on; false where there is no more for now. */
const readOn = async (rig: Rig, reader: Reader, limit: number): Promise<boolean> => {
  const outcome = await readFeed(rig.engine, { tenant: TENANT, after: reader.cursor, limit });
  if (outcome.kind !== 'page') {
    rig.report('a cursor that was given is taken', outcome.kind);
    return false;
  }
  for (const item of outcome.items) {
    if (item.changed_at < reader.changedAt) rig.report('changed_at never decreases', keyOf(item));
    reader.changedAt = item.changed_at;
  }
  reader.pages.push({ after: reader.cursor, keys: outcome.items.map(keyOf) });
  reader.cursor = outcome.nextCursor;
  return outcome.hasMore;
};
const readerFrom = (cursor: string | null): Reader => ({ cursor, pages: [], changedAt: '' });
const readToEnd = async (rig: Rig, reader: Reader, limit = MOST): Promise<string[]> => {
  while (await readOn(rig, reader, limit));
  return reader.pages.flatMap((page) => page.keys);
};

/** Eight writers whose transactions overlap as the seed says, one statement after the other. */
const openWriters = (rig: Rig, committed: Set<string>) => {
  const writers: Writer[] = Array.from({ length: WRITERS }, () => ({ open: null, written: null, own: [] }));
  const begin = async (writer: Writer): Promise<void> => { writer.open = await openTransaction(rig.engine); };
  const write = async (writer: Writer): Promise<void> => {
    const { engine } = writer.open as OpenTransaction;
    const known = writer.own.pop();
    const eventId = known ?? await acceptOne(rig, engine);
    if (known !== undefined) await run(engine, known, { kind: 'close', reason: 'taken' });
    writer.written = `${eventId} ${(await engine.load(eventId))?.state.version}`;
  };
  const end = async (writer: Writer, how: 'commit' | 'rollback'): Promise<void> => {
    await (writer.open as OpenTransaction)[how]();
    if (how === 'commit' && writer.written !== null) {
      committed.add(writer.written);
      const [eventId, version] = writer.written.split(' ') as [string, string];
      if (Number(version) <= 3) writer.own.push(eventId);
    }
    Object.assign(writer, { open: null, written: null });
  };
  return { writers, begin, write, end };
};

/** The order that tells the two mistakes apart: which of two overlapping transactions writes first, and which commits last. */
const overlap = async (rig: Rig, reader: Reader, { writers, begin, write, end }: ReturnType<typeof openWriters>, lastHas: 'lower xid' | 'higher xid'): Promise<void> => {
  const [lower, higher] = writers as [Writer, Writer];
  await begin(lower);
  await begin(higher);
  // The lower position is always that of the one who commits last.
  const [last, first] = lastHas === 'lower xid' ? [lower, higher] : [higher, lower];
  await write(last);
  await write(first);
  await end(first, 'commit');
  await readOn(rig, reader, 5);
  await end(last, 'commit');
  await readOn(rig, reader, 5);
};

const anyOrder = async (rig: Rig, reader: Reader, { writers, begin, write, end }: ReturnType<typeof openWriters>): Promise<void> => {
  const { random } = rig;
  for (let step = 0; step < STEPS; step += 1) {
    const writer = random.pick(writers);
    if (writer.open === null) await begin(writer);
    else if (writer.written === null) await write(writer);
    else await end(writer, random.chance(0.85) ? 'commit' : 'rollback');
    if (random.chance(0.4)) await readOn(rig, reader, random.between(1, 5));
  }
  for (const writer of random.shuffled(writers.filter((one) => one.open !== null))) await end(writer, random.chance(0.7) ? 'commit' : 'rollback');
};

const check = async (rig: Rig, reader: Reader, start: string | null, committed: ReadonlySet<string>): Promise<void> => {
  const told = await readToEnd(rig, reader, rig.random.between(3, 12));
  const known = new Set(told);
  for (const key of committed) if (!known.has(key)) rig.report('the feed never skips', key);
  for (const key of known) if (!committed.has(key)) rig.report('the feed tells what was committed', key);
  if (known.size < told.length) rig.report('the feed tells nothing twice', `${told.length - known.size} items`);
  const again = await readToEnd(rig, readerFrom(start));
  if (again.join() !== told.join()) rig.report('the feed never reorders', 'a second reader from the same cursor was told another order');
  for (const page of rig.random.shuffled(reader.pages).slice(0, 6)) {
    const repeated = readerFrom(page.after);
    await readOn(rig, repeated, MOST);
    if (repeated.pages[0]?.keys.slice(0, page.keys.length).join() !== page.keys.join()) rig.report('the same cursor returns the same items first', page.keys.join());
  }
};

/** Writers and a reader of the change feed, with both orders in which a lower position may become visible last. */
export const feedRound = async (rig: Rig, from: string | null): Promise<string | null> => {
  const committed = new Set<string>();
  try {
    await untilSettled(rig.engine);
    const before = readerFrom(from);
    await readToEnd(rig, before);
    const reader = readerFrom(before.cursor);
    const all = openWriters(rig, committed);
    for (const lastHas of rig.random.shuffled(['lower xid', 'higher xid'] as const)) await overlap(rig, reader, all, lastHas);
    await anyOrder(rig, reader, all);
    await untilSettled(rig.engine);
    await check(rig, reader, before.cursor, committed);
    return reader.cursor;
  } finally {
    await rollBackOpen();
  }
};
