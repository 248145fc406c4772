import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { QueueAway, type WorkJob } from '../../shared/queue/work-job.ts';
import { describeOnBackends } from '../support/backends.ts';
import { eventually, makeRig, tally, type Rig } from './rig.ts';

const job = (id: string): WorkJob => ({ id, name: 'attempt', payload: { id } });
const settings = { concurrency: 2, lockDurationMs: 2_000 };
/** How soon after the backend is back work must flow again. */
const SOON_MS = 4_000;

describeOnBackends('queues through outages', ({ kind }) => {
  let rig: Rig;
  let backend: QueueBackend;
  let ran: ReturnType<typeof tally<string>>;
  beforeAll(async () => {
    rig = await makeRig(kind);
  });
  afterAll(() => rig.dispose());
  beforeEach(async () => {
    await rig.flush();
    rig.errors.length = 0;
    backend = rig.open();
    ran = tally<string>();
  });
  afterEach(() => backend.close());

  const startSms = () => backend.startWorker('sms', { ...settings, handler: async ({ id }) => (ran.add(id), 'done') });
  const ranOnceMore = async (id: string, limitMs = SOON_MS): Promise<void> => {
    await eventually(() => backend.addJobs('sms', [job(id)]), limitMs);
    await ran.until((seen) => seen.includes(id), limitMs);
  };

  it('rejects additions fast while the backend is away, and works again once it is back, without a restart', async () => {
    await startSms().whenReady();
    await ranOnceMore('evt_before.sms.1-g1');
    await rig.stop();
    for (const id of ['evt_x.sms.1-g1', 'evt_y.sms.1-g1', 'evt_z.sms.1-g1']) {
      const startedAt = performance.now();
      await expect(backend.addJobs('sms', [job(id)])).rejects.toBeInstanceOf(QueueAway);
      expect(performance.now() - startedAt).toBeLessThan(2_300);
    }
    expect(await backend.ping()).toBe(false);
    await expect(backend.ensureTick(1_000)).rejects.toBeInstanceOf(QueueAway);
    await expect(backend.counts()).rejects.toBeInstanceOf(QueueAway);
    await rig.start();
    await ranOnceMore('evt_after.sms.1-g1');
    expect(ran.seen).not.toContain('evt_x.sms.1-g1');
    expect(await backend.ping()).toBe(true);
  });

  it('starts a worker while the backend is away', async () => {
    await rig.stop();
    startSms();
    await expect(backend.addJobs('sms', [job('evt_x.sms.1-g1')])).rejects.toBeInstanceOf(QueueAway);
    await rig.start();
    await ranOnceMore('evt_after.sms.1-g1');
  });

  it('goes on after its connections were cut while it was idle', async () => {
    await startSms().whenReady();
    await ranOnceMore('evt_before.sms.1-g1');
    await rig.cut();
    await ranOnceMore('evt_after.sms.1-g1');
  });

  it('goes on after its connections were cut under load', async () => {
    startSms();
    let rounds = 0;
    while (rounds < 6) {
      const ids = Array.from({ length: 60 }, (_, i) => job(`evt_${rounds}x${i}.sms.1-g1`));
      await backend.addJobs('sms', ids).catch(() => undefined);
      if (rounds % 2 === 0) await rig.cut();
      rounds += 1;
    }
    await ranOnceMore('evt_after.sms.1-g1', 8_000);
  });

  it('goes on after everything it had stored was dropped, idle and under load', async () => {
    startSms();
    await ranOnceMore('evt_before.sms.1-g1');
    await rig.flush();
    await ranOnceMore('evt_idle.sms.1-g1');
    await backend.addJobs('sms', Array.from({ length: 300 }, (_, i) => job(`evt_${i}.sms.1-g1`)));
    await rig.flush();
    await ranOnceMore('evt_load.sms.1-g1', 8_000);
  });

  it('stops under load and comes back, with jobs in hand', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    backend.startWorker('sms', {
      ...settings,
      handler: async ({ id }) => {
        ran.add(id);
        if (id.startsWith('evt_held')) await held;
        return 'done';
      },
    });
    await backend.addJobs('sms', [job('evt_held1.sms.1-g1'), job('evt_held2.sms.1-g1'), job('evt_next.sms.1-g1')]);
    await ran.until((seen) => seen.length >= 2);
    await rig.stop();
    release();
    await rig.start();
    await ranOnceMore('evt_after.sms.1-g1', 8_000);
    expect((await backend.counts()).sms.failed).toBe(0);
  });

  it('ticks again after a restart of the backend once the tick is ensured', async () => {
    const ticks = tally<number>();
    backend.startWorker('maintenance', { ...settings, handler: async () => (ticks.add(1), 'done') });
    await eventually(() => backend.ensureTick(100));
    await ticks.until((seen) => seen.length >= 3);
    await rig.stop();
    const before = ticks.seen.length;
    await rig.start();
    await eventually(() => backend.ensureTick(100), SOON_MS);
    await ticks.until((seen) => seen.length >= before + 3, SOON_MS);
  });

  it('closes within five seconds while the backend is away, with a job in hand', async () => {
    const other = rig.open();
    other.startWorker('sms', { ...settings, handler: async ({ id }) => (ran.add(id), new Promise<'done'>(() => undefined)) });
    await other.startWorker('email', { ...settings, handler: async () => 'done' }).whenReady();
    await eventually(() => other.addJobs('sms', [job('evt_stuck.sms.1-g1')]));
    await ran.until((seen) => seen.length >= 1);
    await rig.stop();
    const startedAt = performance.now();
    await other.close();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await rig.start();
  });
});
