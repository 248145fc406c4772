import type { Request, Response, Router } from 'express';
import type { Engine } from '../../shared/delivery/engine.ts';
import { entryView, stateView } from '../../shared/delivery/notification-view.ts';
import { EVENT_ID } from '../../shared/domain/words.ts';
import { readVersion } from '../../shared/ledger/reads.ts';
import { callerOf } from './caller.ts';
import { liveParts, notificationPage } from './notification-page.ts';
import type { ShownNotification } from './notification-view.ts';
import { showNotification, tagOf, tagOfShown } from './notification-view.ts';
import { timelineFile } from './timeline.ts';

/** The pages of one notification: itself, what changed of it, its record as the API gives it, and its picture as a file. */
export const addNotificationPages = (router: Router, engine: Engine, sendMissing: (response: Response) => void): void => {
  const shown = (send: (found: ShownNotification, response: Response, request: Request) => void) => async (request: Request, response: Response): Promise<void> => {
    const eventId = String(request.params['event_id']);
    const found = EVENT_ID.test(eventId) ? await showNotification(engine, eventId) : null;
    if (found) send(found, response, request);
    else sendMissing(response);
  };
  const add = (path: string, send: Parameters<typeof shown>[0]): void => {
    const handle = shown(send);
    router.get(`/notifications/:event_id${path}`, handle);
  };
  const sendLive = shown((found, response, request) => {
    response.set('ETag', tagOfShown(found)).type('html').send(liveParts(found, { looker: callerOf(request.headers) }));
  });
  add('', (found, response, { query, headers }) => {
    const told = typeof query['told'] === 'string' ? { told: query['told'] } : {};
    response.type('html').send(notificationPage(found, { looker: callerOf(headers), still: query['still'] === '1', ...told }));
  });
  router.get('/notifications/:event_id/live', async (request, response) => {
    const eventId = request.params.event_id;
    const asked = request.headers['if-none-match'];
    // One row by its key, where nothing changed.
    const version = asked !== undefined && EVENT_ID.test(eventId) ? await readVersion(engine.db, eventId) : null;
    if (version && asked === tagOf(version, engine.now())) response.status(304).set('ETag', asked).end();
    else await sendLive(request, response);
  });
  add('/view', ({ record, state, bound, entries, channels, explanation }, response) => {
    response.json({ ...stateView(record, { state, updatedAt: record.current.updatedAt }, bound), channels, explanation, entries: entries.map(entryView) });
  });
  add('/timeline.svg', ({ picture, record }, response) => {
    // A picture by itself has its styles within; it may do nothing else.
    response.set({ 'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'", 'Content-Disposition': `inline; filename="${record.eventId}.svg"` });
    response.type('image/svg+xml').send(timelineFile(picture));
  });
};
