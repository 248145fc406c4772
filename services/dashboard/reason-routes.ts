import type { Express } from 'express';
import { reasonFault } from '../../shared/config/reason-text.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { reasonCodeOf } from '../../shared/delivery/operator-reason.ts';
import { insertAudit } from '../../shared/ledger/audit-entries.ts';
import { mayChange } from './board-rules.ts';
import { callerOf } from './caller.ts';
import { NO_REASON_COOKIE, reasonCookie, statedReason } from './operator-session.ts';
import { page } from './page.ts';
import { reasonPage } from './reason-page.ts';

/** A person's reason from a form, by the rule of the API and the command line; or what is wrong with it. */
export const readReason = (given: unknown): { reason: string } | { problem: string } => {
  // What a form holds twice is read as a list.
  if (Array.isArray(given)) return { problem: 'The reason is given several times. Give it once.' };
  const text = typeof given === 'string' ? given.trim() : '';
  if (text === '') return { problem: 'A reason is missing.' };
  const fault = reasonFault(text);
  return fault === null ? { reason: text } : { problem: `The reason ${fault}. Give a code or a sentence.` };
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
