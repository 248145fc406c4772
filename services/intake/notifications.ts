import type { RequestHandler } from 'express';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptOutcome } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { reasonView } from '../../shared/delivery/notification-view.ts';
import { publicReason, publicStatus } from '../../shared/domain/status.ts';
import type { PublicReason } from '../../shared/domain/status.ts';
import { readNotification } from '../../shared/ledger/reads.ts';
import { storedKey } from '../../shared/security/stored-key.ts';
import { apiKeyOf } from './api-key-auth.ts';
import { readCarrying } from './artifact-references.ts';
import { keyHeader } from './idempotency-key.ts';
import { answerJson } from './json-answer.ts';
import { readNotificationFields } from './notification-fields.ts';
import { refuseLinks } from './link-variables.ts';
import { refuseUndeclared } from './declared-variables.ts';
import { refusePrecondition } from './precondition-field.ts';
import { refuseContradictions } from './stated-values.ts';
import { refuseTexts } from './variable-texts.ts';
import type { Site } from './page.ts';
import { Problem, faultyFields } from './problem.ts';
import { withUnsubscribeLink } from './unsubscribe-link.ts';

const iso = (at: number): string => new Date(at).toISOString();

interface Receipt { eventId: string; status: string; why: PublicReason | null; receivedAt: number }

const receiptBody = (site: Site, { eventId, status, why, receivedAt }: Receipt) => ({
  event_id: eventId, status, received_at: iso(receivedAt), status_url: `${site.publicUrl}/notifications/${eventId}`, ...reasonView(why),
});

const replayed = async (engine: Engine, eventId: string): Promise<Receipt> => {
  const notification = await readNotification(engine.db, { eventId });
  if (!notification) throw new Error('a replayed notification is not in the ledger');
  const { state } = notification.current;
  return { eventId, status: publicStatus(state), why: publicReason(state), receivedAt: notification.requestedAt.getTime() };
};

const keyMissing = () => faultyFields([{ field: 'Idempotency-Key', problem: 'is missing', cure: 'send a header of 1 to 200 visible ASCII characters, such as a UUID, and the same one when you try again' }], 'idempotency_key_required');

/** Names each variable at fault once, whichever templates need it; where it is none of them, what the caller can do is to look at the template. */
const notRenderable = ({ unfit }: Extract<AcceptOutcome, { kind: 'not_renderable' }>): Problem => {
  const faults = unfit.flatMap(({ template, problem, faults: found }) => (found.length > 0
    ? found.map((fault) => ({ field: `variables.${fault.variable}`, problem: `${fault.problem} (template ${template})`, cure: fault.cure }))
    : [{ field: 'variables', problem: `do not make a message of template ${template}: ${problem}`, cure: 'compare them with the template, and run npx tocsin template lint' }]));
  return faultyFields(faults.filter(({ field }, index) => field === 'variables' || faults.findIndex((one) => one.field === field) === index), 'not_renderable', 422);
};

/** `POST /notifications`: accepts an intent; the same key and body again are the same notification. */
export const postNotification = (engine: Engine, { site, preconditionOrigins, linkHosts }: { site: Site; preconditionOrigins: readonly string[]; linkHosts: readonly string[] }): RequestHandler => async (request, response) => {
  const { id: keyId, tenant } = apiKeyOf(response);
  const key = keyHeader(request);
  if (key === null) throw keyMissing();
  const fields = readNotificationFields(request.body, engine.now());
  const idempotencyKey = storedKey(engine.ring, tenant, key);
  await refuseUndeclared(engine, fields, { tenant, idempotencyKey });
  await refuseTexts(engine, fields, { tenant, idempotencyKey });
  await refuseLinks(engine, fields, { tenant, idempotencyKey, linkHosts });
  await refuseContradictions(engine, fields, { tenant, idempotencyKey });
  await refusePrecondition(engine, fields, { tenant, idempotencyKey, origins: preconditionOrigins });
  const carrying = await readCarrying(engine, fields, { site, tenant, idempotencyKey });
  const carried = await withUnsubscribeLink(engine, fields, { site, tenant, idempotencyKey, carrying });
  const outcome = await acceptNotification(engine, {
    tenant, idempotencyKey, fingerprintOf: fields, purpose: fields.purpose, recipient: fields.recipient, ...carried,
    expiresAt: fields.expiresAt, preconditionUrl: fields.preconditionUrl ?? null, requestId: String(request.id), actor: `key:${keyId}`, ticket: null,
  });
  response.set('Cache-Control', 'no-store');
  switch (outcome.kind) {
    case 'accepted':
      answerJson(response, 202, receiptBody(site, outcome));
      return;
    case 'replayed':
      response.status(200).json({ ...receiptBody(site, await replayed(engine, outcome.eventId)), replayed: true });
      return;
    case 'conflict':
      throw new Problem({ status: 409, code: 'idempotency_key_reused', detail: 'This key came before with another body, and that notification stands. Send another intent under another key.', members: { event_id: outcome.eventId } });
    case 'unknown_purpose': {
      const fault = { field: 'purpose', problem: 'is not known here', cure: `use one of ${outcome.known.join(', ')}` };
      throw new Problem({ ...faultyFields([fault], 'unknown_purpose', 422).details, members: { known_purposes: outcome.known } });
    }
    case 'expiry_too_short':
      throw faultyFields([{ field: 'expires_at', problem: 'comes too soon for the steps of this purpose', cure: `give at least ${Math.ceil(outcome.leastMs / 1000)} seconds from now, or leave it out` }], 'expiry_too_short', 422);
    case 'not_renderable':
      throw notRenderable(outcome);
  }
};
