import express from 'express';
import type { ErrorRequestHandler, Request, Router } from 'express';
import { dropWhileAway, failRead, guardReads, isObstructed, sendMaintenancePage } from './dialect.ts';
import { createReadObstacles } from './fate.ts';
import type { Provider, TwilioAccount } from './provider.ts';
import type { Receipt } from './inbox.ts';
import { asReceipt } from './replies.ts';
import { createTwilioSubmit, TWILIO } from './twilio-submit.ts';
import { refuse } from './twilio-errors.ts';
import { twilioListing, twilioMessage } from './twilio-message.ts';
import { refusedStatus } from './unreadable.ts';

/** What the API says of a request that it cannot read. */
const UNREADABLE = 20001;

const textQuery = (request: Request): Record<string, string> =>
  Object.fromEntries(Object.entries(request.query).filter((pair): pair is [string, string] => typeof pair[1] === 'string'));

const inOrder = (receipts: Receipt[]): Receipt[] => receipts.sort((one, other) => one.receivedAt - other.receivedAt);

const addReads = (router: Router, provider: Provider, accountSid: string): void => {
  const { inbox, book, replies, now } = provider;
  const obstacleOf = createReadObstacles();

  router.get('/Accounts/:account/Messages.json', (request, response) => {
    const query = textQuery(request);
    const fault = query.To === undefined ? null : book.drawListingFault(query.To);
    if (fault) {
      failRead(response, fault, TWILIO);
      return;
    }
    const candidates = query.To === undefined ? inbox.accepted() : inbox.acceptedTo(query.To);
    const inbound = replies.all().filter(({ to }) => query.To === undefined || to === query.To).map(asReceipt);
    response.json(twilioListing(inbound.length === 0 ? candidates : inOrder([...candidates, ...inbound]), { query, accountSid, now: now() }));
  });

  router.get('/Accounts/:account/Messages/:file', (request, response) => {
    const sid = /^(SM[0-9a-f]{32})\.json$/.exec(request.params.file)?.[1];
    const receipt = sid ? inbox.byId(sid) : undefined;
    if (!receipt) {
      refuse(response, 20404);
      return;
    }
    if (isObstructed(response, obstacleOf(receipt), TWILIO)) return;
    const message = twilioMessage(receipt, accountSid, now());
    if (message.status === 'malformed') sendMaintenancePage(response);
    else response.json(message);
  });
};

const unreadable: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const status = refusedStatus(error);
  if (status === null) next(error);
  else refuse(response, UNREADABLE, status);
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

  router.use(dropWhileAway(provider, TWILIO));
  router.post('/Accounts/:account/Messages.json', express.urlencoded({ extended: false, limit: '64kb' }), createTwilioSubmit(provider, isAuthorized));
  router.get('/Accounts/:account/*rest', guardReads(provider, TWILIO, isAuthorized));
  addReads(router, provider, account.accountSid);
  router.use((_request, response) => refuse(response, 20404));
  router.use(unreadable);
  return router;
};
