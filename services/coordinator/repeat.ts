export interface Repeated {
  /** Whether `close` was called: a turn that takes its time ends early then. */
  isClosed: () => boolean;
  /** Lays no further turn, and waits for the one under way. */
  close: () => Promise<void>;
}

export interface RepeatSettings {
  turn: () => Promise<unknown>;
  /** How long after the start (`first`), or after the end of the turn before, a turn begins; asked anew for each. */
  waitMs: (first: boolean) => number;
  onError: (error: unknown) => void;
}

/**
 * Runs a duty again and again, never twice at once. A turn that fails is told and costs no other one. Its timer keeps no process alive.
 */
export const repeat = ({ turn, waitMs, onError }: RepeatSettings): Repeated => {
  let closed = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const lay = (first: boolean): void => {
    if (closed) return;
    timer = setTimeout(() => { running = turn().then(() => undefined, onError).finally(() => lay(false)); }, waitMs(first));
    timer.unref();
  };
  lay(true);
  return {
    isClosed: () => closed,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
};
