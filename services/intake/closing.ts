import type { RequestHandler, Response } from 'express';
import { z } from 'zod';
import { isActorName } from '../../shared/config/actor-name.ts';
import { LONGEST_REASON, reasonFault } from '../../shared/config/reason-text.ts';
import { CLOSE_CODES, closeNotification } from '../../shared/delivery/close-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { findByIdempotencyKey } from '../../shared/ledger/accept-group.ts';
import { storedKey } from '../../shared/security/stored-key.ts';
import { apiKeyOf } from './api-key-auth.ts';
import { oneLine, readFields } from './faults.ts';
import { Problem, faultyFields, notFound } from './problem.ts';

/** Fields of every call by which a person holds or ends a workflow. */
export const reasonFields = {
  reason: z.string().superRefine((text, { addIssue }) => {
    const fault = reasonFault(text);
    if (fault !== null) addIssue(fault);
  }).meta({ maxLength: LONGEST_REASON }),
  // It stands in the ledger for good, so it is a name or an id there, never an address.
  actor: z.string().refine(isActorName, 'is not a plain name, or has so many digits that it could be the number of a phone or a card').nullish(),
};
/** The bodies of the two ways to close. */
export const closeSchema = z.strictObject(reasonFields);
export const closeByKeySchema = z.strictObject({ ...reasonFields, idempotency_key: oneLine(200) });

export const REASON_CURES = {
  reason: `give one of ${[...CLOSE_CODES].join(', ')}, or a sentence of at most ${LONGEST_REASON} characters`,
  actor: 'give a name or id of at most 64 letters, digits (six at most), dots, dashes, underscores and colons, without an address, or leave it out',
  idempotency_key: 'give the key under which the notification was sent',
};

interface Closing { eventId: string; reason: string; actor?: string | null | undefined; requestId: string }

const close = async (engine: Engine, response: Response, { eventId, reason, actor, requestId }: Closing): Promise<void> => {
  const { id: keyId, tenant } = apiKeyOf(response);
  const outcome = await closeNotification(engine, { tenant, eventId, reason, requestId, actor: actor ? `key:${keyId}/${actor}` : `key:${keyId}` });
  switch (outcome.kind) {
    case 'not_found': throw notFound();
    case 'not_open': throw new Problem({ status: 409, code: 'not_open', detail: 'Nothing was ever started for this notification, so there is nothing to close.', members: { event_id: eventId, public_status: outcome.status } });
    case 'closed':
      response.set('Cache-Control', 'no-store').json({
        event_id: eventId, status: outcome.status, closed: { reason: outcome.reason, at: new Date(outcome.closedAt).toISOString() },
        in_flight: outcome.inFlight, replayed: outcome.replayed,
      });
  }
};

/** `POST /notifications/{event_id}/close`: nothing is submitted any more. Idempotent: the first reason stands. */
export const closeById = (engine: Engine): RequestHandler<{ event_id: string }> => async (request, response) => {
  const { reason, actor } = readFields(closeSchema, request.body, REASON_CURES);
  await close(engine, response, { eventId: request.params.event_id, reason, actor, requestId: String(request.id) });
};

/** `POST /notifications/close`: the same, for who kept the idempotency key and not the event id. */
export const closeByKey = (engine: Engine): RequestHandler => async (request, response) => {
  const { idempotency_key: key, reason, actor } = readFields(closeByKeySchema, request.body, REASON_CURES);
  const { tenant } = apiKeyOf(response);
  const found = await findByIdempotencyKey(engine.db, tenant, storedKey(engine.ring, tenant, key));
  // As with ids: one answer, whether nobody or another tenant sent under it.
  if (!found) throw faultyFields([{ field: 'idempotency_key', problem: 'is that of no notification of this account', cure: 'give the key under which it was sent, or close it by its event id' }], 'not_found', 404);
  await close(engine, response, { eventId: found.eventId, reason, actor, requestId: String(request.id) });
};
