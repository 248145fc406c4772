import type { Instant } from '../domain/words.ts';

/** An instant as Postgres reads it; milliseconds kept. */
export const toTimestamp = (at: Instant): string => new Date(at).toISOString();
export const toTimestampOrNull = (at: Instant | null): string | null => (at === null ? null : toTimestamp(at));
/** Bytes as jsonb carries them to a bytea column. */
export const toHexBytes = (bytes: Uint8Array): string => `\\x${Buffer.from(bytes).toString('hex')}`;
