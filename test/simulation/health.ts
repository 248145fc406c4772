/** Counts the time in which decisions could be made: a coordinator ran and the database answered. */
export interface Health {
  look: (now: number) => void;
  /** Milliseconds of good health between two instants. */
  since: (from: number, now: number) => number;
}

export const openHealth = (isWell: () => boolean): Health => {
  const ill: { from: number; to: number }[] = [];
  let illSince: number | null = null;
  return {
    look: (now) => {
      const well = isWell();
      if (well && illSince !== null) {
        ill.push({ from: illSince, to: now });
        illSince = null;
      } else if (!well) illSince ??= now;
    },
    since: (from, now) => {
      if (now <= from) return 0;
      const lost = [...ill, ...(illSince === null ? [] : [{ from: illSince, to: now }])]
        .reduce((sum, span) => sum + Math.max(0, Math.min(span.to, now) - Math.max(span.from, from)), 0);
      return now - from - lost;
    },
  };
};
