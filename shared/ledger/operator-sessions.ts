import type { Statement } from './database.ts';
import { toTimestamp } from './instants.ts';
import type { OperatorRole } from './operators.ts';
import type { Statements } from './transaction.ts';

/** How long a session lasts: unused, and at most. */
export interface SessionLimits { idleMs: number; longestMs: number }
export interface OpenSession { sessionId: string; operator: string; role: OperatorRole; createdAt: number; seenAt: number; expiresAt: number }

const INSERT: Statement = {
  name: 'tocsin_open_session_v1',
  text: `INSERT INTO operator_session (session_id, token_hash, form_hash, operator, created_at, seen_at, expires_at)
         VALUES ($1, $2::bytea, $3::bytea, $4, $5::timestamptz, $5::timestamptz, $6::timestamptz) ON CONFLICT DO NOTHING RETURNING session_id`,
};

/** Opens a session; false where its form was used before. */
export const insertSession = async (on: Statements, one: { sessionId: string; tokenHash: Buffer; formHash: Buffer; operator: string; now: number; expiresAt: number }): Promise<boolean> =>
  (await on.query(INSERT, [one.sessionId, one.tokenHash, one.formHash, one.operator, toTimestamp(one.now), toTimestamp(one.expiresAt)])).length > 0;

const FIND: Statement = {
  name: 'tocsin_find_session_v1',
  text: `SELECT s.session_id, s.operator, o.role, s.created_at, s.seen_at, s.expires_at FROM operator_session s JOIN operator o ON o.name = s.operator
          WHERE s.token_hash = $1::bytea AND s.ended_at IS NULL AND s.expires_at > $2::timestamptz AND s.seen_at > $3::timestamptz AND o.disabled_at IS NULL`,
};

/** The session with that token's hash, with its operator's role as it is now; null where it has ended or lapsed. */
export const findSession = async (on: Statements, tokenHash: Buffer, { now, idleMs }: { now: number; idleMs: number }): Promise<OpenSession | null> => {
  const [row] = await on.query<{ session_id: string; operator: string; role: OperatorRole; created_at: Date; seen_at: Date; expires_at: Date }>(FIND, [tokenHash, toTimestamp(now), toTimestamp(now - idleMs)]);
  return row ? { sessionId: row.session_id, operator: row.operator, role: row.role, createdAt: row.created_at.getTime(), seenAt: row.seen_at.getTime(), expiresAt: row.expires_at.getTime() } : null;
};

const TOUCH: Statement = { name: 'tocsin_touch_session_v1', text: 'UPDATE operator_session SET seen_at = $2::timestamptz WHERE session_id = $1 AND seen_at < $2::timestamptz' };

/** Notes that a session was used. */
export const touchSession = async (on: Statements, sessionId: string, now: number): Promise<void> => { await on.query(TOUCH, [sessionId, toTimestamp(now)]); };

const END: Statement = {
  name: 'tocsin_end_sessions_v1',
  text: 'UPDATE operator_session SET ended_at = $3::timestamptz WHERE ($1::text IS NULL OR session_id = $1) AND ($2::text IS NULL OR operator = $2) AND ended_at IS NULL RETURNING session_id',
};

/** Ends one session, or all of an operator; returns how many were open. */
export const endSessions = async (on: Statements, which: { sessionId: string } | { operator: string }, now: number): Promise<number> =>
  (await on.query(END, ['sessionId' in which ? which.sessionId : null, 'operator' in which ? which.operator : null, toTimestamp(now)])).length;

const FORGET: Statement = { name: 'tocsin_forget_sessions_v1', text: 'DELETE FROM operator_session WHERE expires_at < $1::timestamptz' };

/** Removes sessions that lapsed before an instant: until then they keep their forms from being used again. */
export const forgetSessions = async (on: Statements, before: number): Promise<void> => { await on.query(FORGET, [toTimestamp(before)]); };
