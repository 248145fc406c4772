import { setTimeout as wait } from 'node:timers/promises';
import { DelayedError, UnrecoverableError, type Job, type Worker } from 'bullmq';
import type { Pulse } from './steady-backend.ts';
import type { QueueName } from './queue-names.ts';
import type { HandlerResult, JobPayload, RunningWorker, WorkerSettings } from './work-job.ts';
import { settledWithin } from './within.ts';

export type QueueWorker = Worker<JobPayload, null, string>;
export type Processor = (job: Job<JobPayload, null, string>, token?: string) => Promise<null>;

export interface Supervision {
  queue: QueueName;
  settings: WorkerSettings;
  /** Makes a worker that does not run yet. */
  make: (processor: Processor, pulse: Pulse) => QueueWorker;
  reachable: () => Promise<boolean>;
  report: (thrown: unknown, where: string) => void;
  /** Told of every instant at which a job becomes due again. */
  dueAt: (atMs: number) => void;
  /** How long a worker with free hands may be silent; longer than its longest nap and query. Half a minute by default. */
  hangAfterMs?: number;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;
const HANG_AFTER_MS = 30_000;
/** A worker that lived this long starts over with the shortest pause. */
const HEALTHY_AFTER_MS = 5_000;
const GRACE_MS = 2_500;
const CLOSE_WITHIN_MS = 1_000;
const DISCARD_WITHIN_MS = 1_000;

/**
 * Runs one BullMQ worker and makes it anew, with growing pauses, whenever it has died: BullMQ remembers a failed first
 * connection for good, and a loop that ended or hangs would say nothing.
 */
export const superviseWorker = (supervision: Supervision): RunningWorker => {
  const { queue, settings, make, reachable, report, hangAfterMs = HANG_AFTER_MS } = supervision;
  const closing = new AbortController();
  let worker: QueueWorker | null = null;
  let inHand = 0;
  let announceIdle: () => void = () => undefined;
  let announceReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    announceReady = resolve;
  });

  const handle = async (job: Job<JobPayload, null, string>): Promise<HandlerResult> => {
    inHand += 1;
    try {
      return await settings.handler({ id: job.id ?? '', name: job.name, payload: job.data });
    } catch (error) {
      // The ledger finds unfinished work again; a failed job would be a second truth.
      report(error, `handler ${queue}`);
      return 'done';
    } finally {
      inHand -= 1;
      if (inHand === 0) announceIdle();
    }
  };

  const idle = (): Promise<void> => new Promise((resolve) => {
    announceIdle = resolve;
    if (inHand === 0) resolve();
  });

  const processor: Processor = async (job, token) => {
    const result = await handle(job);
    if (result === 'done') return null;
    if ('failedReason' in result) {
      const parked = new UnrecoverableError(result.failedReason);
      parked.stack = result.failedReason;
      throw parked;
    }
    // BullMQ counts from the clock of this process; an instant in the past means at once.
    await job.moveToDelayed(Math.max(result.retryAtMs, Date.now() + 1), token);
    supervision.dueAt(result.retryAtMs);
    throw new DelayedError();
  };

  /** Resolves when the worker's loop ended, its first connection failed, or it hangs while the backend is well. */
  const untilDead = async (current: QueueWorker, pulse: Pulse): Promise<void> => {
    const over = new AbortController();
    const hangs = async (): Promise<void> => {
      for (;;) {
        await wait(hangAfterMs / 6, undefined, { signal: AbortSignal.any([over.signal, closing.signal]), ref: false });
        const silent = inHand < settings.concurrency && performance.now() - pulse.turnedAt > hangAfterMs;
        if (silent && (await reachable())) return report(new Error('worker hangs'), `worker ${queue}`);
      }
    };
    const neverReady = new Promise<void>((resolve) => {
      current.waitUntilReady().then(announceReady, (error: unknown) => {
        if (!closing.signal.aborted) report(error, `worker ${queue}`);
        resolve();
      });
    });
    await Promise.race([current.run().catch((error: unknown) => report(error, `worker ${queue}`)), neverReady, hangs().catch(() => undefined)]);
    over.abort();
  };

  const supervise = async (): Promise<void> => {
    let pauseMs = FIRST_PAUSE_MS;
    while (!closing.signal.aborted) {
      if ((await reachable()) && !closing.signal.aborted) {
        const pulse: Pulse = { turnedAt: performance.now(), closing: closing.signal };
        const startedAt = performance.now();
        worker = make(processor, pulse);
        worker.on('error', (error) => report(error, `worker ${queue}`));
        await untilDead(worker, pulse);
        if (closing.signal.aborted) return;
        await settledWithin(DISCARD_WITHIN_MS, worker.close(true));
        if (performance.now() - startedAt > HEALTHY_AFTER_MS) pauseMs = FIRST_PAUSE_MS;
      }
      await wait(pauseMs, undefined, { signal: closing.signal }).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  };

  const supervised = supervise().catch((error: unknown) => report(error, `worker ${queue}`));
  return {
    queue,
    whenReady: () => ready,
    close: async (graceMs = GRACE_MS) => {
      closing.abort();
      await worker?.pause(true);
      // A forced close leaves the jobs in hand to their locks; an unforced one would wait for them, and renew, for ever.
      const abandon = !(await settledWithin(graceMs, idle()));
      await settledWithin(CLOSE_WITHIN_MS, Promise.all([worker?.close(abandon), supervised]));
    },
  };
};
