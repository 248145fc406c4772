import { seeded } from '../audit/seeded.ts';
import type { Seeded } from '../audit/seeded.ts';

/** Randomness of its own for each matter: leaving out one fault then leaves the draws of all others as they are. */
export const stream = (seed: number, ...about: (string | number)[]): Seeded => {
  let mixed = seed >>> 0;
  for (const char of about.join('/')) mixed = Math.imul(mixed ^ char.charCodeAt(0), 0x01000193) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) >>> 0;
  return seeded(mixed);
};
