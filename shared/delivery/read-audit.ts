import type { AuditActor, AuditFilter, AuditRecord } from '../ledger/audit-entries.ts';
import { insertAudit, listAudit } from '../ledger/audit-entries.ts';
import type { Engine } from './engine.ts';

/** Everything that stands in the trail as an action. */
export const AUDIT_ACTIONS: readonly string[] = [
  'login.ok', 'login.failed', 'logout.ok', 'logout.everywhere', 'operator.add', 'operator.set_role', 'operator.set_password', 'operator.disable', 'key.create', 'key.revoke',
  'policy.activate', 'dead_letter.retry', 'dead_letter.discard', 'notification.close', 'notification.pause', 'notification.resume', 'notification.retry', 'suppression.add', 'suppression.remove', 'consent.withdraw', 'consent.restore',
  'reason.state', 'audit.read', 'audit.verify',
];

/** What was asked for, as the trail tells it. */
const targetOf = ({ actor, action, sinceAt, before }: AuditFilter): string => {
  const parts = [...(actor === undefined ? [] : [`actor=${actor}`]), ...(action === undefined ? [] : [`action=${action}`]), ...(sinceAt === undefined ? [] : [`since=${sinceAt}`]), ...(before === undefined ? [] : [`before=${before}`])];
  return parts.join(',') || 'all';
};

/** A page of the trail, the newest first. That it is read stands in the trail before anything is shown. */
export const readAudit = async ({ db, now }: Pick<Engine, 'db' | 'now'>, filter: AuditFilter, { limit, by }: { limit: number; by: AuditActor }): Promise<{ rows: AuditRecord[]; older: string | null }> => {
  await insertAudit(db, by, [{ action: 'audit.read', target: targetOf(filter), result: 'done' }], now());
  const rows = await listAudit(db, filter, limit + 1);
  return { rows: rows.slice(0, limit), older: rows.length > limit ? rows[limit - 1]?.id ?? null : null };
};
