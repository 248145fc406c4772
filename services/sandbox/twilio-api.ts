import express from 'express';
import type { Request, Router } from 'express';
import { createReadObstacles } from './fate.ts';
import type { Provider, TwilioAccount } from './provider.ts';
import { createTwilioSubmit } from './twilio-submit.ts';
import { refuse } from './twilio-errors.ts';
import { twilioListing, twilioMessage } from './twilio-message.ts';

const textQuery = (request: Request): Record<string, string> =>
  Object.fromEntries(Object.entries(request.query).filter((pair): pair is [string, string] => typeof pair[1] === 'string'));

const addReads = (router: Router, provider: Provider, accountSid: string): void => {
  const { inbox, book, now } = provider;
  const obstacleOf = createReadObstacles();

  router.get('/Accounts/:account/Messages.json', (request, response) => {
    const query = textQuery(request);
    const fault = query.To === undefined ? null : book.drawListingFault(query.To);
    if (fault) {
      if (fault.retryAfter !== null) response.set('Retry-After', String(fault.retryAfter));
      refuse(response, fault.httpStatus === 429 ? 20429 : 20500, fault.httpStatus);
      return;
    }
    const candidates = query.To === undefined ? inbox.accepted() : inbox.acceptedTo(query.To);
    response.json(twilioListing(candidates, { query, accountSid, now: now() }));
  });

  router.get('/Accounts/:account/Messages/:file', (request, response) => {
    const sid = /^(SM[0-9a-f]{32})\.json$/.exec(request.params.file)?.[1];
    const receipt = sid ? inbox.byId(sid) : undefined;
    const obstacle = receipt ? obstacleOf(receipt) : { kind: 'not_found' as const };
    if (obstacle?.kind === 'hang') return;
    if (obstacle?.kind === 'fail') {
      if (obstacle.retryAfter !== null) response.set('Retry-After', String(obstacle.retryAfter));
      refuse(response, obstacle.httpStatus === 429 ? 20429 : 20500, obstacle.httpStatus);
      return;
    }
    if (!receipt || obstacle) {
      refuse(response, 20404);
      return;
    }
    const message = twilioMessage(receipt, accountSid, now());
    if (message.status === 'malformed') response.type('html').send('<!doctype html><title>Maintenance</title><p>We will be back soon');
    else response.json(message);
  });
};

/**
 * The part of the Twilio REST API (2010-04-01) that a sender of SMS uses, answering as the scenarios say. Source of shapes and
 * codes: Twilio's public API reference.
 */
export const createTwilioApi = (provider: Provider, account: TwilioAccount): Router => {
  const router = express.Router();
  const expected = `Basic ${Buffer.from(`${account.accountSid}:${account.authToken}`).toString('base64')}`;
  const isAuthorized = (request: Request): boolean =>
    request.headers.authorization === expected && request.params.account === account.accountSid;

  router.use((request, _response, next) => {
    // before the body is read: the line simply goes away
    if (provider.outages.kind('sms') === 'refuse') request.socket.destroy();
    else next();
  });
  router.post('/Accounts/:account/Messages.json', express.urlencoded({ extended: false, limit: '64kb' }), createTwilioSubmit(provider, isAuthorized));
  router.get('/Accounts/:account/*rest', (request, response, next) => {
    if (!isAuthorized(request as unknown as Request)) refuse(response, 20003);
    else if (provider.outages.kind('sms') === 'error500') refuse(response, 20500);
    else if (provider.outages.kind('sms') !== 'hang') next();
  });
  addReads(router, provider, account.accountSid);
  router.use((_request, response) => refuse(response, 20404));
  return router;
};
