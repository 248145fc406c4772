/** Runs at most so many at once for each name; the others wait their turn, in order. */
export const createSlots = (atOnce: number) => {
  const taken = new Map<string, number>();
  const waiting = new Map<string, (() => void)[]>();
  const acquire = (name: string): Promise<void> => {
    const count = taken.get(name) ?? 0;
    if (count < atOnce) {
      taken.set(name, count + 1);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const queue = waiting.get(name) ?? [];
      queue.push(resolve);
      waiting.set(name, queue);
    });
  };
  const release = (name: string): void => {
    const next = waiting.get(name)?.shift();
    // The slot goes from hand to hand.
    if (next) next();
    else taken.set(name, (taken.get(name) ?? 1) - 1);
  };
  return async <Value>(name: string, run: () => Promise<Value>): Promise<Value> => {
    await acquire(name);
    try {
      return await run();
    } finally {
      release(name);
    }
  };
};
