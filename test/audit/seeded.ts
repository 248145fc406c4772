export interface Seeded {
  /** In [0, 1). */
  next: () => number;
  /** A whole number from `least` to `most`, both included. */
  between: (least: number, most: number) => number;
  chance: (share: number) => boolean;
  shuffled: <Value>(values: readonly Value[]) => Value[];
  pick: <Value>(values: readonly Value[]) => Value;
}

/** Randomness that a seed repeats (mulberry32), so that a finding can be looked for again. */
export const seeded = (seed: number): Seeded => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    between,
    chance: (share) => next() < share,
    pick: (values) => values[between(0, values.length - 1)] as (typeof values)[number],
    shuffled: (values) => {
      const left = [...values];
      return values.map(() => left.splice(between(0, left.length - 1), 1)[0] as (typeof values)[number]);
    },
  };
};
