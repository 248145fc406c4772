import { isActorName } from '../../shared/config/actor-name.ts';
import { AUDIT_ACTIONS, readAudit } from '../../shared/delivery/read-audit.ts';
import type { AuditRecord } from '../../shared/ledger/audit-entries.ts';
import { insertAudit, verifyAudit } from '../../shared/ledger/audit-entries.ts';
import type { Command, Input } from './command.ts';
import { instantOption } from './instant-option.ts';
import { dateTime } from './entry-lines.ts';
import { auditOf, withDesk } from './operator-engine.ts';
import { Refusal, UsageError } from './refusal.ts';
import { table } from './table.ts';
import { wholeNumber } from './whole-number.ts';

const DEFAULT_ENTRIES = 200;
const MOST_ENTRIES = 10_000;

const shown = (row: AuditRecord) => ({
  id: Number(row.id), at: new Date(row.at).toISOString(), actor: row.actor, role: row.role, via: row.via, session: row.session, client: row.client,
  action: row.action, target: row.target, result: row.result, reason: row.reason, request_id: row.requestId, hash: row.hash.toString('hex'),
});

const filterOf = (input: Input, now: number) => {
  const [of, action] = [input.text('of'), input.text('action')];
  if (of !== undefined && !isActorName(of)) throw new UsageError('--of is a name, as the trail has it', '--of');
  if (action !== undefined && !AUDIT_ACTIONS.includes(action)) throw new UsageError(`--action is one of ${AUDIT_ACTIONS.join(', ')}`, '--action');
  const before = wholeNumber(input, 'before', Number.MAX_SAFE_INTEGER);
  return { actor: of, action, sinceAt: instantOption(input, 'since', now) ?? undefined, before: before === null ? undefined : String(before) };
};

export const auditListCommand: Command = {
  name: 'audit list',
  summary: 'list logins and changes by people, newest first; that it is read is an entry too',
  args: [],
  options: {
    of: { value: 'NAME', help: 'only what that actor did' },
    action: { value: 'CODE', help: 'only that, e.g. login.failed' },
    since: { value: 'T', help: 'only since then: 30m, 2h, 7d, or a date such as 2026-11-29T08:00Z' },
    before: { value: 'ID', help: 'only what is older than that entry, to go on with' },
    limit: { value: 'N', help: `how many at most (default: ${DEFAULT_ENTRIES})` },
    as: { value: 'A', help: 'who reads it: a name or role, as the trail will say (default: cli)' },
  },
  // Elsewhere --actor is who acts, and in a list of what people did it looks like whose entries are wanted: a read must not be noted under a name that was meant so.
  instead: { actor: 'could mean two things here: say --of NAME for what that actor did, or --as NAME for who reads it, as the trail will say' },
  examples: [['audit list --since 7d --of ada', 'what ada did in a week'], ['audit list --action login.failed --json', 'for programs']],
  run: async (input, io) => {
    const how = { limit: wholeNumber(input, 'limit', MOST_ENTRIES) ?? DEFAULT_ENTRIES, by: auditOf(input, 'as') };
    const { rows, older } = await withDesk(io, (desk) => readAudit(desk, filterOf(input, desk.now()), how));
    if (input.json) io.out.write(`${JSON.stringify({ entries: rows.map(shown), older })}\n`);
    else if (rows.length === 0) io.out.write('No entry fits.\n');
    else {
      const lines = rows.map((row) => [row.id, dateTime(row.at), row.actor, row.role ?? '-', row.via, row.action, row.target, row.result, row.reason ?? '-']);
      io.out.write(`${table(['id', 'at', 'actor', 'role', 'via', 'action', 'target', 'result', 'reason'], lines)}\n${older === null ? '' : `Older ones: --before ${older}\n`}`);
    }
    return 0;
  },
};

export const auditVerifyCommand: Command = {
  name: 'audit verify',
  summary: 'recompute the chain of the audit trail, and name the first entry that does not fit',
  args: [],
  options: { actor: { value: 'A', help: 'who does it: a name or role, as the trail will say (default: cli)' } },
  examples: [['audit verify', 'exit code 1 where an entry was changed or taken out']],
  run: (input, io) => withDesk(io, async ({ db, now }) => {
    const { entries, faultAt } = await verifyAudit(db);
    await insertAudit(db, auditOf(input), [{ action: 'audit.verify', target: 'all', result: faultAt === null ? 'done' : 'fault_found' }], now());
    if (faultAt !== null) throw new Refusal(`the audit trail does not fit at entry ${faultAt}: it was changed, or one before it was taken out`, { code: 'chain_broken', field: faultAt, cure: 'compare with a backup of before; entries up to the one before it are sound' });
    io.out.write(input.json ? `${JSON.stringify({ entries, sound: true })}\n` : `${entries} entries, each over the one before it: sound.\n`);
    return 0;
  }),
};
