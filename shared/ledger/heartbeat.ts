import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';

const BEAT: Statement = {
  name: 'tocsin_beat_v1',
  text: `INSERT INTO engine_heartbeat AS h (duty, finished_at) VALUES ($1, $2::timestamptz)
         ON CONFLICT (duty) DO UPDATE SET finished_at = EXCLUDED.finished_at WHERE h.finished_at < EXCLUDED.finished_at`,
};

/** Records that a duty (e.g. `sweep`) has just finished. */
export const beat = async (db: Database, duty: string, now: number): Promise<void> => {
  await db.query(BEAT, [duty, toTimestamp(now)]);
};

/** When a duty last finished; null where it never did. */
export const lastBeatAt = async (db: Database, duty: string): Promise<number | null> => {
  const row = await db.prisma.engineHeartbeat.findUnique({ where: { duty } });
  return row?.finishedAt.getTime() ?? null;
};

const PULSE: Statement = {
  name: 'tocsin_pulse_v1',
  text: `SELECT (SELECT finished_at FROM engine_heartbeat WHERE duty = $1) AS beat,
                (SELECT min(decide_at) FROM notification_state WHERE decide_at IS NOT NULL) AS decision`,
};

/** When a duty last finished (null where it never did), and the oldest instant at which a decision is due (null where none is). */
export const readPulse = async (db: Database, duty: string): Promise<{ beatAt: number | null; decisionAt: number | null }> => {
  const [row] = await db.query<{ beat: Date | null; decision: Date | null }>(PULSE, [duty]);
  return { beatAt: row?.beat?.getTime() ?? null, decisionAt: row?.decision?.getTime() ?? null };
};

// The relay takes outbox rows in the order of their ids: the one that waits longest is among the first.
const OLDEST: Statement = {
  name: 'tocsin_oldest_due_v3',
  text: `SELECT (SELECT min(decide_at) FROM notification_state WHERE decide_at IS NOT NULL) AS decision,
                (SELECT min(due.at) FROM poll_pace p CROSS JOIN LATERAL (
                   SELECT a.next_poll_at AS at FROM attempt a WHERE a.provider = p.provider AND a.next_poll_at IS NOT NULL ORDER BY a.next_poll_at LIMIT 1) due) AS poll,
                (SELECT min(not_before_at) FROM (SELECT not_before_at FROM outbox ORDER BY id LIMIT 1000) oldest) AS outbox`,
};

/** How long the oldest due decision, poll and outbox row have been waiting, in milliseconds; zero where none is due. */
export const oldestDueAges = async (db: Database, now: number): Promise<{ decisionMs: number; pollMs: number; outboxMs: number }> => {
  const [row] = await db.query<{ decision: Date | null; poll: Date | null; outbox: Date | null }>(OLDEST, []);
  const age = (at: Date | null | undefined): number => (at ? Math.max(0, now - at.getTime()) : 0);
  return { decisionMs: age(row?.decision), pollMs: age(row?.poll), outboxMs: age(row?.outbox) };
};
