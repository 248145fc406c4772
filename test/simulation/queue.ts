import type { QueueName } from '../../shared/queue/queue-names.ts';
import type { HandlerResult, TakenJob, WorkJob } from '../../shared/queue/work-job.ts';
import { QueueAway } from '../../shared/queue/work-job.ts';
import type { Process, Surroundings } from './process.ts';
import { Away, call } from './process.ts';

interface Job { id: string; taken: TakenJob; dueAt: number; holder: Process | null; round: number }
interface Worker { process: Process; concurrency: number; lockMs: number; inHand: number; handler: (job: TakenJob) => Promise<HandlerResult> }

/** A queue like BullMQ: at least once, in no order, with locks that are lost; its jobs may vanish. */
export interface SimulatedQueue {
  addJobs: (process: Process, queue: QueueName, jobs: readonly WorkJob[]) => Promise<void>;
  work: (queue: QueueName, worker: Omit<Worker, 'inHand'>) => void;
  flush: () => void;
  isAway: () => boolean;
  takeAway: (forMs: number) => void;
  /** No job waits, and no living worker has one in hand, not even one that ran twice and whose other run is over. */
  readonly isIdle: boolean;
  /** Whether a job of that id was ever put in, whatever became of it. */
  saw: (id: string) => boolean;
}

const LOOK_AGAIN_MS = 400;

/** Whether a job brings an attempt back: it names its attempt in an enqueue generation after the first. */
const isAgain = (id: string): boolean => Number(/-g(\d+)$/.exec(id)?.[1] ?? 1) > 1;

export const createQueue = (around: Surroundings): SimulatedQueue => {
  const { scheduler, faults, latency } = around;
  const queues = new Map<QueueName, Map<string, Job>>();
  const workers = new Map<QueueName, Worker[]>();
  const seen = new Set<string>();
  let awayUntil = 0;
  const jobsOf = (queue: QueueName): Map<string, Job> => {
    const jobs = queues.get(queue) ?? new Map<string, Job>();
    queues.set(queue, jobs);
    return jobs;
  };
  const isThere = (queue: QueueName, job: Job): boolean => jobsOf(queue).get(job.id) === job;

  const free = (queue: QueueName): Worker[] =>
    (workers.get(queue) ?? []).filter(({ process, inHand, concurrency }) => process.alive && process.stoppedUntil <= scheduler.now && inHand < concurrency);

  const finish = (queue: QueueName, job: Job, round: number, result: HandlerResult): void => {
    // A worker that lost its lock no longer speaks for the job.
    if (!isThere(queue, job) || job.round !== round) return;
    if (typeof result === 'object' && 'retryAtMs' in result) {
      job.holder = null;
      job.dueAt = result.retryAtMs;
      offer(queue, job);
    } else jobsOf(queue).delete(job.id);
  };

  const hand = (queue: QueueName, job: Job, worker: Worker): void => {
    const { round } = job;
    worker.inHand += 1;
    around.trace(`${worker.process.name} takes ${job.id}`);
    const done = (result: HandlerResult): void => {
      worker.inHand -= 1;
      finish(queue, job, round, result);
    };
    worker.handler(job.taken).then(done, (error: Error) => {
      // An absence ends a job, and the ledger finds its work again; any other error would be a fault of ours.
      if (!(error instanceof Away)) around.report('no job fails for a reason of its own', `${error.name}: ${error.message}`);
      done('done');
    });
    watchLock(queue, job, worker);
  };

  /** A lock lives as long as its process renews it. */
  const watchLock = (queue: QueueName, job: Job, { process, lockMs }: Worker): void => {
    const { round } = job;
    let silentSince: number | null = null;
    const look = (): void => {
      if (!isThere(queue, job) || job.round !== round || job.holder !== process) return;
      const renewing = process.alive && process.stoppedUntil <= scheduler.now;
      silentSince = renewing ? null : silentSince ?? scheduler.now;
      if (silentSince !== null && scheduler.now - silentSince >= lockMs) {
        job.holder = null;
        job.round += 1;
        around.trace(`lock of ${job.id} lost by ${process.name}`);
        return offer(queue, job);
      }
      scheduler.after(lockMs / 4, look);
    };
    scheduler.after(lockMs / 4, look);
  };

  const offer = (queue: QueueName, job: Job): void => scheduler.at(job.dueAt + latency.between(0, 4), () => {
    if (!isThere(queue, job) || job.holder !== null) return;
    const able = free(queue);
    if (able.length === 0 || scheduler.now < awayUntil) {
      job.dueAt = scheduler.now + LOOK_AGAIN_MS;
      return offer(queue, job);
    }
    const worker = latency.pick(able);
    job.holder = worker.process;
    hand(queue, job, worker);
    if (faults.next('job-twice')) hand(queue, job, latency.pick(free(queue).length > 0 ? free(queue) : able));
  });

  const add = (queue: QueueName, job: WorkJob): void => {
    seen.add(job.id);
    if (jobsOf(queue).has(job.id)) return;
    if (faults.next('job-lost')) return around.trace(`${job.id} is lost`);
    const late = (faults.next('job-late') ?? (isAgain(job.id) ? faults.next('job-late', true) : null))?.byMs ?? 0;
    const one: Job = { id: job.id, taken: { id: job.id, name: job.name, payload: job.payload }, dueAt: scheduler.now + (job.delayMs ?? 0) + late, holder: null, round: 0 };
    jobsOf(queue).set(job.id, one);
    offer(queue, one);
  };

  return {
    addJobs: async (process, queue, jobs) => {
      if (jobs.length === 0) return;
      await call(around, process, { boundary: 'enqueue', of: 'queue' }, () => {
        if (scheduler.now < awayUntil) throw new QueueAway();
        for (const job of jobs) add(queue, job);
      }).catch((error: unknown) => { throw error instanceof QueueAway ? error : new QueueAway(error); });
    },
    work: (queue, worker) => {
      workers.set(queue, [...(workers.get(queue) ?? []).filter(({ process }) => process.alive), { ...worker, inHand: 0 }]);
    },
    flush: () => { for (const jobs of queues.values()) jobs.clear(); },
    saw: (id) => seen.has(id),
    isAway: () => scheduler.now < awayUntil,
    takeAway: (forMs) => { awayUntil = scheduler.now + forMs; },
    get isIdle() {
      for (const jobs of queues.values()) if (jobs.size > 0) return false;
      for (const able of workers.values()) if (able.some(({ process, inHand }) => process.alive && inHand > 0)) return false;
      return true;
    },
  };
};
