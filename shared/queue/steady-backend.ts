import { setTimeout as wait } from 'node:timers/promises';
import type { BackendFactory, IQueueBackend } from 'bullmq';

const FIRST_BRAKE_MS = 50;
const LONGEST_BRAKE_MS = 1_000;
/** An idle worker looks again this often even if no wake-up reaches it. */
const LONGEST_BLOCK_S = 10;
const DEADLOCK_TRIES = 4;

/** What a worker's supervisor sees of its fetch loop. */
export interface Pulse {
  /** When the loop last came back from its backend, by `performance.now()`. */
  turnedAt: number;
  /** Ends pauses at once when the worker closes. */
  closing: AbortSignal;
}

/** Postgres: deadlock_detected, serialization_failure. The statement was rolled back as a whole, so repeating it is safe. */
const isRolledBack = (error: unknown): boolean =>
  ['40P01', '40001'].includes(String((error as { code?: unknown } | null)?.code));

/** Repeats a call that the database gave up on to end a deadlock; BullMQ would take it for a failed job. */
const untilNoDeadlock = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => async (...args: A): Promise<R> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call(...args);
    } catch (error) {
      if (!isRolledBack(error) || tries >= DEADLOCK_TRIES) throw error;
      await wait(Math.random() * 10 * tries);
    }
  }
};

/** Slows a fetch loop whose backend fails: BullMQ itself repeats at once, as fast as the errors come. */
const braked = <A extends unknown[], R>(call: (...args: A) => Promise<R>, pulse: Pulse) => {
  let failures = 0;
  return async (...args: A): Promise<R> => {
    try {
      const result = await call(...args);
      failures = 0;
      pulse.turnedAt = performance.now();
      return result;
    } catch (error) {
      pulse.turnedAt = performance.now();
      const brakeMs = Math.min(FIRST_BRAKE_MS * 2 ** failures, LONGEST_BRAKE_MS);
      failures += 1;
      await wait(brakeMs, undefined, { signal: pulse.closing }).catch(() => undefined);
      throw error;
    }
  };
};

/** Makes the backend of a worker bear failing calls: brakes its fetch loop, repeats deadlocked steps, bounds its naps. */
export const steady = <B extends IQueueBackend, C>(factory: BackendFactory<B, C>, pulse: Pulse): BackendFactory<B, C> => (...args) => {
  const backend = factory(...args);
  backend.moveToActive = braked(untilNoDeadlock(backend.moveToActive.bind(backend)), pulse);
  backend.moveToCompleted = untilNoDeadlock(backend.moveToCompleted.bind(backend)) as B['moveToCompleted'];
  backend.moveToFailed = untilNoDeadlock(backend.moveToFailed.bind(backend)) as B['moveToFailed'];
  backend.moveToDelayed = untilNoDeadlock(backend.moveToDelayed.bind(backend));
  const waitForJob = backend.waitForJob.bind(backend);
  backend.waitForJob = (blockS) => waitForJob(blockS).finally(() => {
    pulse.turnedAt = performance.now();
  });
  // An own property shadows the getter of the class.
  Object.defineProperty(backend, 'maximumBlockTimeout', { value: LONGEST_BLOCK_S });
  return backend;
};
