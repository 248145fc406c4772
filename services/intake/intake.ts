import express from 'express';
import type { IntakeConfig } from '../../shared/config/intake-config.ts';
import type { Roster } from '../../shared/content/roster.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createAppServer } from '../../shared/http/app-server.ts';
import { listenOn, SERVER_LIMITS, stopListening } from '../../shared/http/listening.ts';
import { refuseUnreadableUrl } from '../../shared/http/readable-url.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';
import { admitByTurns, createAdmission } from './admission.ts';
import { addArtifactRoutes, DEFAULT_MAX_BYTES } from './artifact-routes.ts';
import { addDocsRoutes } from './docs-routes.ts';
import { errorHandler } from './errors.ts';
import { addHealthRoutes } from './health-routes.ts';
import { addNotificationRoutes } from './notification-routes.ts';
import type { Site } from './page.ts';
import { siteAt } from './page.ts';
import { PAGES_CSS } from './pages-css.ts';
import { notFound } from './problem.ts';
import { addReportRoutes } from './report-routes.ts';
import { addReceiptRoutes } from './receipt-routes.ts';
import { requestLog } from './request-log.ts';
import { addRoute } from './routes.ts';
import { securityHeaders } from './security-headers.ts';
import { addTicketRoutes } from './ticket-routes.ts';
import { addUnsubscribeRoutes } from './unsubscribe-routes.ts';

export interface IntakeSettings {
  engine: Engine;
  roster: Roster;
  config: IntakeConfig;
  /** Base of the links to the dashboard that notices carry. */
  dashboardUrl: string;
  log: Logger;
}

export interface RunningIntake {
  url: string;
  port: number;
  /** Takes no more requests, lets those under way finish for a moment, and frees the port. */
  close: () => Promise<void>;
}

/** The app of an intake that is reached at `site`. `background` is given what goes on behind an answer, to be waited for at the end. */
export const createApp = ({ engine, roster, config, dashboardUrl, log }: IntakeSettings, site: Site, background: (work: Promise<unknown>) => void = () => undefined): express.Express => {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', config.trustProxy).set('query parser', 'simple');
  app.use(requestLog(log));
  app.use(securityHeaders(site));
  app.use((request, _response, next) => {
    // What stands in a query is a field like any other, and is refused by its name.
    refuseUnreadableUrl(request.path);
    next();
  });
  addRoute(app, '/pages.css', { get: [(_request, response) => { response.set('Cache-Control', 'public, max-age=300').type('css').send(PAGES_CSS); }] });
  const admit = admitByTurns(createAdmission());
  // A request is held against every path before its own: what is asked most stands first.
  addNotificationRoutes(app, { engine, site, preconditionOrigins: config.preconditionOrigins ?? [], linkHosts: config.linkHosts ?? [], admit });
  addHealthRoutes(app, engine);
  addTicketRoutes(app, { engine, roster, dashboardUrl: dashboardUrl.replace(/\/+$/, ''), site, demo: config.demo, ticketsPerMinute: config.ticketsPerMinute, log, admit });
  addReceiptRoutes(app, { engine, site });
  addArtifactRoutes(app, { engine, maxBytes: config.artifactMaxBytes ?? DEFAULT_MAX_BYTES });
  addReportRoutes(app, { engine, site, log, reportsPerMinute: config.reportsPerMinute, background });
  addUnsubscribeRoutes(app, { engine, site, unsubscribesPerMinute: config.unsubscribesPerMinute });
  addDocsRoutes(app, { site, roster, demo: config.demo });
  app.use(() => { throw notFound(); });
  app.use(errorHandler(site, log));
  return app;
};

/** Starts the HTTP intake. @throws where the port is taken. */
export const startIntake = async (settings: IntakeSettings): Promise<RunningIntake> => {
  const { config } = settings;
  const { server, serve } = createAppServer(SERVER_LIMITS);
  const { url, port } = await listenOn(server, config.host, config.port);
  const working = new Set<Promise<unknown>>();
  const background = (work: Promise<unknown>): void => {
    working.add(work);
    void work.finally(() => working.delete(work));
  };
  serve(createApp(settings, siteAt(config.publicUrl ?? url), background));
  return {
    url, port,
    close: async () => {
      await stopListening(server);
      await Promise.allSettled(working);
    },
  };
};
