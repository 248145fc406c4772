import type { Channel } from '../domain/words.ts';
import type { Database, Statement } from './database.ts';

/** One access of a link to a report: which link, what was done, and what came of it. */
export interface ReportAccess { at: Date; channel: Channel; action: 'page' | 'code' | 'open'; result: string; artifactId: string }

const READ: Statement = {
  name: 'tocsin_read_report_accesses_v1',
  text: `SELECT a.at, l.channel, a.action, a.result, l.artifact_id
           FROM report_link l CROSS JOIN LATERAL (SELECT id, at, action, result FROM report_access WHERE link_id = l.link_id ORDER BY id LIMIT $2) a
          WHERE l.event_id = $1 ORDER BY a.id LIMIT $2`,
};

/** The accesses of a notification's links, oldest first; null where it has no link. Neither token, nor client, nor address is among what is read. */
export const readReportAccesses = async (db: Database, eventId: string, limit: number): Promise<ReportAccess[] | null> => {
  const rows = await db.query<{ at: Date; channel: Channel; action: ReportAccess['action']; result: string; artifact_id: string }>(READ, [eventId, limit]);
  if (rows.length === 0 && await db.prisma.reportLink.count({ where: { eventId } }) === 0) return null;
  return rows.map((row) => ({ at: row.at, channel: row.channel, action: row.action, result: row.result, artifactId: row.artifact_id }));
};
