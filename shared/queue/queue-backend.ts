import type { JobsOptions } from 'bullmq';
import type { Metrics } from '../telemetry/metrics.ts';
import { processMetrics } from '../telemetry/metrics.ts';
import { thriftyReport } from './error-report.ts';
import { openPostgresDriver } from './postgres-driver.ts';
import { openProducers } from './producers.ts';
import { openRedisDriver } from './redis-driver.ts';
import type { NatMap } from './redis-address.ts';
import { isJobId, QUEUE_NAMES, TICK, type QueueName } from './queue-names.ts';
import type { WorkQueue } from './queue-driver.ts';
import { superviseWorker } from './supervised-worker.ts';
import { settledWithin } from './within.ts';
import type { QueueCounts, ReportError, RunningWorker, WorkerSettings, WorkJob } from './work-job.ts';

export interface QueueSettings {
  /** Redis, the recommended backend; without it the Postgres backend on `databaseUrl`. */
  redisUrl?: string;
  /** Where the nodes of a cluster are reached that tell other addresses of themselves: by `host:port` as they tell it. */
  natMap?: NatMap;
  databaseUrl: string;
  /** Role to act as on Postgres. */
  roleName?: string;
  /** Told of what went wrong and where. The queue recovers by itself: worth a warning, never more. */
  onError: ReportError;
  /** The process's own where none are given. */
  metrics?: Metrics;
}

export interface QueueBackend {
  readonly kind: 'redis' | 'postgres';
  /** Adds all jobs in one call. Rejects with `QueueAway` within about two seconds when the backend is away; some may then have been added. */
  addJobs(queue: QueueName, jobs: readonly WorkJob[]): Promise<void>;
  /** Removes jobs that nobody works on; one that is gone or in hand is left. Rejects like `addJobs`. */
  removeJobs(queue: QueueName, ids: readonly string[]): Promise<void>;
  /** Starts taking jobs, now or as soon as the backend can be reached, and goes on through its absences. */
  startWorker(queue: QueueName, settings: WorkerSettings): RunningWorker;
  /** Makes the repeated `tick` of `maintenance` exist with this distance; repeat it at will. Rejects like `addJobs`. */
  ensureTick(everyMs: number): Promise<void>;
  /** One more `tick` after `dueInMs`; ticks due within the same 20 ms are one. Rejects like `addJobs`. */
  addTick(dueInMs: number): Promise<void>;
  /** Whether jobs can be added and taken now; answers within about a second. */
  ping(): Promise<boolean>;
  /** Jobs by queue and state. Rejects like `addJobs`. */
  counts(): Promise<QueueCounts>;
  /** BullMQ's own queues, in the order of `QUEUE_NAMES`, for Bull Board. Rejects like `addJobs`; ours to close. */
  boardQueues(): Promise<WorkQueue[]>;
  /** Stops workers, waits for jobs in hand, cuts connections; within five seconds in any case. */
  close(): Promise<void>;
}

const TICK_GRAIN_MS = 20;
const CLOSE_QUEUES_WITHIN_MS = 500;

const jobOptions = (job: WorkJob): JobsOptions => ({
  jobId: job.id,
  removeOnComplete: true,
  removeOnFail: !job.keepFailed,
  ...(job.delayMs !== undefined && job.delayMs > 0 ? { delay: Math.ceil(job.delayMs) } : {}),
});

/** Opens the queues on Redis or Postgres; returns at once and connects by itself. */
export const openQueueBackend = (settings: QueueSettings): QueueBackend => {
  const report = thriftyReport(settings.onError);
  const driver = settings.redisUrl === undefined ? openPostgresDriver(settings, report) : openRedisDriver(settings.redisUrl, report, settings.natMap);
  const producers = openProducers(driver, report);
  const workers = new Set<RunningWorker>();
  const boardQueues: WorkQueue[] = [];
  let closed: Promise<void> | null = null;

  const addJobs = async (queue: QueueName, jobs: readonly WorkJob[]): Promise<void> => {
    if (jobs.length === 0) return;
    const unfit = jobs.find((job) => !isJobId(job.id));
    if (unfit) throw new Error(`not a job id: ${unfit.id}`);
    const now = Date.now();
    const rows = jobs.map((job) => ({ name: job.name, data: job.payload, opts: jobOptions(job) }));
    const [first] = rows;
    // On Postgres the bulk statement makes two temporary tables, which costs a single job several times its own price.
    await producers.use<unknown>(queue, (q) => (first && rows.length === 1 ? q.add(first.name, first.data, first.opts) : q.addBulk(rows)));
    for (const { delayMs } of jobs) if (delayMs) driver.dueAt(now + delayMs);
  };

  const removeJobs = async (queue: QueueName, ids: readonly string[]): Promise<void> => {
    if (ids.length > 0) await producers.use(queue, (q) => Promise.all(ids.map((id) => q.remove(id))));
  };

  const { metrics = processMetrics } = settings;
  const counted = (queue: QueueName, handler: WorkerSettings['handler']): WorkerSettings['handler'] => async (job) => {
    const labels = { queue, backend: driver.kind };
    metrics.jobsInHand.inc(labels);
    try {
      return await handler(job);
    } finally {
      metrics.jobsInHand.dec(labels);
    }
  };
  const startWorker = (queue: QueueName, workerSettings: WorkerSettings): RunningWorker => {
    if (closed) throw new Error('the queue backend is closed');
    const worker = superviseWorker({
      queue,
      settings: { ...workerSettings, handler: counted(queue, workerSettings.handler) },
      make: (processor, pulse) => driver.makeWorker(queue, workerSettings, { processor, pulse }),
      reachable: driver.reachable,
      report,
      dueAt: driver.dueAt,
    });
    workers.add(worker);
    return { ...worker, close: (graceMs) => worker.close(graceMs).finally(() => workers.delete(worker)) };
  };

  const ensureTick = async (everyMs: number): Promise<void> => {
    const template = { name: TICK, data: {}, opts: { removeOnComplete: true, removeOnFail: true } };
    await producers.use('maintenance', (q) => q.upsertJobScheduler(TICK, { every: everyMs }, template));
  };

  const addTick = async (dueInMs: number): Promise<void> => {
    const now = Date.now();
    // Rounded up, so that the one tick kept of several comes after all of them are due.
    const dueAt = Math.ceil((now + Math.max(dueInMs, 0)) / TICK_GRAIN_MS) * TICK_GRAIN_MS;
    await addJobs('maintenance', [{ id: `${TICK}-${dueAt}`, name: TICK, payload: {}, delayMs: dueAt - now }]);
  };

  const counts = async (): Promise<QueueCounts> => {
    const rows = await Promise.all(QUEUE_NAMES.map(async (name) => {
      const found = await producers.use(name, (q) => q.getJobCounts('waiting', 'active', 'delayed', 'failed'));
      const { waiting = 0, active = 0, delayed = 0, failed = 0 } = found;
      return [name, { waiting, active, delayed, failed }] as const;
    }));
    return Object.fromEntries(rows) as QueueCounts;
  };

  const openBoardQueues = async (): Promise<WorkQueue[]> => {
    if (boardQueues.length > 0) return boardQueues;
    // A queue made while the backend is away stays dead on Postgres, so ask first.
    await counts();
    for (const name of QUEUE_NAMES) {
      const queue = driver.makeQueue(name);
      queue.on('error', (error) => report(error, `board ${name}`));
      boardQueues.push(queue);
    }
    return boardQueues;
  };

  const shutDown = async (): Promise<void> => {
    await Promise.all([...workers].map((worker) => worker.close()));
    await settledWithin(CLOSE_QUEUES_WITHIN_MS, Promise.all([producers.close(), ...boardQueues.map((queue) => queue.close())]));
    await driver.release();
  };

  return {
    kind: driver.kind,
    addJobs,
    removeJobs,
    startWorker,
    ensureTick,
    addTick,
    ping: driver.reachable,
    counts,
    boardQueues: openBoardQueues,
    close: () => (closed ??= shutDown()),
  };
};
