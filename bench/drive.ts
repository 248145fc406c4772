import { setTimeout as pause } from 'node:timers/promises';
import type { ClockSet } from './clocks.ts';
import type { Contender } from './contender.ts';
import { fateOf } from './request.ts';

export interface Drive {
  clocks: ClockSet;
  total: number;
  /**
   * Most workflows at work; Infinity lets them come as fast as they are accepted. One whose SMS is never confirmed only waits for its
   * deadline and does not count: otherwise the deadline's length would bound the rate.
   */
  cap: number;
  /** Requests at once. */
  width: number;
  /** Requests a second; without it as fast as cap and width permit. */
  perSecond?: number;
}

export interface Driven {
  ids: string[];
  /** When each was answered with 202, ms since the epoch. */
  acceptedAt: Map<string, number>;
  acceptedPerS: number;
  /** Over the middle eight tenths, so that neither the start nor the last deadline counts. */
  completedPerS: number;
  stuck: number;
}

const LOOK_EVERY_MS = 50;
/** What only waits for its deadline is asked about so seldom: it is most of what is open, and asking costs the servers that are measured. */
const LOOK_AT_WAITING_EVERY = 10;
const STUCK_AFTER_MS = 20_000;
const wallClock = (): number => performance.timeOrigin + performance.now();

/** Rate over the middle eight tenths of a series of instants (ms). */
const middleRate = (instants: readonly number[]): number => {
  const from = Math.floor(instants.length * 0.1);
  const to = Math.ceil(instants.length * 0.9) - 1;
  return ((to - from) * 1_000) / ((instants[to] ?? NaN) - (instants[from] ?? NaN));
};

let nextIndex = 0;

/** Posts notices and waits until all of their workflows are over. */
export const drive = async (contender: Contender, { clocks, total, cap, width, perSecond }: Drive): Promise<Driven> => {
  const acceptedAt = new Map<string, number>();
  const overAt: number[] = [];
  const open = new Map<string, boolean>();
  let waiting = 0;
  const startedAt = wallClock();
  let started = 0;
  let wake: () => void = () => undefined;
  let looks = 0;
  const look = async (): Promise<void> => {
    looks += 1;
    const asked = [...open].filter(([, waits]) => !waits || looks % LOOK_AT_WAITING_EVERY === 0).map(([id]) => id);
    const over = asked.length === 0 ? [] : await contender.completed(asked);
    const now = wallClock();
    for (const id of new Set(over)) {
      if (open.get(id) === true) waiting -= 1;
      if (open.delete(id)) overAt.push(now);
    }
    wake();
  };
  let inFlight = 0;
  const mayStart = (): boolean => started < total && (perSecond === undefined
    ? open.size - waiting + inFlight < cap && inFlight < width
    : (wallClock() - startedAt) * perSecond >= started * 1_000);
  const startOne = async (): Promise<void> => {
    started += 1;
    inFlight += 1;
    try {
      const index = nextIndex++;
      const id = await contender.post(index, clocks);
      acceptedAt.set(id, wallClock());
      const waits = fateOf(index) === 'never';
      open.set(id, waits);
      if (waits) waiting += 1;
    } finally {
      inFlight -= 1;
      wake();
    }
  };
  const failures: unknown[] = [];
  let isOver = false;
  const looking = (async () => {
    let lastNews = wallClock();
    let before = -1;
    while (!isOver && overAt.length < total && failures.length === 0) {
      await look();
      if (overAt.length + acceptedAt.size !== before) lastNews = wallClock();
      before = overAt.length + acceptedAt.size;
      if (wallClock() - lastNews > STUCK_AFTER_MS) break;
      await pause(LOOK_EVERY_MS);
    }
    isOver = true;
    wake();
  })();
  while (started < total && !isOver && failures.length === 0) {
    while (mayStart()) startOne().catch((error: unknown) => { failures.push(error); wake(); });
    if (perSecond === undefined) await new Promise<void>((resolve) => { wake = resolve; });
    else await pause(1);
  }
  await looking;
  if (failures.length > 0) throw failures[0];
  const answered = [...acceptedAt.values()];
  return { ids: [...acceptedAt.keys()], acceptedAt, acceptedPerS: middleRate(answered), completedPerS: middleRate(overAt), stuck: total - overAt.length };
};
