import { Worker } from 'node:worker_threads';
import { createGatherer } from './gather.ts';
import type { Answer, Call, ThreadSettings, Told } from './words.ts';

/** A call without its number. */
export type Asked = Call extends infer One ? One extends Call ? Omit<One, 'id'> : never : never;

export interface CallThread {
  /** Rejects where the transport threw, and where the thread ended before it answered: nothing is known of the call then. */
  call: (asked: Asked) => Promise<unknown>;
  /** Has the thread close its transports, and waits until it ended; what it has not answered by then is rejected. */
  end: () => Promise<void>;
}

/** What a call comes to whose thread ended before it answered. */
class CallThreadEnded extends Error {
  override readonly name = 'CallThreadEnded';
  /** Why the thread ended, as a code that may stand in a log. */
  readonly code: string;
  constructor(cause: Error & { code?: unknown }) {
    super('the thread that makes the calls ended before it answered', { cause });
    this.code = typeof cause.code === 'string' ? cause.code : cause.name;
  }
}

interface Waiting { asked: Asked; resolve: (result: unknown) => void; reject: (error: Error) => void }

const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './from-source.mjs' : './call-thread.js', import.meta.url);
/** The calls' objects die young and are few: without a limit the thread's nursery would be as large as the process was told to make its own. */
const RESOURCES = { maxYoungGenerationSizeMb: 16 };

/** Starts the worker. */
export const startWorker = (settings: ThreadSettings): Worker => new Worker(ENTRY, { workerData: settings, execArgv: [], resourceLimits: RESOURCES });

/**
 * A thread that makes calls. It is started at once, keeps the process alive only while a call is under way, and is started anew by the next
 * call where it ended by itself.
 */
export const openCallThread = ({ settings, aheadMs, start = startWorker }: { settings: ThreadSettings; aheadMs: () => number; start?: typeof startWorker }): CallThread => {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let worker: Worker | null = null;

  const hear = (answers: Answer[]): void => {
    for (const answer of answers) {
      const one = waiting.get(answer.id);
      waiting.delete(answer.id);
      if ('error' in answer) one?.reject(Object.assign(new Error(answer.error.message), { name: answer.error.name }));
      else one?.resolve(answer.result);
    }
    if (waiting.size === 0) worker?.unref();
  };
  const lose = (lost: Worker, cause: Error): void => {
    if (worker !== lost) return;
    worker = null;
    const all = [...waiting.values()];
    waiting.clear();
    for (const one of all) one.reject(new CallThreadEnded(cause));
  };
  const begin = (): Worker => {
    const begun = start(settings);
    begun.on('message', hear);
    begun.on('error', (error) => lose(begun, error));
    begun.on('messageerror', (error) => {
      lose(begun, error);
      // what it answered cannot be read any more, and another one takes its place
      void begun.terminate();
    });
    begun.on('exit', (code) => lose(begun, Object.assign(new Error('it exited'), { code: `EXIT_${code}` })));
    begun.unref();
    return begun;
  };
  worker = begin();
  // What has not been told to a thread is not lost with it.
  const tell = createGatherer<Waiting>((all) => {
    worker ??= begin();
    const calls = all.map((one): Call => {
      lastId += 1;
      waiting.set(lastId, one);
      return { ...one.asked, id: lastId };
    });
    worker.ref();
    try {
      worker.postMessage({ aheadMs: aheadMs(), calls } satisfies Told);
    } catch (error) {
      // what cannot be copied was told to nobody
      hear(calls.map(({ id }) => ({ id, error: error as Error })));
    }
  });
  return {
    call: (asked) => new Promise((resolve, reject) => tell({ asked, resolve, reject })),
    end: async () => {
      if (worker === null) return;
      const ending = worker;
      // not `once` of node:events, which rejects where the thread ends by an error
      const ended = new Promise<unknown>((resolve) => ending.once('exit', resolve));
      worker.ref();
      worker.postMessage('end' satisfies Told);
      await ended;
    },
  };
};
