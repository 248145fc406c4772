/** Lets a call wait for its turn, and passes on what it comes to. */
export type InTurn = <Value>(call: () => Promise<Value>) => Promise<Value>;
/** For calls that wait for none. */
export const atOnce: InTurn = (call) => call();

export interface Gate extends InTurn {
  /** How many more could run at once. */
  room: () => number;
  /** Resolves once nothing runs or waits. */
  idle: () => Promise<void>;
}

/** Lets at most `width` calls run at a time; the others wait in order. */
export const createGate = (width: number): Gate => {
  let inside = 0;
  const waiting: (() => void)[] = [];
  const idlers: (() => void)[] = [];
  const leave = (): void => {
    inside -= 1;
    waiting.shift()?.();
    if (inside === 0 && waiting.length === 0) for (const idler of idlers.splice(0)) idler();
  };
  const turn = (): Promise<void> => new Promise((resolve) => waiting.push(() => {
    inside += 1;
    resolve();
  }));
  const gate = async <Value>(run: () => Promise<Value>): Promise<Value> => {
    if (inside < width) inside += 1;
    else await turn();
    try {
      return await run();
    } finally {
      leave();
    }
  };
  return Object.assign(gate, { room: () => width - inside - waiting.length, idle: () => (inside === 0 && waiting.length === 0 ? Promise.resolve() : new Promise<void>((resolve) => idlers.push(resolve))) });
};
