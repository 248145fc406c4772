import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { readFeed } from '../../shared/delivery/read-feed.ts';
import { createRelay } from '../../shared/delivery/relay.ts';
import { releaseWaiting, sweepDecisions } from '../../shared/delivery/sweep.ts';
import { writeFeedCursor } from '../../shared/ledger/feed-cursor.ts';
import { readFeedHorizon } from '../../shared/ledger/feed.ts';
import type { HistoryDatabase } from './engine.ts';
import { smsCarrier, ticketRequest } from './lives.ts';
import type { Cost, Meter } from './meter.ts';

export interface Subject { database: HistoryDatabase; meter: Meter }
/** A thing measured. `prepare` is not; what it resolves to is then run. */
export interface Task { name: string; unit: string; prepare: (database: HistoryDatabase, round: number) => Promise<() => Promise<number>> }

const GROUP = 100;
const GROUPS = 5;
const DUE = 300;
const TICKS = 50;
const PAGES = 5;
const ACTOR = 'bench';
const DAY_MS = 86_400_000;

const acceptSome = async (engine: Engine, run: string, count: number): Promise<string[]> => Promise.all(Array.from({ length: count }, async () => {
  const outcome = await acceptNotification(engine, ticketRequest(run));
  if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${outcome.kind}`);
  return outcome.eventId;
}));

const intake: Task = {
  name: 'intake', unit: 'accept',
  prepare: async ({ engine }, round) => async () => {
    for (let group = 0; group < GROUPS; group += 1) await acceptSome(engine, `intake-${round}`, GROUP);
    return GROUP * GROUPS;
  },
};

/** Empties the outbox that the intake has filled; the queue itself takes no part. */
const relay: Task = {
  name: 'relay', unit: 'row',
  prepare: async ({ engine }) => async () => {
    let moved = 0;
    const running = createRelay({ ledger: engine.ledger, now: engine.now, log: engine.log, metrics: engine.metrics, queue: { addJobs: async (_queue, jobs) => { moved += jobs.length; } } });
    await running.drain();
    await running.close();
    return moved;
  },
};

/** Pages of the feed just below its head: what the intake of this round has added. */
const feed: Task = {
  name: 'feed at the head', unit: 'page',
  prepare: async ({ engine }) => {
    const { rows: [place] } = await engine.db.pool.query<{ epoch: number; xid: string; position: string }>(
      'SELECT epoch, xid::text, position::text FROM (SELECT epoch, xid, position FROM ledger_entry ORDER BY epoch DESC, xid DESC, position DESC LIMIT 1400) head ORDER BY epoch, head.xid, head.position LIMIT 1');
    const { identity } = await readFeedHorizon(engine.db, '');
    const start = writeFeedCursor(engine.ring, 'default', { place: place as { epoch: number; xid: string; position: string }, issuer: identity, changedAt: 0 });
    return async () => {
      for (let page = 0; page < PAGES; page += 1) {
        const outcome = await readFeed(engine, { tenant: 'default', after: start, limit: 100 });
        if (outcome.kind !== 'page' || outcome.items.length !== 100) throw new Error('the page is not full');
      }
      return PAGES;
    };
  },
};

/** What a coordinator asks every second although nothing is due. */
const idleTick: Task = {
  name: 'tick, nothing due', unit: 'tick',
  prepare: async ({ engine }) => {
    await sweepDecisions(engine, ACTOR);
    return async () => {
      for (let tick = 0; tick < TICKS; tick += 1) {
        await sweepDecisions(engine, ACTOR);
        await releaseWaiting(engine, ACTOR);
        await engine.ledger.leaseDuePolls({ now: engine.now(), leaseUntil: engine.now() + 25_000, limit: DUE });
        await engine.ledger.beat('sweep', engine.now());
        await engine.ledger.nextDueAt(engine.now());
        await engine.ledger.readPulse('sweep');
      }
      return TICKS;
    };
  },
};

/** Submits so many SMS that nobody confirms, and lets their first status reads become due. */
const leasePolls: Task = {
  name: 'lease of due polls', unit: 'poll',
  prepare: async ({ engine, moveTo }, round) => {
    const events = await acceptSome(engine, `due-${round}`, DUE);
    await engine.ledger.moveOutbox(DUE * 2, async () => undefined);
    await Promise.all(events.map((eventId) => performAttempt(engine, `${eventId}.sms.1`, { transport: smsCarrier('unconfirmed'), submitStartWithinMs: 60_000, actor: ACTOR })));
    moveTo(engine.now() + 6_000);
    return async () => {
      let leased = 0;
      for (let call = 0; call < 5; call += 1) leased += (await engine.ledger.leaseDuePolls({ now: engine.now(), leaseUntil: engine.now() + 25_000, limit: DUE / 5 })).length;
      if (leased !== DUE) throw new Error(`${leased} polls leased, not ${DUE}`);
      return leased;
    };
  },
};

/** The deadlines of those: found, and the email claimed for each. */
const sweep: Task = {
  name: 'sweep of due decisions', unit: 'decision',
  prepare: async ({ engine, moveTo }) => {
    moveTo(engine.now() + 26_000);
    return async () => {
      let decided = await sweepDecisions(engine, ACTOR);
      moveTo(engine.now() + 4_000);
      decided += await sweepDecisions(engine, ACTOR);
      if (decided < DUE) throw new Error(`${decided} decided, not ${DUE}`);
      return decided;
    };
  },
};

export const TASKS: readonly Task[] = [intake, feed, relay, idleTick, leasePolls, sweep];

/** Lets a day pass, so that what a round has left is settled and none of it is due in the next one. */
const tidy = async ({ engine, moveTo }: HistoryDatabase): Promise<void> => {
  for (let hours = 0; hours < 27; hours += 9) {
    moveTo(engine.now() + DAY_MS * 3 / 8);
    await sweepDecisions(engine, ACTOR);
    await engine.ledger.moveOutbox(10_000, async () => undefined);
  }
};

export type Measured = Map<string, Cost[][]>;

/** Measures every task on every subject, one after the other, and which is first changes from round to round. Costs by task, subject and round. */
export const measureRounds = async (subjects: readonly Subject[], { rounds, warmUp, say }: { rounds: number; warmUp: number; say: (line: string) => void }): Promise<Measured> => {
  const measured: Measured = new Map(TASKS.map((task) => [task.name, subjects.map(() => [])]));
  for (let round = 0; round < rounds + warmUp; round += 1) {
    const order = [...subjects.keys()];
    if (round % 2 === 1) order.reverse();
    for (const task of TASKS) {
      for (const index of order) {
        const { database, meter } = subjects[index] as Subject;
        const cost = await meter.measure(await task.prepare(database, round));
        if (round >= warmUp) measured.get(task.name)?.[index]?.push(cost);
      }
    }
    for (const { database } of subjects) await tidy(database);
    say(`round ${round + 1} of ${rounds + warmUp}${round < warmUp ? ', to warm up' : ''}`);
  }
  return measured;
};
