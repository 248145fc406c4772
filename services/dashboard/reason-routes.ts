import { urlencoded } from 'express';
import type { Express, Request } from 'express';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { WhoCalls } from './board.ts';
import { mayAct } from './board-rules.ts';
import { NO_REASON_COOKIE, reasonCookie, statedReason } from './operator-session.ts';
import { page } from './page.ts';
import { LONGEST_REASON, reasonPage } from './reason-page.ts';

/** `GET` and `POST /reason`: an operator states why he acts on dead letters, or takes it back. */
export const addReason = (app: Express, { engine, who }: { engine: Engine; who: WhoCalls }): void => {
  const caller = (request: Request) => who(request.headers as Record<string, string | undefined>);
  app.get('/reason', (request, response) => {
    const stated = statedReason(engine.ring, request.headers, { user: caller(request).user, now: engine.now() });
    response.set('Cache-Control', 'no-store').type('html').send(reasonPage({ stated }));
  });
  app.post('/reason', urlencoded({ extended: false, limit: '8kb' }), (request, response) => {
    response.set('Cache-Control', 'no-store');
    const { user, role } = caller(request);
    if (!mayAct(role, { kind: 'retry_all', queue: '' })) {
      response.status(403).type('html').send(page('Not for you', '<h1>Your role may look only</h1><p>Ask an operator to retry or discard.</p>'));
      return;
    }
    const { reason, forget } = (request.body ?? {}) as { reason?: unknown; forget?: unknown };
    if (forget !== undefined) {
      response.set('Set-Cookie', NO_REASON_COOKIE).redirect(303, '/reason');
      return;
    }
    const text = typeof reason === 'string' ? reason.trim() : '';
    if (text === '' || text.length > LONGEST_REASON) {
      response.status(422).type('html').send(reasonPage({ stated: null, problem: text === '' ? 'A reason is missing.' : `The reason is longer than ${LONGEST_REASON} characters.` }));
      return;
    }
    response.set('Set-Cookie', reasonCookie(engine.ring, { reason: text, user, at: engine.now() })).redirect(303, '/queues');
  });
};
