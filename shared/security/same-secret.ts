import { timingSafeEqual } from 'node:crypto';

/** Whether two secrets, or hashes of secrets, are the same; how long it takes tells nothing but whether they are equally long. */
export const isSameSecret = (one: string | Uint8Array, other: string | Uint8Array): boolean => {
  const [left, right] = [Buffer.from(one as Uint8Array), Buffer.from(other as Uint8Array)];
  return left.length === right.length && timingSafeEqual(left, right);
};
