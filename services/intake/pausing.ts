import type { RequestHandler, Response } from 'express';
import { z } from 'zod';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { PauseRequest } from '../../shared/delivery/pause-notification.ts';
import { pauseNotification, resumeNotification } from '../../shared/delivery/pause-notification.ts';
import type { PublicStatus } from '../../shared/domain/words.ts';
import { apiKeyOf } from './api-key-auth.ts';
import { REASON_CURES, reasonFields } from './closing.ts';
import { readFields } from './faults.ts';
import { Problem, notFound } from './problem.ts';

type ForEvent = RequestHandler<{ event_id: string }>;

/** The body of `pause` and of `resume`. */
export const pauseSchema = z.strictObject(reasonFields);
export const PAUSE_CURES = { ...REASON_CURES, reason: 'give a code such as maintenance, incident or wrong_person, or a sentence of at most 500 characters' };

const requested = (request: Parameters<ForEvent>[0], response: Response): PauseRequest => {
  const { reason, actor } = readFields(pauseSchema, request.body, PAUSE_CURES);
  const { id: keyId, tenant } = apiKeyOf(response);
  return { tenant, eventId: request.params.event_id, reason, requestId: String(request.id), actor: actor ? `key:${keyId}/${actor}` : `key:${keyId}` };
};

const notOpen = (eventId: string, status: PublicStatus, to: string): Problem => new Problem({
  status: 409, code: 'not_open', detail: `This notification has ended or was never started, so there is nothing to ${to}.`, members: { event_id: eventId, public_status: status },
});

/** `POST /notifications/{event_id}/pause`: nothing is started until it is resumed; polls and expiry go on. Idempotent: the first reason stands. */
export const pauseById = (engine: Engine): ForEvent => async (request, response) => {
  const { event_id: eventId } = request.params;
  const outcome = await pauseNotification(engine, requested(request, response));
  if (outcome.kind === 'not_found') throw notFound();
  if (outcome.kind === 'not_open') throw notOpen(eventId, outcome.status, 'pause');
  response.set('Cache-Control', 'no-store').json({
    event_id: eventId, status: outcome.status, paused: true, reason: outcome.reason, paused_at: new Date(outcome.pausedAt).toISOString(),
    in_flight: outcome.inFlight, replayed: outcome.replayed,
  });
};

/** `POST /notifications/{event_id}/resume`: what fell due meanwhile is decided at once. Idempotent: what is not paused goes on. */
export const resumeById = (engine: Engine): ForEvent => async (request, response) => {
  const { event_id: eventId } = request.params;
  const outcome = await resumeNotification(engine, requested(request, response));
  if (outcome.kind === 'not_found') throw notFound();
  if (outcome.kind === 'not_open') throw notOpen(eventId, outcome.status, 'resume');
  response.set('Cache-Control', 'no-store').json({ event_id: eventId, status: outcome.status, paused: false, replayed: outcome.replayed });
};
