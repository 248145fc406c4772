import type { Request, RequestHandler, Response, Router } from 'express';
import { reasonView } from '../../shared/delivery/notification-view.ts';
import { generateFormToken } from '../../shared/security/tokens.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';
import { toProblem, wantsHtml } from './errors.ts';
import type { FormValues, FormView } from './form-page.ts';
import { formPage, valuesOf } from './form-page.ts';
import { keyHeader } from './idempotency-key.ts';
import type { Site } from './page.ts';
import type { ProblemDetails } from './problem.ts';
import { createTicketLimits } from './rate-limits.ts';
import { jsonOrFormBody } from './read-body.ts';
import { addRoute } from './routes.ts';
import { createTicketReader } from './ticket-fields.ts';
import type { TicketDesk, TicketReceipt } from './tickets.ts';
import { isKnownTicket, takeTicket } from './tickets.ts';

export interface TicketRoutes extends TicketDesk { site: Site; demo: boolean; ticketsPerMinute: { address: number; player: number }; log: Logger; admit: RequestHandler }

const receiptBody = (site: Site, receipt: TicketReceipt): Record<string, unknown> => ({
  event_id: receipt.eventId, queue: receipt.queue, urgency: receipt.urgency, status: receipt.status, received_at: new Date(receipt.receivedAt).toISOString(),
  status_url: `${site.publicUrl}/receipts/${receipt.token}`,
  ...reasonView(receipt.why), ...(receipt.replayed ? { replayed: true } : {}),
});

/** The first language the browser asks for, as the form's suggestion. */
const suggestedLocale = (request: Request): FormValues => {
  const [first] = request.acceptsLanguages();
  return first === undefined || first === '*' ? {} : { locale: first.slice(0, 35) };
};

const NOTICES: Readonly<Record<string, string>> = {
  idempotency_key_reused: 'You had already sent this form with another text, and that ticket stands. If this is a new one, send it again.',
  database_away: 'Support cannot take tickets for a moment. Your text is still here: please send it again in a few seconds.',
};

/** The form as it comes back to a person whose ticket was not taken, with everything typed still in it. */
const formAgain = (settings: TicketRoutes, body: unknown, details: ProblemDetails): string => {
  const faults = details.faults ?? [];
  const typed = (body as { form_token?: unknown } | undefined)?.form_token;
  // After a conflict the same token could never be accepted; otherwise it stays, so that a lost answer is no second ticket.
  const formToken = typeof typed === 'string' && details.status !== 409 ? typed : generateFormToken();
  const notice = faults.length > 0 ? null : { heading: 'Not sent yet', text: NOTICES[details.code] ?? details.detail };
  return formPage(settings.site, { ...viewBase(settings), formToken, values: valuesOf(body), faults, notice });
};

const viewBase = ({ roster, demo }: TicketRoutes): Pick<FormView, 'roster' | 'demo'> => ({ roster, demo });

const sendForm = (response: Response, html: string): void => {
  // Kept by the browser's history only: going back shows what was typed, and a new visit draws a new token.
  response.set('Cache-Control', 'private, no-cache').type('html').send(html);
};

const answer = (site: Site, request: Request, response: Response, receipt: TicketReceipt): void => {
  response.set('Cache-Control', 'no-store');
  if (wantsHtml(request)) response.redirect(303, `${site.basePath}/receipts/${receipt.token}`);
  else response.status(receipt.replayed ? 200 : 202).json(receiptBody(site, receipt));
};

const addressOf = (request: Request): string => request.ip ?? 'unknown';

/** The support form and what it is sent to. */
export const addTicketRoutes = (router: Router, settings: TicketRoutes): void => {
  const { site, log, admit } = settings;
  const readTicketFields = createTicketReader(settings.roster, settings.demo);
  const limits = createTicketLimits(settings.ticketsPerMinute);

  const limitAddress: RequestHandler = async (request, _response, next) => {
    await limits.byAddress(addressOf(request));
    next();
  };
  const post: RequestHandler = async (request, response) => {
    try {
      const fields = readTicketFields(request.body);
      const key = keyHeader(request) ?? fields.formToken;
      // What was taken once is no new ticket: whoever asks again because an answer was lost must get it, limit or not.
      if (!await isKnownTicket(settings.engine, fields.playerRef, key)) await limits.byPlayer(fields.playerRef, addressOf(request));
      const receipt = await takeTicket(settings, fields, { key, requestId: String(request.id) });
      answer(site, request, response, receipt);
    } catch (error) {
      if (!wantsHtml(request)) throw error;
      const details = toProblem(error, request, log);
      sendForm(response.status(details.status).set(details.headers ?? {}), formAgain(settings, request.body, details));
    }
  };
  addRoute(router, '/', {
    get: [(request, response) => sendForm(response, formPage(site, { ...viewBase(settings), formToken: generateFormToken(), values: suggestedLocale(request), faults: [], notice: null }))],
  });
  addRoute(router, '/tickets', { post: [limitAddress, admit, jsonOrFormBody, post] });
};
