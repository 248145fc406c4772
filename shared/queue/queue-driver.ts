import type { Queue } from 'bullmq';
import type { Processor, QueueWorker } from './supervised-worker.ts';
import type { Pulse } from './steady-backend.ts';
import type { QueueName } from './queue-names.ts';
import type { JobPayload, WorkerSettings } from './work-job.ts';

export type WorkQueue = Queue<JobPayload, null, string>;

/** What the two kinds of backend do differently: connections. */
export interface QueueDriver {
  readonly kind: 'redis' | 'postgres';
  /** Throws `QueueAway` at once where it is known that no call can pass. */
  assertPassable(): Promise<void>;
  makeQueue(name: QueueName): WorkQueue;
  makeWorker(name: QueueName, settings: WorkerSettings, own: { processor: Processor; pulse: Pulse }): QueueWorker;
  /** One cheap round trip, at most about a second: can jobs be added and taken now? */
  reachable(): Promise<boolean>;
  /** Told of every instant at which a job becomes due. */
  dueAt(atMs: number): void;
  /** Cuts all connections, also those that hang. */
  release(): Promise<void>;
}

/** Options of a worker that do not depend on the backend. */
export const workerOptions = ({ concurrency, lockDurationMs }: WorkerSettings) => ({
  autorun: false,
  concurrency,
  lockDuration: lockDurationMs,
  // A lost worker's jobs come back after at most two of these beyond the lock; the ledger does not wait for it.
  stalledInterval: Math.min(Math.max(lockDurationMs, 1_000), 30_000),
  // An idle worker that no wake-up reached looks again after this many seconds.
  drainDelay: 2,
  // BullMQ waits this long after a refused connection; its default of 15 s would outlast a restart of the backend.
  runRetryDelay: 250,
});
