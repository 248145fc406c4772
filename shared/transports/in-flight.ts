/** The calls that are under way, for whoever closes what makes them. */
export interface InFlight {
  /** Counts a call until it ended, in whatever way; returns it. */
  track: <Result>(call: Promise<Result>) => Promise<Result>;
  /** Resolves once all calls ended that are under way now. */
  drained: () => Promise<void>;
}

export const createInFlight = (): InFlight => {
  const calls = new Set<Promise<unknown>>();
  return {
    track: (call) => {
      calls.add(call);
      const ended = (): boolean => calls.delete(call);
      call.then(ended, ended);
      return call;
    },
    drained: async () => { await Promise.allSettled(calls); },
  };
};
