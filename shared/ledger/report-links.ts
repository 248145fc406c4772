import type { Channel } from '../domain/words.ts';
import type { Database, Statement } from './database.ts';
import { toHexBytes, toTimestamp } from './instants.ts';

/** Who did what with a link, for the record of accesses. */
export interface ReportVisit { tokenHash: Uint8Array; at: number; requestId: string; /** Keyed hash of the client's network. */ client: Uint8Array }

const NOTE: Statement = {
  name: 'tocsin_note_report_access_v1',
  text: `INSERT INTO report_access (link_id, action, result, at, request_id, client)
         SELECT (SELECT link_id FROM report_link WHERE token_hash = $1::bytea), $2, 'asked', $3::timestamptz, $4, $5::bytea`,
};

/** Records that a page was shown or a code asked for, whether or not there is such a link. */
export const noteReportAccess = async (db: Database, visit: ReportVisit, action: 'page' | 'code'): Promise<void> => {
  await db.query(NOTE, [toHexBytes(visit.tokenHash), action, toTimestamp(visit.at), visit.requestId, toHexBytes(visit.client)]);
};

/** What a visit that is refused before it is looked at came to: too many came in a minute, or it could not be read. */
export type RefusedVisit = 'limited' | 'malformed';

const NOTE_REFUSED: Statement = {
  name: 'tocsin_note_refused_report_visit_v1',
  text: `INSERT INTO report_access (link_id, action, result, at, request_id, client)
         SELECT link_id, $2, $3, $4::timestamptz, $5, $6::bytea FROM report_link WHERE token_hash = $1::bytea`,
};

/** Records a visit that was refused unlooked at; of a link that does not exist nothing, so that whoever makes links up fills no table. */
export const noteRefusedVisit = async (db: Database, visit: ReportVisit, { action, result }: { action: 'page' | 'code' | 'open'; result: RefusedVisit }): Promise<void> => {
  await db.query(NOTE_REFUSED, [toHexBytes(visit.tokenHash), action, result, toTimestamp(visit.at), visit.requestId, toHexBytes(visit.client)]);
};

/** How often a link may be tried. */
export interface ReportBounds { /** Wrong tries of one code. */ triesPerCode: number; /** Wrong tries of a link, ever. */ triesEver: number; codesEver: number }

const REDEEM: Statement = {
  name: 'tocsin_redeem_report_code_v1',
  // Locked first, so that of two that have the right code one wins, and no wrong one goes uncounted.
  text: `
WITH link AS (
  SELECT link_id, event_id, artifact_id, expires_at, code_hash, code_until, code_tries, tries FROM report_link WHERE token_hash = $1::bytea FOR UPDATE),
judged AS (
  SELECT link_id, event_id, artifact_id,
         coalesce(code_hash = $2::bytea AND code_until > $3::timestamptz AND expires_at > $3::timestamptz AND code_tries < $4::integer AND tries < $5::integer, false) AS opens
    FROM link),
counted AS (
  UPDATE report_link r SET
         code_hash = CASE WHEN j.opens OR r.code_tries + 1 >= $4::integer THEN NULL ELSE r.code_hash END,
         code_tries = r.code_tries + CASE WHEN j.opens THEN 0 ELSE 1 END, tries = r.tries + CASE WHEN j.opens THEN 0 ELSE 1 END
    FROM judged j WHERE r.link_id = j.link_id),
noted AS (
  INSERT INTO report_access (link_id, action, result, at, request_id, client)
  SELECT (SELECT link_id FROM judged), 'open', CASE WHEN (SELECT opens FROM judged) THEN 'opened' ELSE 'refused' END, $3::timestamptz, $6, $7::bytea)
SELECT event_id, artifact_id FROM judged WHERE opens`,
};

/** Uses up the code of a link, or counts a wrong try; recorded either way. What it opens, or null: why not is nobody's business. */
export const redeemReportCode = async (db: Database, visit: ReportVisit, { codeHash, bounds }: { codeHash: Uint8Array; bounds: ReportBounds }): Promise<{ eventId: string; artifactId: string } | null> => {
  const [row] = await db.query<{ event_id: string; artifact_id: string }>(REDEEM, [
    toHexBytes(visit.tokenHash), toHexBytes(codeHash), toTimestamp(visit.at), bounds.triesPerCode, bounds.triesEver, visit.requestId, toHexBytes(visit.client),
  ]);
  return row ? { eventId: row.event_id, artifactId: row.artifact_id } : null;
};

/** A link that a code may be made for. */
export interface OpenReportLink { linkId: string; eventId: string; channel: Channel; codes: number }

const FIND: Statement = {
  name: 'tocsin_find_report_link_v1',
  text: 'SELECT link_id::text, event_id, channel, codes FROM report_link WHERE token_hash = $1::bytea AND expires_at > $2::timestamptz AND codes < $3 AND tries < $4 AND (code_until IS NULL OR code_until <= $5::timestamptz)',
};

/** The link behind a token, where it may have another code: not expired, not used up, and with no code that holds beyond `lastCodeUntil`. */
export const findOpenReportLink = async (db: Database, where: { tokenHash: Uint8Array; now: number; lastCodeUntil: number; bounds: ReportBounds }): Promise<OpenReportLink | null> => {
  const [row] = await db.query<{ link_id: string; event_id: string; channel: Channel; codes: number }>(FIND, [
    toHexBytes(where.tokenHash), toTimestamp(where.now), where.bounds.codesEver, where.bounds.triesEver, toTimestamp(where.lastCodeUntil),
  ]);
  return row ? { linkId: row.link_id, eventId: row.event_id, channel: row.channel, codes: row.codes } : null;
};

const ISSUE: Statement = {
  name: 'tocsin_issue_report_code_v1',
  text: 'UPDATE report_link SET code_hash = $3::bytea, code_until = $4::timestamptz, code_tries = 0, codes = codes + 1 WHERE link_id = $1::bigint AND codes = $2 RETURNING link_id',
};

/** Makes that code the one that opens a link; false where another one was made since the link was read. */
export const issueReportCode = async (db: Database, link: OpenReportLink, code: { codeHash: Uint8Array; until: number }): Promise<boolean> =>
  (await db.query(ISSUE, [link.linkId, link.codes, toHexBytes(code.codeHash), toTimestamp(code.until)])).length > 0;

/** Records which notification carries the code. */
export const nameCodeEvent = async (db: Database, linkId: string, eventId: string): Promise<void> => {
  await db.prisma.reportLink.update({ where: { linkId: BigInt(linkId) }, data: { codeEvent: eventId } });
};
