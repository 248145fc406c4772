import type { InTurn } from '../../shared/delivery/gate.ts';

/** What is started waits for its call no longer than this: its fence is two seconds, and if the process dies meanwhile nobody can tell what was sent. */
const AHEAD_MS = 250;

export interface PlaceAhead {
  /** Makes the call once it is its turn, and notes how soon the next one will have it. */
  call: InTurn;
  leave: () => void;
}

export interface Places {
  /** A place for a submission that is about to be started; null where it had to wait too long for its call, or where others wait. */
  enter: () => PlaceAhead | null;
  /** The same for one that can wait: resolves once there is a place. */
  await: () => Promise<PlaceAhead>;
  /** Says that a call may have become free by other means: whoever waits is let in. */
  look: () => void;
  /** Resolves once no place is taken. */
  idle: () => Promise<void>;
}

/**
 * How many submissions may be started before their calls have their turn: as many as could begin at once, and as many again as the provider has
 * answered in a quarter of a second. `free`: calls that could begin at once. With a slow provider that is next to none, and what is accepted waits in its queue, where it can still be taken back.
 */
export const createPlaces = (monotonic: () => number, free: () => number): Places => {
  let ahead = 0;
  let taken = 0;
  let idlers: (() => void)[] = [];
  const waiting: ((place: PlaceAhead) => void)[] = [];
  /** Calls that ended in the current quarter of a second, and in the one before. */
  let [quarter, now, before] = [0, 0, 0];
  const turn = (): void => {
    const current = Math.floor(monotonic() / AHEAD_MS);
    if (current === quarter) return;
    before = current === quarter + 1 ? now : 0;
    now = 0;
    quarter = current;
  };
  const hasRoom = (): boolean => {
    turn();
    return ahead < free() + Math.max(now, before);
  };
  const letIn = (): void => {
    while (waiting.length > 0 && hasRoom()) waiting.shift()?.(enter());
  };
  const enter = (): PlaceAhead => {
    let [waits, isTaken] = [true, true];
    const goAhead = (): void => {
      if (waits) ahead -= 1;
      waits = false;
    };
    ahead += 1;
    taken += 1;
    return {
      call: async (run) => {
        goAhead();
        try {
          return await run();
        } finally {
          turn();
          now += 1;
          letIn();
        }
      },
      leave: () => {
        goAhead();
        if (isTaken) taken -= 1;
        isTaken = false;
        letIn();
        if (taken > 0) return;
        for (const idler of idlers) idler();
        idlers = [];
      },
    };
  };
  return {
    look: letIn,
    enter: () => (waiting.length === 0 && hasRoom() ? enter() : null),
    await: () => (waiting.length === 0 && hasRoom() ? Promise.resolve(enter()) : new Promise((resolve) => waiting.push(resolve))),
    idle: () => (taken === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
  };
};
