/** Says by name which promise of the design was broken. */
export class BrokenInvariant extends Error {}

/** Throws BrokenInvariant, with what it is about, unless the promise holds. */
export const must = (holds: boolean, invariant: string, about?: unknown): void => {
  if (!holds) throw new BrokenInvariant(about === undefined ? invariant : `${invariant}: ${JSON.stringify(about)}`);
};
