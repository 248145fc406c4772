interface Waiting<Item, Result> { item: Item; resolve: (result: Result) => void; reject: (error: unknown) => void }

export interface GroupSettings<Item, Result> {
  /** Runs a group; resolves to one result per item, in order. */
  run: (items: Item[]) => Promise<Result[]>;
  /** Items with the same key never share a group; without it any may. */
  keyOf?: (item: Item) => string;
  maxGroup: number;
  /** Whether an error of a group is worth trying each member alone. */
  retryAlone: (error: unknown) => boolean;
  /** Groups in flight at once. */
  lanes?: number;
  /** Least milliseconds between the starts of two groups, twice as many after a large one; the first after a pause leaves at once. */
  paceMs?: number;
}

/** Appends and acceptances of a process begin no closer to each other than this: one statement costs as much as several rows of another. */
export const PACE_MS = 10;
/** So many in one group tell of a load under which fewer statements serve everybody better than earlier ones. */
const LARGE = 10;

/**
 * Groups what is asked for at the same time into one call: the next group leaves as soon as a lane is free and its pace permits, so that
 * load makes the groups larger by itself and nothing waits longer than one pace.
 */
export const groupCalls = <Item, Result>(settings: GroupSettings<Item, Result>): ((item: Item) => Promise<Result>) => {
  let waiting: Waiting<Item, Result>[] = [];
  let flying = 0;
  let scheduled = false;
  const { lanes = 1, paceMs = 0 } = settings;

  const alone = async (one: Waiting<Item, Result>): Promise<void> => {
    try {
      one.resolve((await settings.run([one.item]))[0] as Result);
    } catch (error) {
      one.reject(error);
    }
  };
  const fly = async (group: Waiting<Item, Result>[]): Promise<void> => {
    try {
      const results = await settings.run(group.map((one) => one.item));
      group.forEach((one, index) => one.resolve(results[index] as Result));
    } catch (error) {
      if (group.length > 1 && settings.retryAlone(error)) for (const one of group) await alone(one);
      else group.forEach((one) => one.reject(error));
    }
  };
  const take = (): Waiting<Item, Result>[] => {
    const { keyOf } = settings;
    if (keyOf === undefined) return waiting.splice(0, settings.maxGroup);
    const keys = new Set<string>();
    const group: Waiting<Item, Result>[] = [];
    const rest: Waiting<Item, Result>[] = [];
    for (const one of waiting) {
      const key = keyOf(one.item);
      if (group.length < settings.maxGroup && !keys.has(key)) group.push(one);
      else rest.push(one);
      keys.add(key);
    }
    waiting = rest;
    return group;
  };
  let leftAt = Number.NEGATIVE_INFINITY;
  let leftWith = 0;
  const launch = (): void => {
    while (flying < lanes && waiting.length > 0 && !scheduled) {
      const inMs = waiting.length >= settings.maxGroup ? 0 : leftAt + (leftWith < LARGE ? paceMs : 2 * paceMs) - performance.now();
      if (inMs > 0) return launchIn(Math.ceil(inMs));
      leftAt = performance.now();
      flying += 1;
      const group = take();
      leftWith = group.length;
      void fly(group).finally(() => {
        flying -= 1;
        launch();
      });
    }
  };
  const launchIn = (ms: number): void => {
    scheduled = true;
    const go = (): void => {
      scheduled = false;
      launch();
    };
    if (ms === 0) setImmediate(go);
    else setTimeout(go, ms);
  };
  return (item) => new Promise<Result>((resolve, reject) => {
    waiting.push({ item, resolve, reject });
    // Callers of the same turn of the event loop meet in one group.
    if (!scheduled && flying < lanes) launchIn(0);
  });
};
