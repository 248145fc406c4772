import { expect, test } from '@jest/globals';
import { createHandOver } from '../../shared/delivery/hand-over.ts';
import type { EnqueuedAttempt } from '../../shared/delivery/hand-over.ts';
import { createRelay } from '../../shared/delivery/relay.ts';
import type { OutboxRow } from '../../shared/ledger/claims.ts';
import type { QueueName } from '../../shared/queue/queue-names.ts';
import { silentLog } from '../support/test-engine.ts';

const rowOf = (number: number): OutboxRow => {
  const eventId = `evt_0000000000000000000000000${number}`;
  return { id: String(number), eventId, attemptKey: `${eventId}.sms.1`, channel: 'sms', generation: 1, notBeforeAt: 0 };
};

/** An outbox in memory, taken from as the ledger's is: rows come back where it could not be enqueued. */
const open = (rows: OutboxRow[]) => {
  let outbox = [...rows];
  let whileTaking: () => void = () => undefined;
  let finish: (isDone: boolean) => void = () => undefined;
  const jobs: string[] = [];
  const handOver = createHandOver();
  handOver.serve('sms', () => new Promise<boolean>((resolve) => { finish = resolve; }));
  const queue = { failing: false, addJobs: async (name: QueueName, added: readonly { id: string }[]): Promise<void> => {
    if (queue.failing && name === 'sms') throw new Error('the queue is away');
    jobs.push(...added.map(({ id }) => id));
  } };
  const relay = createRelay({
    queue, now: () => 1_000, log: silentLog(), handOver,
    ledger: {
      moveOutbox: async (limit, enqueue, except = []) => {
        const taken = outbox.filter(({ attemptKey }) => !except.includes(attemptKey)).slice(0, limit);
        whileTaking();
        if (taken.length > 0) await enqueue(taken);
        outbox = outbox.filter((row) => !taken.includes(row));
        return taken.length;
      },
    },
  });
  return {
    relay, handOver, queue, jobs, outbox: () => outbox.map(({ id }) => id), finish: async (isDone: boolean) => { finish(isDone); await new Promise(setImmediate); },
    whileTaking: (run: () => void) => { whileTaking = run; },
  };
};
const offered = (row: OutboxRow): EnqueuedAttempt[] => [row];

test('what was taken up by a worker while rows were taken is left to it, and the others are enqueued', async () => {
  const [mine, other] = [rowOf(1), rowOf(2)];
  const world = open([mine, other]);
  world.whileTaking(() => { if (world.handOver.inHand().length === 0) world.handOver.offer(offered(mine), 1_000); });
  await world.relay.drain();
  expect([world.jobs, world.outbox()]).toEqual([[`${other.attemptKey}-g1`], ['1']]);
  await world.finish(true);
  world.whileTaking(() => undefined);
  await world.relay.drain();
  expect([world.jobs.length, world.outbox()]).toEqual([1, []]);
});

test('what was performed is not enqueued later either, where its row came back because the queue was away', async () => {
  const [mine, other] = [rowOf(1), rowOf(2)];
  const world = open([mine, other]);
  world.handOver.offer(offered(mine), 1_000);
  await world.finish(true);
  world.queue.failing = true;
  await expect(world.relay.drain()).rejects.toThrow('the queue is away');
  expect(world.outbox()).toEqual(['1', '2']);
  world.queue.failing = false;
  await world.relay.drain();
  expect([world.jobs, world.outbox()]).toEqual([[`${other.attemptKey}-g1`], []]);
});
