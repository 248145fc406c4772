import type { Express } from 'express';
import type { Engine } from '../../shared/delivery/engine.ts';
import { reasonCodeOf } from '../../shared/delivery/operator-reason.ts';
import { insertAudit } from '../../shared/ledger/audit-entries.ts';
import { mayChange } from './board-rules.ts';
import { callerOf } from './caller.ts';
import { NO_REASON_COOKIE, reasonCookie, statedReason } from './operator-session.ts';
import { page } from './page.ts';
import { LONGEST_REASON, reasonPage } from './reason-page.ts';

/** A person's reason from a form; or what is wrong with it. */
export const readReason = (given: unknown): { reason: string } | { problem: string } => {
  const text = typeof given === 'string' ? given.trim() : '';
  if (text === '') return { problem: 'A reason is missing.' };
  return text.length > LONGEST_REASON ? { problem: `The reason is longer than ${LONGEST_REASON} characters.` } : { reason: text };
};

/** `GET` and `POST /reason`: an operator states why he acts on dead letters, or takes it back. */
export const addReason = (app: Express, engine: Engine): void => {
  app.get('/reason', (request, response) => {
    const { user, role, token } = callerOf(request.headers);
    const stated = statedReason(engine.ring, request.headers, { user, now: engine.now() });
    response.set('Cache-Control', 'no-store').type('html').send(reasonPage({ stated, token, may: mayChange(role) }));
  });
  app.post('/reason', async (request, response) => {
    response.set('Cache-Control', 'no-store');
    const { user, role, token, audit } = callerOf(request.headers);
    if (!mayChange(role)) {
      response.status(403).type('html').send(page('Not for you', '<h1>Your role may look only</h1><p>Ask an operator to retry or discard.</p>'));
      return;
    }
    const { reason, forget } = (request.body ?? {}) as { reason?: unknown; forget?: unknown };
    if (forget !== undefined) {
      response.append('Set-Cookie', NO_REASON_COOKIE).redirect(303, '/reason');
      return;
    }
    const read = readReason(reason);
    if ('problem' in read) {
      response.status(422).type('html').send(reasonPage({ stated: null, token, may: true, problem: read.problem }));
      return;
    }
    await insertAudit(engine.db, audit, [{ action: 'reason.state', target: user, result: 'done', reason: reasonCodeOf(read.reason) }], engine.now());
    response.append('Set-Cookie', reasonCookie(engine.ring, { reason: read.reason, user, at: engine.now() })).redirect(303, '/queues');
  });
};
