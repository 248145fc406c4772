import type { RequestHandler, Response, Router } from 'express';
import { z } from 'zod';
import { answerChannels } from '../../shared/domain/answer-channels.ts';
import { fold } from '../../shared/domain/evolve.ts';
import { explain } from '../../shared/domain/explain.ts';
import type { Transition } from '../../shared/domain/transitions.ts';
import { EVENT_ID } from '../../shared/domain/words.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { endsOf, readDeadLettersOf } from '../../shared/ledger/dead-letters.ts';
import { readEntries, readNotification } from '../../shared/ledger/reads.ts';
import { apiKeyOf, requireApiKey } from './api-key-auth.ts';
import { closeById, closeByKey } from './closing.ts';
import { readFields } from './faults.ts';
import { getFeed } from './feed-routes.ts';
import { detailsOf, entryView, notificationView } from '../../shared/delivery/notification-view.ts';
import { postNotification } from './notifications.ts';
import { pauseById, resumeById } from './pausing.ts';
import type { Site } from './page.ts';
import { notFound } from './problem.ts';
import { jsonBody } from './read-body.ts';
import { addRoute } from './routes.ts';

/** Of a call that has no query: a misspelt one would else be ignored without a word. */
const noQuerySchema = z.strictObject({});

type ForEvent = RequestHandler<{ event_id: string }>;

const find = async (engine: Engine, eventId: string, response: Response) => {
  const record = EVENT_ID.test(eventId) ? await readNotification(engine.db, { eventId, tenant: apiKeyOf(response).tenant }) : null;
  if (!record) throw notFound();
  return record;
};

const getOne = (engine: Engine): ForEvent => async (request, response) => {
  const record = await find(engine, request.params.event_id, response);
  response.json(notificationView(record, await engine.versions.bind(record.purpose, record.policyVersion)));
};

const getHistory = (engine: Engine): ForEvent => async (request, response) => {
  const { eventId } = await find(engine, request.params.event_id, response);
  response.json({ event_id: eventId, entries: (await readEntries(engine.db, eventId)).map(entryView) });
};

const getExplanation = (engine: Engine): ForEvent => async (request, response) => {
  const record = await find(engine, request.params.event_id, response);
  const [entries, { policy }] = await Promise.all([readEntries(engine.db, record.eventId), engine.versions.bind(record.purpose, record.policyVersion)]);
  const told = entries.map((entry) => ({ at: entry.at.getTime(), kind: entry.kind, details: detailsOf(entry) }));
  // By the entries alone: the record may have been read a version earlier.
  const state = fold(record.eventId, told.map(({ at, kind, details }) => ({ at, transition: { kind, details } as unknown as Transition })));
  const ends = endsOf(await readDeadLettersOf(engine.db, state));
  response.json({
    event_id: record.eventId, policy: { purpose: record.purpose, version: record.policyVersion }, channels: answerChannels(state, told, policy, ends), explanation: explain(state, told, policy, ends),
  });
};

/** The API: everything in it wants an API key with its scope, and shows only what belongs to that key's tenant. */
export const addNotificationRoutes = (router: Router, { engine, site, preconditionOrigins = [], linkHosts = [], admit }: { engine: Engine; site: Site; admit: RequestHandler; preconditionOrigins?: readonly string[]; linkHosts?: readonly string[] }): void => {
  const key = requireApiKey(engine.db);
  const uncached: RequestHandler = (_request, response, next) => {
    response.set('Cache-Control', 'no-store');
    next();
  };
  // Read only where there is a query: the address alone is what nearly all have.
  const noQuery: RequestHandler = (request, _response, next) => {
    if (request.url.includes('?')) readFields(noQuerySchema, request.query, {});
    next();
  };
  const forEvent = (handler: ForEvent): RequestHandler => handler as unknown as RequestHandler;
  addRoute(router, '/notifications', { get: [key('feed:read'), uncached, getFeed(engine)], post: [admit, key('notifications:write'), noQuery, jsonBody, postNotification(engine, { site, preconditionOrigins, linkHosts })] });
  addRoute(router, '/notifications/close', { post: [key('notifications:act'), noQuery, jsonBody, closeByKey(engine)] });
  addRoute(router, '/notifications/:event_id', { get: [key('notifications:read'), uncached, noQuery, forEvent(getOne(engine))] });
  addRoute(router, '/notifications/:event_id/history', { get: [key('notifications:read'), uncached, noQuery, forEvent(getHistory(engine))] });
  addRoute(router, '/notifications/:event_id/explanation', { get: [key('notifications:read'), uncached, noQuery, forEvent(getExplanation(engine))] });
  addRoute(router, '/notifications/:event_id/close', { post: [key('notifications:act'), noQuery, jsonBody, forEvent(closeById(engine))] });
  addRoute(router, '/notifications/:event_id/pause', { post: [key('notifications:act'), noQuery, jsonBody, forEvent(pauseById(engine))] });
  addRoute(router, '/notifications/:event_id/resume', { post: [key('notifications:act'), noQuery, jsonBody, forEvent(resumeById(engine))] });
};
