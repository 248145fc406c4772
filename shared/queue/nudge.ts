const GRAIN_MS = 5;
const MOST_INSTANTS = 1_000;
const LONGEST_MS = 60_000;

export interface Nudge {
  /** Asks for a nudge at this instant (epoch ms), or a few ms later. */
  at(dueAt: number): void;
  stop(): void;
}

/**
 * Calls `nudge` shortly after each instant it was given, with one timer for all. An idle Redis looks at its clock only `hz`
 * times a second, ten by default, and ends a worker's blocking wait up to 100 ms late; any command makes it look at once.
 * Only punctuality rests on this: instants beyond a minute or a thousand are dropped.
 */
export const openNudge = (nudge: () => void): Nudge => {
  const instants = new Set<number>();
  let timer: NodeJS.Timeout | undefined;
  let setFor = Infinity;

  const arm = (): void => {
    const next = Math.min(...instants);
    if (next >= setFor) return;
    clearTimeout(timer);
    setFor = next;
    timer = setTimeout(fire, Math.max(next - Date.now(), 0)).unref();
  };
  const fire = (): void => {
    setFor = Infinity;
    const now = Date.now();
    const before = instants.size;
    for (const instant of instants) if (instant <= now) instants.delete(instant);
    // A timer may fire a millisecond early by this clock; then it is only set again.
    if (instants.size < before) nudge();
    arm();
  };

  return {
    at: (dueAt) => {
      if (instants.size >= MOST_INSTANTS || dueAt - Date.now() > LONGEST_MS) return;
      // One step after the due time: the wait ends by Redis' clock, which may not have come to it yet.
      instants.add((Math.floor(dueAt / GRAIN_MS) + 1) * GRAIN_MS);
      arm();
    },
    stop: () => {
      clearTimeout(timer);
      instants.clear();
    },
  };
};
