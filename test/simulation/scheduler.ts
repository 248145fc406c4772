interface Planned { at: number; serial: number; run: () => void }

/** Virtual time: what was planned happens in the order of its instants, and time jumps from one to the next. */
export interface Scheduler {
  readonly now: number;
  readonly steps: number;
  at: (instant: number, run: () => void) => void;
  after: (ms: number, run: () => void) => void;
  /** Runs what is planned until nothing is, `until` is passed, or `isOver` says so; `afterStep` sees every settled step. */
  run: (limits: { until: number; isOver: () => boolean; afterStep: () => void }) => Promise<void>;
}

const isBefore = (one: Planned, other: Planned): boolean => one.at < other.at || (one.at === other.at && one.serial < other.serial);

const openHeap = () => {
  const heap: Planned[] = [];
  const swap = (a: number, b: number): void => { [heap[a], heap[b]] = [heap[b] as Planned, heap[a] as Planned]; };
  return {
    push: (one: Planned): void => {
      heap.push(one);
      for (let at = heap.length - 1; at > 0;) {
        const parent = (at - 1) >> 1;
        if (!isBefore(heap[at] as Planned, heap[parent] as Planned)) return;
        swap(at, parent);
        at = parent;
      }
    },
    pop: (): Planned | undefined => {
      const first = heap[0];
      const last = heap.pop();
      if (first === undefined || last === undefined || heap.length === 0) return first;
      heap[0] = last;
      for (let at = 0; ;) {
        let least = at;
        for (const child of [2 * at + 1, 2 * at + 2]) if (child < heap.length && isBefore(heap[child] as Planned, heap[least] as Planned)) least = child;
        if (least === at) return first;
        swap(at, least);
        at = least;
      }
    },
  };
};

/**
 * Resolves once every promise that could go on by itself has gone on: what is left for the next tick runs when no microtask is
 * left. No turn of the event loop, which costs a system call a step and lets in nothing that a simulation waits for.
 */
const settled = (): Promise<void> => new Promise((resolve) => { process.nextTick(resolve); });

/** A scheduler that begins at that instant. */
export const createScheduler = (start: number): Scheduler => {
  const heap = openHeap();
  let now = start;
  let serial = 0;
  let steps = 0;
  const at = (instant: number, run: () => void): void => {
    serial += 1;
    heap.push({ at: Math.max(now, Math.ceil(instant)), serial, run });
  };
  return {
    get now() { return now; },
    get steps() { return steps; },
    at,
    after: (ms, run) => at(now + ms, run),
    run: async ({ until, isOver, afterStep }) => {
      for (let next = heap.pop(); next !== undefined && next.at <= until && !isOver(); next = heap.pop()) {
        now = next.at;
        steps += 1;
        next.run();
        await settled();
        afterStep();
      }
    },
  };
};
