import { randomUUID } from 'node:crypto';
import express from 'express';
import type { ErrorRequestHandler, Response, Router } from 'express';
import helmet from 'helmet';
import type { DashboardConfig } from '../../shared/config/intake-config.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { openPart } from '../../shared/delivery/payload.ts';
import { ensureFirstOperator } from '../../shared/delivery/operators.ts';
import { operatorsThere } from '../../shared/ledger/operators.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import { EVENT_ID } from '../../shared/domain/words.ts';
import { isDatabaseAway } from '../../shared/ledger/database.ts';
import { readNotification, readTicket } from '../../shared/ledger/reads.ts';
import { createAppServer } from '../../shared/http/app-server.ts';
import { listenOn, SERVER_LIMITS, stopListening } from '../../shared/http/listening.ts';
import { refuseUnreadableUrl } from '../../shared/http/readable-url.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { addAccount } from './account-routes.ts';
import { addActs } from './act-routes.ts';
import { addAtRisk } from './at-risk-routes.ts';
import { addAudit } from './audit-routes.ts';
import { board } from './board.ts';
import { callerOf } from './caller.ts';
import { siteCookies } from './cookies.ts';
import { DASHBOARD_CSS } from './dashboard-css.ts';
import { DASHBOARD_SCRIPT } from './dashboard-script.ts';
import { logDefect } from './defects.ts';
import { addHealth } from './health-routes.ts';
import { addList } from './list-routes.ts';
import { requireLogin } from './login.ts';
import { addLogin } from './login-routes.ts';
import { addReason } from './reason-routes.ts';
import { requireToken, sameOrigin } from './same-origin.ts';
import { addNotificationPages } from './notification-routes.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { otherMethods } from './other-methods.ts';
import { page } from './page.ts';
import type { TicketContent } from './ticket-page.ts';
import { ticketPage } from './ticket-page.ts';
import { addTemplatePages } from './template-routes.ts';

export interface DashboardSettings {
  engine: Engine;
  /** For the board; without it there is none. */
  queue?: QueueBackend;
  config: DashboardConfig;
  log: Logger;
}

export interface RunningDashboard {
  url: string;
  port: number;
  /** Takes no more requests, lets those under way finish for a moment, and frees the port. */
  close: () => Promise<void>;
}

const security = (secure: boolean) => helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], scriptSrc: ["'self'"], connectSrc: ["'self'"], styleSrc: ["'self'"], imgSrc: ["'self'", 'data:'], frameSrc: ["'self'"], formAction: ["'self'"], baseUri: ["'none'"], frameAncestors: ["'none'"] },
  },
  referrerPolicy: { policy: 'no-referrer' },
  // Over plain HTTP on one machine there is nothing to upgrade to.
  strictTransportSecurity: secure,
});

const sendMissing = (response: Response): void => {
  response.status(404).type('html').send(page('Not found', '<h1>There is nothing here</h1><p>Check the address. <a href="/">See the newest tickets and notifications</a>.</p>'));
};

const addPages = (router: Router, engine: Engine): void => {
  addList(router, engine);
  addAtRisk(router, engine);
  addNotificationPages(router, engine, sendMissing);
  addTemplatePages(router, engine, sendMissing);
  router.get('/tickets/:event_id', async (request, response) => {
    const eventId = request.params.event_id;
    const [ticket, record] = EVENT_ID.test(eventId) ? await Promise.all([readTicket(engine.db, { eventId }), readNotification(engine.db, { eventId })]) : [null, null];
    if (!ticket || !record) {
      sendMissing(response);
      return;
    }
    const content = ticket.sealed && openPart<TicketContent>(engine.ring, eventId, 'ticket', ticket.sealed);
    response.type('html').send(ticketPage(ticket, publicStatus(record.current.state), content));
  });
};

/** A page for every error. */
const errors = (log: Logger): ErrorRequestHandler => (error: unknown, request, response, next) => {
  if (response.headersSent) {
    next(error);
    return;
  }
  const away = isDatabaseAway(error);
  const said = (error as { status?: number } | null)?.status ?? 0;
  const refused = error instanceof URIError || (said >= 400 && said < 500);
  const id = away || refused ? randomUUID() : logDefect(log, error, request.method);
  const [status, heading, text] = away ? [503, 'Not available for a moment', 'The ledger cannot be reached. Try again in a few seconds.'] as const
    : refused ? [400, 'That could not be read', 'The address or the form is not properly encoded, or too long.'] as const
      : [500, 'Something went wrong', 'It was noted.'] as const;
  response.status(status).set(away ? { 'Retry-After': '5' } : {}).type('html').send(page(heading, `<h1>${heading}</h1><p>${text}</p><p class="soft">Request <code>${escapeHtml(id)}</code></p>`));
};

/** Where Bull Board is mounted. */
const BOARD = '/queues';

/** The dashboard's application: everything below the login, but for that itself, health, metrics, style and script. */
export const createDashboard = ({ engine, queue, config, log }: DashboardSettings): express.Express => {
  const app = express();
  const cookies = siteCookies(config.secure ?? false);
  app.disable('x-powered-by').disable('etag').set('trust proxy', config.trustProxy ?? 0).set('query parser', 'simple');
  const secured = security(config.secure ?? false);
  app.use((request, response, next) => (request.path === BOARD || request.path.startsWith(`${BOARD}/`) ? next() : secured(request, response, next)));
  app.use((request, response, next) => {
    try {
      refuseUnreadableUrl(request.url);
    } catch (error) {
      secured(request, response, () => next(error));
      return;
    }
    next();
  });
  addHealth(app, engine);
  app.get('/dashboard.css', (_request, response) => { response.set('Cache-Control', 'public, max-age=300').type('css').send(DASHBOARD_CSS); });
  app.get('/dashboard.js', (_request, response) => { response.set('Cache-Control', 'public, max-age=300').type('js').send(DASHBOARD_SCRIPT); });
  addLogin(app, engine, cookies);
  app.use(requireLogin(engine, cookies), sameOrigin);
  if (queue) app.use(BOARD, requireToken({ or: 'own_origin' }), board({ engine, queue, who: callerOf, log }, BOARD));
  // Whatever changes something is below this line, and needs the token of its session.
  app.use(express.urlencoded({ extended: false, limit: '8kb' }), requireToken());
  addAccount(app, engine, cookies);
  addReason(app, engine);
  addActs(app, engine, sendMissing);
  app.use((_request, response, next) => { response.set('Cache-Control', 'no-store'); next(); });
  addPages(app, engine);
  addAudit(app, engine);
  app.use(otherMethods(app));
  app.use((_request, response) => sendMissing(response));
  app.use(errors(log));
  return app;
};

const ADD_ADMIN = 'npx tocsin operator add NAME --role admin';

/** Starts the dashboard; where there is no operator yet, the configured one becomes the first. @throws where the port is taken. */
export const startDashboard = async (settings: DashboardSettings): Promise<RunningDashboard> => {
  const { config, log } = settings;
  await ensureFirstOperator(settings.engine, config.operator, randomUUID());
  // Operators who were added before the first start leave OPERATOR_USER unmade: else nobody learns why he cannot sign in.
  if (!(await operatorsThere(settings.engine.db)).admin) log.warn({ event: EVENTS.noAdmin, user: config.operator.user, cure: ADD_ADMIN });
  const { server, serve } = createAppServer(SERVER_LIMITS);
  serve(createDashboard(settings));
  const { url, port } = await listenOn(server, config.host, config.port);
  return { url, port, close: () => stopListening(server) };
};
