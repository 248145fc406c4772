import { createHash } from 'node:crypto';
import type { Statement } from './database.ts';
import { toTimestamp } from './instants.ts';
import type { Statements } from './transaction.ts';

export type AuditVia = 'dashboard' | 'basic' | 'cli' | 'service';

/** Who did something, and from where. Names and ids only; `client` is a keyed hash of a network. */
export interface AuditActor { actor: string; role: 'viewer' | 'operator' | 'admin' | null; via: AuditVia; session: string | null; client: string | null; requestId: string }

/** What was done to what, with which result; `reason` is a code. */
export interface AuditEvent { action: string; target: string; result: string; reason?: string | null }
export interface AuditRecord extends AuditActor, AuditEvent { id: string; at: number; reason: string | null; body: string; prevHash: Buffer; hash: Buffer }

const INSERT: Statement = {
  name: 'tocsin_audit_v1',
  text: `INSERT INTO audit_entry (at, actor, role, via, session, client, action, target, result, reason, request_id)
         SELECT $1::timestamptz, $2, $3, $4, $5, $6, e.one ->> 'action', e.one ->> 'target', e.one ->> 'result', e.one ->> 'reason', $8
           FROM jsonb_array_elements($7::jsonb) WITH ORDINALITY AS e(one, place) ORDER BY e.place`,
};

/** Appends to the trail. Last in its transaction: it waits for whoever else is appending, and who holds it must not wait for others. */
export const insertAudit = async (on: Statements, by: AuditActor, events: readonly AuditEvent[], now: number): Promise<void> => {
  if (events.length === 0) return;
  await on.query(INSERT, [toTimestamp(now), by.actor, by.role, by.via, by.session, by.client, JSON.stringify(events), by.requestId]);
};

export interface AuditFilter { actor?: string | undefined; action?: string | undefined; /** Only from this instant on. */ sinceAt?: number | undefined; /** Only what is older than this id. */ before?: string | undefined }

interface Row { id: string; at: Date; actor: string; role: AuditActor['role']; via: AuditVia; session: string | null; client: string | null; action: string; target: string; result: string; reason: string | null; request_id: string; body: string; prev_hash: Buffer; hash: Buffer }

// Ordered by the number and not by its text, which has the same name. Instants never go back along the ids, so that the first id of a time bounds the walk down the primary key.
const listing = (where: string): string => `SELECT id::text, at, actor, role, via, session, client, action, target, result, reason, request_id, body, prev_hash, hash FROM audit_entry a
  WHERE a.id < coalesce($1::bigint, 9223372036854775807) AND a.id >= coalesce((SELECT id FROM audit_entry WHERE at >= $2::timestamptz ORDER BY at, id LIMIT 1), CASE WHEN $2::timestamptz IS NULL THEN 0 ELSE 9223372036854775807 END)
  ${where} ORDER BY a.id DESC LIMIT $3`;
const LISTS: Readonly<Record<string, Statement>> = {
  all: { name: 'tocsin_audit_list_v1', text: listing('') },
  actor: { name: 'tocsin_audit_list_actor_v1', text: listing('AND actor = $4') },
  action: { name: 'tocsin_audit_list_action_v1', text: listing('AND action = $4') },
  both: { name: 'tocsin_audit_list_both_v1', text: listing('AND actor = $4 AND action = $5') },
};

const toRecord = ({ request_id: requestId, prev_hash: prevHash, at, ...row }: Row): AuditRecord => ({ ...row, at: at.getTime(), requestId, prevHash, hash: row.hash });

/** Entries, the newest first; every filter is a range of an index. */
export const listAudit = async (db: Statements, { actor, action, sinceAt, before }: AuditFilter, limit: number): Promise<AuditRecord[]> => {
  const kind = actor === undefined ? (action === undefined ? 'all' : 'action') : action === undefined ? 'actor' : 'both';
  const values = [before ?? null, sinceAt === undefined ? null : toTimestamp(sinceAt), limit, ...(actor === undefined ? [] : [actor]), ...(action === undefined ? [] : [action])];
  return (await db.query<Row>(LISTS[kind] as Statement, values)).map(toRecord);
};

const PAGE = 1_000;
const AFTER: Statement = {
  name: 'tocsin_audit_after_v1',
  text: `SELECT id::text, at, actor, role, via, session, client, action, target, result, reason, request_id, body, prev_hash, hash FROM audit_entry a WHERE a.id > $1::bigint ORDER BY a.id LIMIT $2`,
};
const told = (row: AuditRecord): Record<string, unknown> => ({
  id: Number(row.id), at: row.at, actor: row.actor, role: row.role, via: row.via, session: row.session, client: row.client, action: row.action, target: row.target,
  result: row.result, reason: row.reason, request_id: row.requestId,
});
const says = (row: AuditRecord): boolean => {
  const body = JSON.parse(row.body) as Record<string, unknown>;
  return Object.entries(told(row)).every(([name, value]) => body[name] === value);
};

/** Walks the chain from its beginning: how many entries it has, and the first that was changed, lacks the one before it, or says something else than its text. */
export const verifyAudit = async (db: Statements): Promise<{ entries: number; faultAt: string | null }> => {
  let previous: AuditRecord | null = null;
  let entries = 0;
  for (;;) {
    const rows: AuditRecord[] = (await db.query<Row>(AFTER, [previous?.id ?? '0', PAGE])).map(toRecord);
    for (const row of rows) {
      const before: Buffer = previous?.hash ?? Buffer.alloc(32);
      const hash = createHash('sha256').update(before).update(row.body, 'utf8').digest();
      if (BigInt(row.id) !== BigInt(entries) + 1n || !row.prevHash.equals(before) || !row.hash.equals(hash) || !says(row)) return { entries, faultAt: row.id };
      previous = row;
      entries += 1;
    }
    if (rows.length < PAGE) return { entries, faultAt: null };
  }
};

