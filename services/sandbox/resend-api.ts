import express from 'express';
import type { ErrorRequestHandler, Request, Router } from 'express';
import { dropWhileAway, guardReads, isObstructed, sendMaintenancePage } from './dialect.ts';
import { createReadObstacles, readFate } from './fate.ts';
import type { Receipt } from './inbox.ts';
import type { Provider, ResendAccount } from './provider.ts';
import { refuseAsResend } from './resend-errors.ts';
import { createResendSubmit, isEmailId, RESEND } from './resend-submit.ts';
import type { StatusEvent } from './script.ts';
import { refusedStatus } from './unreadable.ts';

/** The words of scripts that the API has another word for; any other goes out as it is. */
const EVENTS: Record<string, string> = { accepted: 'sent', sending: 'queued', undelivered: 'bounced', read: 'opened' };
const OPTED_OUT = 21610;

/** A script's status as `last_event`. */
export const resendEvent = ({ status, errorCode }: StatusEvent): string => (errorCode === OPTED_OUT ? 'suppressed' : EVENTS[status] ?? status);

/** The email as the API shows it at `now`. */
const emailOf = (receipt: Receipt, now: number): Record<string, unknown> => ({
  object: 'email', id: receipt.id, to: [receipt.to], from: receipt.from, created_at: new Date(receipt.receivedAt).toISOString(), subject: receipt.subject,
  html: receipt.html, text: receipt.text, bcc: null, cc: null, reply_to: null, last_event: resendEvent(readFate(receipt, now).event), scheduled_at: null,
});

const unreadable: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const status = refusedStatus(error);
  if (status === null) next(error);
  else refuseAsResend(response, 550, status);
};

/**
 * The part of Resend's API (`/emails`) that a sender of mail uses, idempotency keys included, answering as the scenarios say.
 * Source of shapes and names: Resend's public API reference.
 */
export const createResendApi = (provider: Provider, account: ResendAccount): Router => {
  const { inbox, now } = provider;
  const router = express.Router();
  const obstacleOf = createReadObstacles();
  const isAuthorized = (request: Request): boolean => request.headers.authorization === `Bearer ${account.apiKey}`;
  router.use(dropWhileAway(provider, RESEND));
  router.post('/', express.text({ type: 'application/json', limit: '40mb' }), createResendSubmit(provider, isAuthorized));
  router.use(guardReads(provider, RESEND, isAuthorized));
  router.get('/:id', (request, response) => {
    const receipt = isEmailId(request.params.id) ? inbox.byId(request.params.id) : undefined;
    if (!receipt) return refuseAsResend(response, RESEND.codes.notFound);
    if (isObstructed(response, obstacleOf(receipt), RESEND)) return;
    const email = emailOf(receipt, now());
    if (email.last_event === 'malformed') sendMaintenancePage(response);
    else response.json(email);
  });
  router.use((_request, response) => refuseAsResend(response, RESEND.codes.notFound));
  router.use(unreadable);
  return router;
};
