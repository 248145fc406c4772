import type { LetterEnd } from '../domain/explain-dead-letter.ts';
import type { NotificationState } from '../domain/state.ts';
import { awaitsOperator } from '../domain/state.ts';
import type { Resolution } from '../domain/work.ts';
import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';

/** Which dead letters; ids go before everything else. */
export interface DeadLetterFilter { ids?: readonly bigint[]; channel?: 'sms' | 'email'; sinceAt?: number; reason?: string }

const whereOpen = ({ ids, channel, sinceAt, reason }: DeadLetterFilter) => ({
  resolvedAt: null,
  ...(ids === undefined ? {} : { id: { in: [...ids] } }),
  ...(channel === undefined ? {} : { channel }),
  ...(sinceAt === undefined ? {} : { createdAt: { gte: new Date(sinceAt) } }),
  ...(reason === undefined ? {} : { reason }),
});

/** Open dead letters, the newest first, below an id. */
export const listDeadLetters = async (db: Database, filter: DeadLetterFilter, page: { limit: number; below?: bigint }) =>
  db.prisma.deadLetter.findMany({
    where: { AND: [whereOpen(filter), page.below === undefined ? {} : { id: { lt: page.below } }] }, orderBy: { id: 'desc' }, take: page.limit,
  });
export type DeadLetterRecord = Awaited<ReturnType<typeof listDeadLetters>>[number];

/** How many are open. */
export const countDeadLetters = async (db: Database, filter: DeadLetterFilter): Promise<number> => db.prisma.deadLetter.count({ where: whereOpen(filter) });

/** One dead letter with everything that was asked about it, the oldest first; null where there is none. */
export const readDeadLetter = async (db: Database, id: bigint) =>
  db.prisma.deadLetter.findUnique({ where: { id }, include: { requests: { orderBy: { id: 'asc' }, omit: { box: true, keyId: true } } } });
export type DeadLetterDetails = NonNullable<Awaited<ReturnType<typeof readDeadLetter>>>;

/** A dead letter to be shown on the board, or no more. */
export interface Shown { id: string; eventId: string; attemptKey: string; channel: 'sms' | 'email'; reason: string; showing: number }

const TO_SHOW: Statement = {
  name: 'tocsin_dead_letters_to_show_v1',
  text: `SELECT id, event_id AS "eventId", attempt_key AS "attemptKey", channel, reason, showing
           FROM dead_letter WHERE resolved_at IS NULL AND NOT projected ORDER BY id LIMIT $1`,
};
const TO_HIDE: Statement = {
  name: 'tocsin_dead_letters_to_hide_v1',
  text: `SELECT id, event_id AS "eventId", attempt_key AS "attemptKey", channel, reason, showing
           FROM dead_letter WHERE resolved_at IS NOT NULL AND projected ORDER BY id LIMIT $1`,
};

/** Open dead letters without a job on the board, and resolved ones that still have one; at most `limit` of each. */
export const deadLettersToProject = async (db: Database, limit: number): Promise<{ show: Shown[]; hide: Shown[] }> => {
  const [show, hide] = await Promise.all([db.query<Shown>(TO_SHOW, [limit]), db.query<Shown>(TO_HIDE, [limit])]);
  return { show, hide };
};

// The showing is compared, so that a job of an earlier showing is not taken for this one's.
const MARK: Statement = {
  name: 'tocsin_mark_dead_letters_v1',
  text: `WITH mine AS MATERIALIZED (
           SELECT l.id FROM dead_letter l JOIN unnest($1::bigint[], $2::integer[]) AS j(id, showing) ON l.id = j.id AND l.showing = j.showing ORDER BY l.id FOR NO KEY UPDATE OF l)
         UPDATE dead_letter l SET projected = $3 FROM mine WHERE l.id = mine.id`,
};

/** Records which of them have a job on the board by now. */
export const markProjected = async (db: Database, rows: readonly Shown[], projected: boolean): Promise<void> => {
  if (rows.length > 0) await db.query(MARK, [rows.map((row) => row.id), rows.map((row) => row.showing), projected]);
};

const AGAIN: Statement = {
  name: 'tocsin_show_dead_letter_again_v1',
  text: 'UPDATE dead_letter SET showing = showing + 1, projected = false WHERE id = $1::bigint AND showing = $2 AND resolved_at IS NULL',
};

/** Its job ends now though it is still open: another one is to stand for it. */
export const showAgain = async (db: Database, { id, showing }: { id: string; showing: number }): Promise<void> => { await db.query(AGAIN, [id, showing]); };

const FORGET: Statement = {
  name: 'tocsin_forget_projection_v1',
  text: `WITH mine AS MATERIALIZED (SELECT id FROM dead_letter WHERE resolved_at IS NULL AND projected AND channel = $1 ORDER BY id FOR NO KEY UPDATE)
         UPDATE dead_letter l SET projected = false FROM mine WHERE l.id = mine.id`,
};

/** The queue lost its jobs: everything open on that channel is to be shown anew. */
export const forgetProjection = async (db: Database, channel: 'sms' | 'email'): Promise<void> => { await db.query(FORGET, [channel]); };

const PROJECTED: Statement = {
  name: 'tocsin_count_projected_v1',
  text: `SELECT channel, count(*)::int AS count FROM dead_letter WHERE resolved_at IS NULL AND projected GROUP BY channel`,
};

/** How many open dead letters stand on the board, by channel. */
export const countProjected = async (db: Database): Promise<Partial<Record<'sms' | 'email', number>>> =>
  Object.fromEntries((await db.query<{ channel: 'sms' | 'email'; count: number }>(PROJECTED, [])).map((row) => [row.channel, row.count]));

const RESOLVE: Statement = {
  name: 'tocsin_resolve_dead_letter_v1',
  text: 'UPDATE dead_letter SET resolved_at = $2::timestamptz, resolution = $3 WHERE id = $1::bigint AND resolved_at IS NULL',
};

/** Resolves one that no append resolves: discarded, or found to be past help. */
export const resolveDeadLetter = async (db: Database, id: string, { resolution, now }: { resolution: Resolution; now: number }): Promise<void> => {
  await db.query(RESOLVE, [id, toTimestamp(now), resolution]);
};

// What is open is little, and each one's expiry is a row by its key. In one order with whoever marks them; one in somebody's hands is left for the next look.
const EXPIRE: Statement = {
  name: 'tocsin_expire_dead_letters_v1',
  text: `
WITH open AS MATERIALIZED (SELECT id, event_id FROM dead_letter WHERE resolved_at IS NULL),
past AS MATERIALIZED (
  SELECT o.id FROM open o JOIN LATERAL (SELECT x.expires_at FROM notification x WHERE x.event_id = o.event_id OFFSET 0) n ON true
   WHERE n.expires_at <= $1::timestamptz ORDER BY o.id LIMIT $2),
mine AS MATERIALIZED (
  SELECT l.id FROM dead_letter l WHERE l.id = ANY(ARRAY(SELECT id FROM past)) AND l.resolved_at IS NULL ORDER BY l.id FOR NO KEY UPDATE OF l SKIP LOCKED)
UPDATE dead_letter l SET resolved_at = $1::timestamptz, resolution = 'expired' WHERE l.id = ANY(ARRAY(SELECT id FROM mine)) RETURNING l.id::text AS id`,
};

/**
 * Resolves open dead letters whose notification is past its expiry, at most `limit`; returns how many. An expiry that is an entry
 * resolves its own: these are of notifications that had settled before, of which nothing is written any more.
 */
export const expireDeadLetters = async (db: Database, { now, limit }: { now: number; limit: number }): Promise<number> => (await db.query(EXPIRE, [toTimestamp(now), limit])).length;

/** One dead letter of a notification: how it ended, null while it is open, and who discarded it, where somebody did. */
export interface DeadLetterOf { attemptKey: string; end: LetterEnd | null; discard: { actor: string; at: number; reason: string; keyId: string | null; box: Buffer | null } | null }

const OF_EVENT: Statement = {
  name: 'tocsin_dead_letters_of_event_v2',
  text: `SELECT l.attempt_key AS "attemptKey", l.resolution, l.resolved_at AS at, r.actor, r.reason, r.key_id AS "keyId", r.box
           FROM dead_letter l LEFT JOIN LATERAL (
             SELECT q.actor, q.reason, q.key_id, q.box FROM dead_letter_request q
              WHERE q.dead_letter_id = l.id AND q.action = 'discard' AND q.result = 'discarded' ORDER BY q.id DESC LIMIT 1) r ON true
          WHERE l.event_id = $1 ORDER BY l.id`,
};

type RowOfEvent = { attemptKey: string; actor: string | null; reason: string | null; keyId: string | null; box: Buffer | null } & ({ resolution: null; at: null } | { resolution: Resolution; at: Date });

/** The dead letters of a notification in that state, the oldest first. Few have any, and of no others is it asked: those that are resolved stand in a coarse index. */
export const readDeadLettersOf = async (db: Database, { eventId, attempts }: Pick<NotificationState, 'eventId' | 'attempts'>): Promise<DeadLetterOf[]> => {
  if (!attempts.some(awaitsOperator)) return [];
  const rows = await db.query<RowOfEvent>(OF_EVENT, [eventId]);
  return rows.map(({ attemptKey, resolution, at, actor, reason, keyId, box }) => ({
    attemptKey, end: at === null ? null : { attempt: attemptKey, at: at.getTime(), as: resolution },
    discard: at === null || actor === null || reason === null ? null : { actor, at: at.getTime(), reason, keyId, box },
  }));
};

/** How those ended that have: an attempt's own in the order of time, for one is open at a time. */
export const endsOf = (letters: readonly DeadLetterOf[]): LetterEnd[] => letters.flatMap(({ end }) => end ?? []);

const STILL_OPEN: Statement = {
  name: 'tocsin_open_letters_v1',
  text: 'SELECT attempt_key FROM dead_letter WHERE attempt_key = ANY($1::text[]) AND resolved_at IS NULL',
};

/** Which of these attempts have a dead letter that is open. */
export const readOpenLetters = async (db: Database, attempts: readonly string[]): Promise<Set<string>> => {
  if (attempts.length === 0) return new Set();
  return new Set((await db.query<{ attempt_key: string }>(STILL_OPEN, [attempts])).map((row) => row.attempt_key));
};
