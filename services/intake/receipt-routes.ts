import type { RequestHandler, Router } from 'express';
import { reasonView } from '../../shared/delivery/notification-view.ts';
import { publicReason, publicStatus } from '../../shared/domain/status.ts';
import { openPart } from '../../shared/delivery/payload.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { readNotification, readTicket } from '../../shared/ledger/reads.ts';
import { hashToken } from '../../shared/security/tokens.ts';
import { wantsHtml } from './errors.ts';
import type { Site } from './page.ts';
import { notFound } from './problem.ts';
import { receiptPage } from './receipt-page.ts';
import { addRoute } from './routes.ts';

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

const findReceipt = async (engine: Engine, token: string) => {
  const ticket = TOKEN.test(token) ? await readTicket(engine.db, { receiptTokenHash: hashToken(token) }) : null;
  const notification = ticket && await readNotification(engine.db, { eventId: ticket.eventId });
  if (!ticket || !notification) throw notFound();
  return { ticket, state: notification.current.state };
};

/** The player's page about a ticket, behind a token of its own. */
export const addReceiptRoutes = (router: Router, { engine, site }: { engine: Engine; site: Site }): void => {
  const get: RequestHandler<{ token: string }> = async (request, response) => {
    const { token } = request.params;
    response.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex, nofollow' });
    const { ticket, state } = await findReceipt(engine, token);
    const status = publicStatus(state);
    const receivedAt = ticket.receivedAt.getTime();
    if (!wantsHtml(request)) {
      response.json({
        event_id: ticket.eventId, queue: ticket.queue, urgency: ticket.urgency, status, received_at: new Date(receivedAt).toISOString(),
        status_url: `${site.publicUrl}/receipts/${token}`, ...reasonView(publicReason(state)),
      });
      return;
    }
    const sealed = ticket.sealed && openPart<{ message: string }>(engine.ring, ticket.eventId, 'ticket', ticket.sealed);
    response.type('html').send(receiptPage(site, {
      token, eventId: ticket.eventId, queue: ticket.queue, urgency: ticket.urgency, status, receivedAt, message: sealed?.message ?? null,
      settled: !(status === 'accepted' || status === 'in_progress'), paused: request.query.paused === '1',
    }));
  };
  addRoute(router, '/receipts/:token', { get: [get as unknown as RequestHandler] });
};
