import type { Statement } from './database.ts';
import { toTimestamp } from './instants.ts';
import type { Statements } from './transaction.ts';

// In one order, so that two logins with the same keys wait for each other and do not deadlock.
const COUNT: Statement = {
  name: 'tocsin_count_login_v1',
  text: `INSERT INTO login_throttle AS t (key, failures, until_at) SELECT key, 1, $3::timestamptz FROM unnest($1::bytea[]) AS k(key) ORDER BY key
         ON CONFLICT (key) DO UPDATE SET failures = CASE WHEN t.until_at <= $2::timestamptz THEN 1 ELSE t.failures + 1 END,
           until_at = CASE WHEN t.until_at <= $2::timestamptz THEN excluded.until_at ELSE t.until_at END
         RETURNING key, failures, until_at`,
};

export interface Counted { key: Buffer; failures: number; untilAt: number }

/** Counts a login under each key, as failed until it is taken back; a window that is over begins anew. Counted before the password is looked at, so that a crowd at once is counted too. */
export const countLogin = async (on: Statements, keys: readonly Buffer[], { now, windowMs }: { now: number; windowMs: number }): Promise<Counted[]> => {
  const rows = await on.query<{ key: Buffer; failures: number; until_at: Date }>(COUNT, [keys, toTimestamp(now), toTimestamp(now + windowMs)]);
  return rows.map(({ key, failures, until_at: untilAt }) => ({ key, failures, untilAt: untilAt.getTime() }));
};

const UNCOUNT: Statement = { name: 'tocsin_uncount_login_v1', text: 'UPDATE login_throttle SET failures = greatest(failures - 1, 0) WHERE key = ANY($1::bytea[])' };

/** Undoes `countLogin` for a login that is refused unseen: in the same transaction, which still holds the rows. */
export const uncountLogin = async (on: Statements, keys: readonly Buffer[]): Promise<void> => { await on.query(UNCOUNT, [keys]); };

const TAKE_BACK: Statement = {
  name: 'tocsin_take_login_back_v1',
  text: `WITH mine AS (SELECT key FROM login_throttle WHERE key = ANY($1::bytea[]) ORDER BY key FOR UPDATE)
         UPDATE login_throttle t SET failures = CASE WHEN t.key = $2::bytea THEN 0 ELSE greatest(t.failures - 1, 0) END FROM mine WHERE t.key = mine.key`,
};

/** A login that succeeded is no failure, and ends the count of `own`. */
export const takeLoginBack = async (on: Statements, keys: readonly Buffer[], own: Buffer): Promise<void> => { await on.query(TAKE_BACK, [keys, own]); };

const READ: Statement = { name: 'tocsin_read_login_throttle_v1', text: 'SELECT key, failures, until_at FROM login_throttle WHERE key = ANY($1::bytea[]) AND until_at > $2::timestamptz' };

/** How often logins failed under these keys in the window that runs; counts nothing. Keys without a failure are left out. */
export const readLogins = async (on: Statements, keys: readonly Buffer[], now: number): Promise<Counted[]> => {
  const rows = await on.query<{ key: Buffer; failures: number; until_at: Date }>(READ, [keys, toTimestamp(now)]);
  return rows.map(({ key, failures, until_at: untilAt }) => ({ key, failures, untilAt: untilAt.getTime() }));
};

const FORGET: Statement = { name: 'tocsin_forget_logins_v1', text: 'DELETE FROM login_throttle WHERE key IN (SELECT key FROM login_throttle WHERE until_at <= $1::timestamptz FOR UPDATE SKIP LOCKED)' };

/** Removes the counts whose window is over. */
export const forgetLogins = async (on: Statements, now: number): Promise<void> => { await on.query(FORGET, [toTimestamp(now)]); };
