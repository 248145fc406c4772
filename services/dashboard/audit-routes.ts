import type { Router } from 'express';
import { isActorName } from '../../shared/config/actor-name.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { AUDIT_ACTIONS, readAudit } from '../../shared/delivery/read-audit.ts';
import type { AuditFilter } from '../../shared/ledger/audit-entries.ts';
import { insertAudit } from '../../shared/ledger/audit-entries.ts';
import { auditPage } from './audit-page.ts';
import type { AuditQuery } from './audit-page.ts';
import { callerOf } from './caller.ts';
import { oneOf, refuseFilter, wrongFilter } from './filter-rules.ts';
import { page } from './page.ts';

const PAGE = 50;
const INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z)?$/;

const text = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

const queryOf = (query: Record<string, unknown>): AuditQuery => {
  const before = text(query['before']);
  return { actor: text(query['actor']), action: text(query['action']), since: text(query['since']).slice(0, 30), before: before === '' ? undefined : before };
};

const RULES = {
  actor: { words: 'It is a name of an operator, or of whoever else acts.', fits: isActorName }, action: oneOf('action', AUDIT_ACTIONS),
  // The page itself says how an instant is written.
  since: { words: '', fits: () => true }, before: { words: 'It is the number of an entry.', fits: (value: string) => /^[1-9]\d{0,17}$/.test(value) },
};

/** What to list. */
const filterOf = ({ actor, action, since, before }: AuditQuery): AuditFilter => ({
  ...(actor === '' ? {} : { actor }), ...(action === '' ? {} : { action }), ...(before === undefined ? {} : { before }),
  ...(INSTANT.test(since) && !Number.isNaN(Date.parse(since)) ? { sinceAt: Date.parse(since) } : {}),
});

/** `GET /audit`, for administrators: the trail. Reading it is an entry of it, and so is being refused. */
export const addAudit = (router: Router, engine: Engine): void => {
  router.get('/audit', async (request, response) => {
    const { role, audit } = callerOf(request.headers);
    if (role !== 'admin') {
      await insertAudit(engine.db, audit, [{ action: 'audit.read', target: 'all', result: 'refused' }], engine.now());
      response.status(403).type('html').send(page('Not for you', '<h1>Administrators only</h1><p>Your role may not read the audit trail. Ask an administrator.</p>'));
      return;
    }
    const wrong = wrongFilter(request.query, RULES);
    if (wrong !== null) return refuseFilter(request, response, wrong);
    const query = queryOf(request.query);
    const filter = filterOf(query);
    const problem = query.since !== '' && filter.sinceAt === undefined ? 'Write it as 2026-11-29 or 2026-11-29T08:00Z.' : undefined;
    const { rows, older } = await readAudit(engine, filter, { limit: PAGE, by: audit });
    response.status(problem === undefined ? 200 : 422).type('html').send(auditPage({ rows, older, query, actions: AUDIT_ACTIONS, problem }));
  });
};
