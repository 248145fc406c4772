import { randomBytes } from 'node:crypto';

/** Drawn ahead: one call for some hundred nonces, salts and ids costs what one for a single of them does. */
const DRAWN_BYTES = 8_192;
let drawn = Buffer.alloc(0);
let taken = 0;

/** So many bytes of the system's randomness, at most a thousand. No byte is given out twice; the caller copies or spends them, and changes none. */
export const takeRandom = (bytes: number): Buffer => {
  if (taken + bytes > drawn.length) {
    drawn = randomBytes(DRAWN_BYTES);
    taken = 0;
  }
  taken += bytes;
  return drawn.subarray(taken - bytes, taken);
};
