import { QueueAway } from './work-job.ts';

/**
 * The promise's outcome, or `QueueAway` after `limitMs`. A late outcome is dropped, not reported: whoever asked has gone on.
 */
export const within = async <T>(limitMs: number, promise: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new QueueAway()), limitMs);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
};

/** Waits for the promise to settle, at most `limitMs`; tells whether it did so by succeeding. */
export const settledWithin = (limitMs: number, promise: Promise<unknown>): Promise<boolean> =>
  within(limitMs, promise).then(() => true, () => false);
