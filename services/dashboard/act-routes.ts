import type { Express, Request, Response } from 'express';
import { closeAs, pauseAs, resumeAs } from '../../shared/delivery/audited.ts';
import type { OperatorAct } from '../../shared/delivery/audited.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import { readNotification } from '../../shared/ledger/reads.ts';
import type { Act, ActView } from './act-page.ts';
import { actPage, ACTS } from './act-page.ts';
import { mayAct } from './board-rules.ts';
import { callerOf } from './caller.ts';
import { EVENT_ID } from './notification-routes.ts';
import { page } from './page.ts';
import { readReason } from './reason-routes.ts';

const perform = (engine: Engine, act: Act, what: OperatorAct) => {
  switch (act) {
    case 'close': return closeAs(engine, what);
    case 'pause': return pauseAs(engine, what);
    case 'resume': return resumeAs(engine, what);
  }
};

const NOT_YOURS = '<h1>Your role may look only</h1><p>Ask an operator to close, pause or resume.</p>';
const DONE: Readonly<Record<Act, string>> = { close: 'It is closed.', pause: 'It is paused.', resume: 'It goes on.' };

/** `GET /notifications/EVENT/act`, and the three calls that its forms make. */
export const addActs = (app: Express, engine: Engine, sendMissing: (response: Response) => void): void => {
  const show = async (request: Request, response: Response, told: Pick<ActView, 'problem' | 'done'>): Promise<void> => {
    const eventId = String(request.params['event_id']);
    const record = EVENT_ID.test(eventId) ? await readNotification(engine.db, { eventId }) : null;
    if (!record) return sendMissing(response);
    const { state } = record.current;
    const { role, token } = callerOf(request.headers);
    const may = token !== null && mayAct(role, { kind: 'retry_all', queue: '' });
    response.type('html').send(actPage({ eventId, status: publicStatus(state), paused: state.paused !== null, closed: state.closed !== null, may, token, ...told }));
  };
  app.get('/notifications/:event_id/act', (request, response) => show(request, response.set('Cache-Control', 'no-store'), { done: ACTS.filter((act) => act === request.query['done']).map((act) => DONE[act])[0] }));
  for (const act of ACTS) {
    app.post(`/notifications/:event_id/${act}`, async (request, response) => {
      response.set('Cache-Control', 'no-store');
      const eventId = String(request.params['event_id']);
      const { user, role, audit } = callerOf(request.headers);
      if (!mayAct(role, { kind: 'retry_all', queue: '' })) return void response.status(403).type('html').send(page('Not for you', NOT_YOURS));
      if (!EVENT_ID.test(eventId)) return sendMissing(response);
      const read = readReason((request.body as { reason?: unknown } | undefined)?.reason);
      if ('problem' in read) return show(request, response.status(422), { problem: read.problem });
      const outcome = await perform(engine, act, { eventId, reason: read.reason, actor: user, audit });
      if (outcome.kind === 'not_found') return sendMissing(response);
      if (outcome.kind === 'not_open') return show(request, response.status(409), { problem: `There is nothing to ${act}: it has ended, or was never started.` });
      response.redirect(303, `/notifications/${eventId}/act?done=${act}`);
    });
  }
};
