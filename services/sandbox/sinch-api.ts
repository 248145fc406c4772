import express from 'express';
import type { ErrorRequestHandler, Request, Response, Router } from 'express';
import type { Dialect } from './dialect.ts';
import { dropWhileAway, failRead, guardReads, isObstructed, sendMaintenancePage } from './dialect.ts';
import { createReadObstacles, readFate } from './fate.ts';
import { answerSubmission, decideSubmission } from './http-submit.ts';
import type { Receipt } from './inbox.ts';
import type { Provider, SinchAccount } from './provider.ts';
import { sinchInbounds } from './replies.ts';
import { segmentsOf } from './segments.ts';
import { batchReport, isBatchId, recipientReport, sinchBatch, sinchListing } from './sinch-batch.ts';
import { refuseAsSinch } from './sinch-errors.ts';
import { isAccepted, newBatchId, sha256 } from './submission.ts';
import { refusedStatus } from './unreadable.ts';

const SINCH: Dialect = {
  channel: 'sms', codes: { unauthorized: 20003, notFound: 20404, reject: 21211, throttle: 20429, fail: 20500 }, takenStatus: 201,
  withoutId: { type: 'mt_text' }, refuse: refuseAsSinch,
};
const MAX_BODY_CHARACTERS = 1600;

interface BatchForm { to: string; from: string; body: string; reference: string | null; invalid: number | null }

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Reads the posted batch: one recipient, as that is all a sender of notices needs. */
const formOf = (posted: unknown): BatchForm => {
  const json = (typeof posted === 'object' && posted !== null ? posted : {}) as Record<string, unknown>;
  const recipients: unknown[] = Array.isArray(json.to) ? json.to : [];
  const given = text(recipients[0]);
  const form = { to: /^[1-9]/.test(given) ? `+${given}` : given, from: text(json.from), body: text(json.body), reference: text(json.client_reference) || null };
  if (recipients.length !== 1 || !/^\+[1-9]\d{6,14}$/.test(form.to)) return { ...form, invalid: 21211 };
  if (form.from === '') return { ...form, invalid: 21603 };
  if (form.body === '') return { ...form, invalid: 21602 };
  return { ...form, invalid: form.body.length > MAX_BODY_CHARACTERS ? 21617 : null };
};

/** The handler of `POST …/batches`: records every submission, flushed, before it answers, drops or keeps silent. */
const createSubmit = (provider: Provider, isAuthorized: (request: Request) => boolean) => async (request: Request, response: Response): Promise<void> => {
  const { inbox, book, now } = provider;
  const { to, from, body, reference, invalid } = formOf(request.body);
  const decision = decideSubmission(provider, SINCH, { to, attemptKey: reference, isAuthorized: isAuthorized(request), invalid });
  const accepted = isAccepted(decision.step);
  const receipt: Receipt = {
    kind: accepted ? 'accepted' : 'refused', id: newBatchId(), channel: 'sms', to, from, messagingServiceSid: null, body, subject: null, text: null,
    html: null, headers: {}, attemptKey: reference, receivedAt: now(), behaviour: decision.behaviour, code: decision.code, segments: segmentsOf(body),
    contentSha256: sha256(JSON.stringify([to, from, body])), fate: accepted ? book.fateOf(to, 'sms') : null,
  };
  await inbox.record(receipt);
  await answerSubmission(response, decision, SINCH, () => sinchBatch(receipt));
};

const addListing = (router: Router, { inbox, book, now }: Provider): void => {
  router.get('/:plan/batches', (request, response) => {
    const query = Object.fromEntries(Object.entries(request.query).filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
    // a look-up by reference names no number, but scripts do
    const isSought = (receipt: Receipt): boolean => receipt.attemptKey !== null && receipt.attemptKey === query.client_reference;
    const to = query.to ?? (inbox.accepted().find(isSought) ?? inbox.refused().find(isSought))?.to;
    const fault = to === undefined ? null : book.drawListingFault(to);
    if (fault) failRead(response, fault, SINCH);
    else response.json(sinchListing(inbox.accepted(), query, now()));
  });
};

const addInbounds = (router: Router, { replies, book, now }: Provider): void => {
  router.get('/:plan/inbounds', (request, response) => {
    const query = Object.fromEntries(Object.entries(request.query).filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
    const fault = query.to === undefined ? null : book.drawListingFault(/^\d/.test(query.to) ? `+${query.to}` : query.to);
    if (fault) failRead(response, fault, SINCH);
    else response.json(sinchInbounds(replies.all(), query, now()));
  });
};

const addReports = (router: Router, { inbox, now }: Provider): void => {
  const obstacleOf = createReadObstacles();
  const find = (id: string | undefined): Receipt | undefined => (id !== undefined && isBatchId(id) ? inbox.byId(id) : undefined);
  const sendReport = (response: Response, receipt: Receipt | undefined, report: (receipt: Receipt) => Record<string, unknown>): void => {
    if (!receipt) refuseAsSinch(response, SINCH.codes.notFound);
    else if (isObstructed(response, obstacleOf(receipt), SINCH)) return;
    else if (readFate(receipt, now()).event.status === 'malformed') sendMaintenancePage(response);
    else response.json(report(receipt));
  };
  router.get('/:plan/batches/:id', (request, response) => {
    const receipt = find(request.params.id);
    if (receipt) response.json(sinchBatch(receipt));
    else refuseAsSinch(response, SINCH.codes.notFound);
  });
  router.get('/:plan/batches/:id/delivery_report', (request, response) =>
    sendReport(response, find(request.params.id), (receipt) => batchReport(receipt, now(), request.query.type === 'full')));
  router.get('/:plan/batches/:id/delivery_report/:recipient', (request, response) => {
    const receipt = find(request.params.id);
    const isTheirs = receipt?.to.replace(/^\+/, '') === request.params.recipient.replace(/^\+/, '');
    sendReport(response, isTheirs ? receipt : undefined, (theirs) => recipientReport(theirs, now()));
  });
};

const unreadable: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const status = refusedStatus(error);
  if (status === null) next(error);
  else response.status(status).json(status === 413 ? { code: 'syntax_constraint_violation', text: 'The body is too long' } : { code: 'syntax_invalid_json', text: 'The body is not JSON' });
};

/**
 * The part of the batches API of Sinch (`/xms/v1`) that a sender of SMS uses, answering as the scenarios say. Source of shapes
 * and codes: Sinch's public API reference.
 */
export const createSinchApi = (provider: Provider, account: SinchAccount): Router => {
  const router = express.Router();
  const isAuthorized = (request: Request): boolean =>
    request.headers.authorization === `Bearer ${account.token}` && request.params.plan === account.planId;
  router.use(dropWhileAway(provider, SINCH));
  router.post('/:plan/batches', express.json({ limit: '64kb' }), createSubmit(provider, isAuthorized));
  router.get('/:plan/*rest', guardReads(provider, SINCH, isAuthorized));
  addListing(router, provider);
  addInbounds(router, provider);
  addReports(router, provider);
  router.use((_request, response) => refuseAsSinch(response, SINCH.codes.notFound));
  router.use(unreadable);
  return router;
};
