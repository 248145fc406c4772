import type { Instant } from '../domain/words.ts';

/** Most instants of an append stand in several of its columns and again in the next append: writing each out anew is a good part of its price. */
const REMEMBERED = 256;
const instants = new Float64Array(REMEMBERED).fill(NaN);
const texts = new Array<string>(REMEMBERED).fill('');

/** An instant as Postgres reads it; milliseconds kept. */
export const toTimestamp = (at: Instant): string => {
  const place = Math.floor(Math.abs(at)) % REMEMBERED;
  if (instants[place] === at) return texts[place] as string;
  const text = new Date(at).toISOString();
  instants[place] = at;
  texts[place] = text;
  return text;
};
export const toTimestampOrNull = (at: Instant | null): string | null => (at === null ? null : toTimestamp(at));
/** Bytes as jsonb carries them to a bytea column. */
export const toHexBytes = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`;
