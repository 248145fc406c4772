import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import type { TakenJob, WorkJob } from '../../shared/queue/work-job.ts';
import { describeOnBackends } from '../support/backends.ts';
import { makeRig, tally, type Rig } from './rig.ts';

const job = (id: string, more: Partial<WorkJob> = {}): WorkJob => ({ id, name: 'attempt', payload: { sequence: 1 }, ...more });
const longLock = { lockDurationMs: 10_000 };

/** A promise that a test opens by hand. */
const gate = () => {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
};

describeOnBackends('queues', ({ kind }) => {
  let rig: Rig;
  let backend: QueueBackend;
  beforeAll(async () => {
    rig = await makeRig(kind);
  });
  afterAll(() => rig.dispose());
  beforeEach(async () => {
    await rig.flush();
    rig.errors.length = 0;
    backend = rig.open();
  });
  afterEach(() => backend.close());

  it('runs each added job once, with its payload', async () => {
    const taken = tally<TakenJob>();
    backend.startWorker('sms', { ...longLock, concurrency: 2, handler: async (one) => (taken.add(one), 'done') });
    const ids = Array.from({ length: 20 }, (_, i) => `evt_${i}.sms.1-g1`);
    await backend.addJobs('sms', ids.map((id, i) => job(id, { payload: { eventId: id, sequence: i } })));
    await backend.addJobs('sms', [job('evt_last.sms.1-g1')]);
    await taken.until((seen) => seen.length >= 21);
    expect(taken.seen.map(({ id }) => id).sort()).toEqual([...ids, 'evt_last.sms.1-g1'].sort());
    expect(taken.seen.find(({ id }) => id === ids[7])).toEqual({ id: ids[7], name: 'attempt', payload: { eventId: ids[7], sequence: 7 } });
    expect(rig.errors).toEqual([]);
  });

  it('takes a job id once while it waits, and again after it has run', async () => {
    const twins = [job('evt_a.sms.1-g1'), job('evt_a.sms.1-g1')];
    await backend.addJobs('sms', twins);
    await backend.addJobs('sms', [twins[0] as WorkJob]);
    expect((await backend.counts()).sms.waiting).toBe(1);
    const taken = tally<TakenJob>();
    backend.startWorker('sms', { ...longLock, concurrency: 1, handler: async (one) => (taken.add(one), 'done') });
    await taken.until((seen) => seen.length >= 1);
    await backend.addJobs('sms', [job('evt_b.sms.1-g1')]);
    await taken.until((seen) => seen.length >= 2);
    expect(taken.seen.map(({ id }) => id)).toEqual(['evt_a.sms.1-g1', 'evt_b.sms.1-g1']);
    await backend.addJobs('sms', [job('evt_a.sms.1-g1')]);
    await taken.until((seen) => seen.length >= 3);
    expect(taken.seen[2]?.id).toBe('evt_a.sms.1-g1');
  });

  it('runs a delayed job at its time', async () => {
    const ran = tally<number>();
    await backend.startWorker('email', { ...longLock, concurrency: 1, handler: async () => (ran.add(Date.now()), 'done') }).whenReady();
    const due = Date.now() + 400;
    await backend.addJobs('email', [job('evt_a.email.1-g1', { delayMs: 400 })]);
    await ran.until((seen) => seen.length >= 1);
    expect((ran.seen[0] as number) - due).toBeGreaterThanOrEqual(-2);
    expect((ran.seen[0] as number) - due).toBeLessThan(250);
  });

  it('runs a job again at the instant its handler asks for, any number of times', async () => {
    const ran = tally<number>();
    let wanted = 0;
    backend.startWorker('sms', {
      ...longLock,
      concurrency: 1,
      handler: async () => {
        ran.add(Date.now());
        if (ran.seen.length >= 5) return 'done';
        wanted = Date.now() + 60;
        return { retryAtMs: wanted };
      },
    });
    await backend.addJobs('sms', [job('evt_a.sms.1-g1')]);
    await ran.until((seen) => seen.length >= 5);
    ran.seen.slice(1).forEach((at, i) => expect(at - (ran.seen[i] as number)).toBeGreaterThanOrEqual(58));
    expect((await backend.counts()).sms.failed).toBe(0);
    expect(rig.errors).toEqual([]);
  });

  it('holds no more jobs at a time than its concurrency', async () => {
    const { opened, open } = gate();
    const entered = tally<string>();
    let inHand = 0;
    let most = 0;
    backend.startWorker('sms', {
      ...longLock,
      concurrency: 3,
      handler: async ({ id }) => {
        inHand += 1;
        most = Math.max(most, inHand);
        entered.add(id);
        await opened;
        inHand -= 1;
        return 'done';
      },
    });
    await backend.addJobs('sms', Array.from({ length: 12 }, (_, i) => job(`evt_${i}.sms.1-g1`)));
    await entered.until((seen) => seen.length >= 3);
    expect((await backend.counts()).sms).toMatchObject({ active: 3, waiting: 9 });
    open();
    await entered.until((seen) => seen.length >= 12);
    expect(most).toBe(3);
  });

  it('reports a handler that throws, removes its job and goes on', async () => {
    const ran = tally<string>();
    backend.startWorker('sms', {
      ...longLock,
      concurrency: 1,
      handler: async ({ id }) => {
        ran.add(id);
        if (id === 'evt_bad.sms.1-g1') throw new Error('broken invariant');
        return 'done';
      },
    });
    await backend.addJobs('sms', [job('evt_bad.sms.1-g1'), job('evt_good.sms.1-g1'), job('evt_end.sms.1-g1')]);
    await ran.until((seen) => seen.length >= 3);
    expect(rig.errors).toEqual(['handler sms: broken invariant']);
    expect((await backend.counts()).sms).toMatchObject({ failed: 0, waiting: 0, delayed: 0 });
  });

  it('parks a job that is to be kept as failed with its reason code', async () => {
    const worker = backend.startWorker('sms-dead-letter', { ...longLock, concurrency: 1, handler: async () => ({ failedReason: 'provider_auth' }) });
    await worker.whenReady();
    await backend.addJobs('sms-dead-letter', [job('evt_a.sms.1-d1', { keepFailed: true })]);
    const queue = (await backend.boardQueues()).find(({ name }) => name === 'sms-dead-letter');
    await worker.close();
    const parked = await queue?.getJob('evt_a.sms.1-d1');
    expect(parked?.failedReason).toBe('provider_auth');
    expect((await backend.counts())['sms-dead-letter'].failed).toBe(1);
  });

  it('does not run a job twice that takes longer than its lock', async () => {
    const ran = tally<string>();
    const finished = tally<string>();
    const settings = {
      concurrency: 1,
      lockDurationMs: 1_000,
      handler: async ({ id }: TakenJob) => {
        ran.add(id);
        await new Promise((resolve) => setTimeout(resolve, 3_200));
        finished.add(id);
        return 'done' as const;
      },
    };
    backend.startWorker('sms', settings);
    backend.startWorker('sms', settings);
    await backend.addJobs('sms', [job('evt_long.sms.1-g1')]);
    await finished.until((seen) => seen.length >= 1);
    expect(ran.seen).toEqual(['evt_long.sms.1-g1']);
  });

  it('shares the work between two instances', async () => {
    const other = rig.open();
    const ran = tally<{ by: string; id: string }>();
    const { opened, open } = gate();
    const start = (on: QueueBackend, by: string) =>
      on.startWorker('sms', { ...longLock, concurrency: 2, handler: async ({ id }) => (ran.add({ by, id }), await opened, 'done') });
    await Promise.all([start(backend, 'one').whenReady(), start(other, 'two').whenReady()]);
    await backend.addJobs('sms', Array.from({ length: 30 }, (_, i) => job(`evt_${i}.sms.1-g1`)));
    await ran.until((seen) => seen.length >= 4);
    expect(new Set(ran.seen.map(({ by }) => by))).toEqual(new Set(['one', 'two']));
    open();
    await ran.until((seen) => seen.length >= 30);
    await other.close();
    expect(new Set(ran.seen.map(({ id }) => id)).size).toBe(30);
  });

  it('ticks, takes extra ticks due together as one, and ticks again after a flush', async () => {
    const ticks = tally<string>();
    backend.startWorker('maintenance', { ...longLock, concurrency: 1, handler: async ({ name }) => (ticks.add(name), 'done') });
    await backend.ensureTick(3_600_000);
    // The first tick of a scheduler comes at once.
    await ticks.until((seen) => seen.length >= 1);
    await Promise.all([backend.addTick(300), backend.addTick(300), backend.addTick(300)]);
    const { delayed } = (await backend.counts()).maintenance;
    // The scheduler's next one and ours; two of ours where the calls fell on both sides of a grain.
    expect(delayed).toBeGreaterThanOrEqual(2);
    expect(delayed).toBeLessThanOrEqual(3);
    await ticks.until((seen) => seen.length >= 2);
    await rig.flush();
    expect((await backend.counts()).maintenance.delayed).toBe(0);
    const before = ticks.seen.length;
    await backend.ensureTick(100);
    await ticks.until((seen) => seen.length >= before + 4, 5_000);
    await backend.ensureTick(100);
    await ticks.until((seen) => seen.length >= before + 8, 5_000);
    expect(new Set(ticks.seen)).toEqual(new Set(['tick']));
  });

  it('refuses ids that the queue cannot carry', async () => {
    await expect(backend.addJobs('sms', [job('12')])).rejects.toThrow('not a job id');
    await expect(backend.addJobs('sms', [job('a:b')])).rejects.toThrow('not a job id');
  });

  it('refuses to start a worker once it is closed', async () => {
    await backend.close();
    expect(() => backend.startWorker('sms', { ...longLock, concurrency: 1, handler: async () => 'done' })).toThrow('closed');
  });
});
