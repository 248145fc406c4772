import type { QueueDriver, WorkQueue } from './queue-driver.ts';
import type { QueueName } from './queue-names.ts';
import { within } from './within.ts';
import { QueueAway } from './work-job.ts';

const CALL_WITHIN_MS = 2_000;

export interface Producers {
  /** Does something with a queue within two seconds, or rejects with `QueueAway`. */
  use<T>(name: QueueName, call: (queue: WorkQueue) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * The queues that jobs are added to. A queue whose call failed is dropped and made anew: BullMQ remembers a failed first
 * connection for the life of the object.
 */
export const openProducers = (driver: QueueDriver, report: (thrown: unknown, where: string) => void): Producers => {
  const queues = new Map<QueueName, WorkQueue>();

  const open = (name: QueueName): WorkQueue => {
    const present = queues.get(name);
    if (present) return present;
    const queue = driver.makeQueue(name);
    queue.on('error', (error) => report(error, `queue ${name}`));
    queues.set(name, queue);
    return queue;
  };

  const drop = (name: QueueName, queue: WorkQueue): void => {
    if (queues.get(name) === queue) queues.delete(name);
    queue.close().catch((error: unknown) => report(error, `queue ${name}`));
  };

  return {
    use: async (name, call) => {
      await driver.assertPassable();
      const queue = open(name);
      try {
        return await within(CALL_WITHIN_MS, call(queue));
      } catch (error) {
        drop(name, queue);
        throw error instanceof QueueAway ? error : new QueueAway(error);
      }
    },
    close: async () => {
      await Promise.allSettled([...queues.values()].map((queue) => queue.close()));
    },
  };
};
