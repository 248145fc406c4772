import { once } from 'node:events';
import type { AddressInfo, Server as NetServer } from 'node:net';
import express from 'express';
import helmet from 'helmet';
import { readSandboxConfig } from '../../shared/config/sandbox-config.ts';
import type { Channel } from '../../shared/domain/words.ts';
import { createAppServer } from '../../shared/http/app-server.ts';
import { refuseUnreadableUrl } from '../../shared/http/readable-url.ts';
import { createControlApi } from './control-api.ts';
import { createInbox } from './inbox.ts';
import type { Inbox, Receipt } from './inbox.ts';
import { INBOX_CSS, INBOX_SCRIPT, inboxPage } from './inbox-page.ts';
import { DEFAULT_SCHEDULE } from './memorable.ts';
import type { Schedule } from './memorable.ts';
import { createOutages } from './outage.ts';
import type { OutageKind, Port } from './outage.ts';
import { createOriginApi } from './origin-api.ts';
import { startOrigin } from './origin.ts';
import type { OriginStandIn } from './origin.ts';
import { problem } from './problem.ts';
import type { Provider, TwilioAccount } from './provider.ts';
import { openReceiptLog } from './receipt-log.ts';
import { createScenarioBook } from './scenario-book.ts';
import { createReplies } from './replies.ts';
import type { ScriptFault } from './script.ts';
import { createSmtpProvider } from './smtp-provider.ts';
import { createResendApi } from './resend-api.ts';
import { createSinchApi } from './sinch-api.ts';
import { createTwilioApi } from './twilio-api.ts';
import { failed, missing } from './unreadable.ts';
import { countsOf, viewsOf } from './views.ts';
import type { Counts, MessageFilter, MessageView } from './views.ts';

export interface SandboxSettings extends TwilioAccount {
  /** What the stand-ins of Sinch and Resend expect; those of `readSandboxConfig` where none are given. */
  sinchPlanId?: string | undefined;
  sinchToken?: string | undefined;
  resendApiKey?: string | undefined;
  /** 0 = any free port. */
  httpPort: number;
  smtpPort: number;
  /** Of the shop's stand-in; left out, there is none. */
  originPort?: number | undefined;
  preconditionSecret?: string | undefined;
  /** Default 127.0.0.1. */
  host?: string | undefined;
  /** JSON lines, flushed before anything is answered; an existing file is continued. */
  receiptLogPath?: string | undefined;
  /** Milliseconds since the epoch; statuses follow this clock. */
  now?: (() => number) | undefined;
  schedule?: Partial<Schedule> | undefined;
}

export interface RunningSandbox {
  httpUrl: string;
  smtpUrl: string;
  /** The shop that is asked whether an order still waits; null where there is none. */
  origin: OriginStandIn | null;
  /** Accepted messages, newest first. */
  messages(filter?: MessageFilter): MessageView[];
  /** Submissions that were not accepted, newest first. */
  refused(filter?: MessageFilter): MessageView[];
  duplicates(): { attempt_key: string; count: number }[];
  duplicateEvents(): { event_id: string; channel: string; count: number }[];
  counts(): Counts;
  /** Null, or what is wrong with the script. */
  setScenario(to: string, script: unknown[]): ScriptFault[] | null;
  clearScenarios(): void;
  clearMessages(): Promise<void>;
  /** Somebody texts back; `at` says when, where it shows only now. */
  receive(reply: { from: string; to: string; text: string; at?: number }): void;
  setOutage(channel: Channel, kind: OutageKind, forMs?: number): Promise<void>;
  /** Calls back after each receipt is flushed, accepted or refused; returns the way to stop it. */
  onReceipt(listener: (receipt: Receipt) => void): () => void;
  /** Drops every connection, flushes the log and frees the ports. */
  close(): Promise<void>;
}

const PAGE_LENGTH = 100;
const SHOWN_REPLIES = 20;
const DEFAULTS = readSandboxConfig({});
/** Longer than any client keeps an idle connection, so that the stand-in never resets one by accident. */
const KEEP_ALIVE_MS = 600_000;

const portOf = (server: NetServer): number => (server.address() as AddressInfo).port;
const listen = async (server: NetServer, port: number, host: string): Promise<void> => {
  server.listen(port, host);
  await once(server, 'listening');
};

/** How to shut a server's port for a while: what `closed` outages do. */
const portFor = (server: NetServer, host: string, dropConnections: () => void): Port => {
  let port = 0;
  return {
    async shut() {
      port = portOf(server);
      const closed = once(server, 'close');
      server.close();
      dropConnections();
      await closed;
    },
    reopen: () => listen(server, port, host),
  };
};

const createApp = (provider: Provider, settings: SandboxSettings, origin: OriginStandIn | null): express.Express => {
  const { inbox, replies, now } = provider;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use((request, response, next) => {
    try {
      refuseUnreadableUrl(request.url);
    } catch {
      problem(response, 'address_unreadable', [{ field: 'the address', detail: 'is no percent-encoded UTF-8, or holds a NUL' }]);
      return;
    }
    next();
  });
  app.use('/2010-04-01', createTwilioApi(provider, settings));
  app.use('/xms/v1', createSinchApi(provider, { planId: settings.sinchPlanId ?? DEFAULTS.sinchPlanId, token: settings.sinchToken ?? DEFAULTS.sinchToken }));
  app.use('/emails', createResendApi(provider, { apiKey: settings.resendApiKey ?? DEFAULTS.resendApiKey }));
  app.use(helmet({ contentSecurityPolicy: { directives: { styleSrc: ["'self'"], upgradeInsecureRequests: null } }, hsts: false }));
  app.get('/', (request, response) => {
    const to = typeof request.query.to === 'string' && request.query.to.trim() !== '' ? request.query.to.trim() : undefined;
    const messages = viewsOf('accepted', inbox, { to, limit: PAGE_LENGTH }, now());
    response.set('Cache-Control', 'no-store').type('html').send(inboxPage({ messages, counts: countsOf(inbox), replies: replies.all().filter((one) => to === undefined || one.from === to).slice(-SHOWN_REPLIES).reverse(), to, paused: request.query.paused === '1' }));
  });
  app.get('/inbox.css', (_request, response) => {
    response.type('css').send(INBOX_CSS);
  });
  app.get('/inbox.js', (_request, response) => {
    response.type('js').send(INBOX_SCRIPT);
  });
  app.get('/healthz', (_request, response) => {
    response.json({ ok: true });
  });
  if (origin) app.use(createOriginApi(origin));
  app.use(createControlApi(provider));
  app.use(missing, failed);
  return app;
};

const handleOf = (provider: Provider): Omit<RunningSandbox, 'httpUrl' | 'smtpUrl' | 'origin' | 'close'> => {
  const { inbox, book, outages, replies, now } = provider;
  return {
    receive: (reply) => { replies.add(reply); },
    messages: (filter = {}) => viewsOf('accepted', inbox, filter, now()),
    refused: (filter = {}) => viewsOf('refused', inbox, filter, now()),
    duplicates: () => inbox.duplicates(),
    duplicateEvents: () => inbox.duplicateEvents(),
    counts: () => countsOf(inbox),
    setScenario: (to, script) => book.set(to, script),
    clearScenarios: () => book.clear(),
    clearMessages: () => inbox.clear(),
    setOutage: (channel, kind, forMs) => outages.set(channel, kind, forMs),
    onReceipt: (listener) => inbox.onReceipt(listener),
  };
};

const closeServer = async (server: NetServer, dropConnections: () => void): Promise<void> => {
  const closed = server.listening ? once(server, 'close') : Promise.resolve();
  if (server.listening) server.close();
  dropConnections();
  await closed;
};

/**
 * Starts the stand-ins for the SMS and mail providers. Rejects where a port is taken or the receipt log cannot be read; then
 * nothing stays open.
 */
export const startSandbox = async (settings: SandboxSettings): Promise<RunningSandbox> => {
  const host = settings.host ?? '127.0.0.1';
  const { log, earlier } = await openReceiptLog(settings.receiptLogPath);
  const inbox: Inbox = createInbox(log, earlier);
  const { server: http, serve } = createAppServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 });
  const dropHttp = (): void => http.closeAllConnections();
  // the mail server needs the outages and they need its port: hence the late look at `smtp`
  const dropSmtp = (): void => smtp.destroyConnections();
  const outages = createOutages({
    sms: portFor(http, host, dropHttp),
    email: { shut: () => emailPort.shut(), reopen: () => emailPort.reopen() },
  });
  const clock = settings.now ?? Date.now;
  const provider: Provider = { inbox, book: createScenarioBook({ ...DEFAULT_SCHEDULE, ...settings.schedule }), outages, replies: createReplies(clock), now: clock };
  const smtp = createSmtpProvider(provider);
  const emailPort = portFor(smtp.server.server, host, dropSmtp);
  const { originPort, preconditionSecret: secret = DEFAULTS.preconditionSecret, now } = settings;
  const origin = originPort === undefined ? null : await startOrigin({ port: originPort, host, secret, ...(now ? { now } : {}) }).catch(async (reason: unknown) => {
    await log.close();
    throw reason;
  });
  serve(createApp(provider, settings, origin));

  const close = async (): Promise<void> => {
    outages.stop();
    await Promise.all([closeServer(http, dropHttp), closeServer(smtp.server.server, dropSmtp), origin?.close()]);
    await log.close();
  };
  try {
    await listen(http, settings.httpPort, host);
    await listen(smtp.server.server, settings.smtpPort, host);
  } catch (reason) {
    await close();
    throw reason;
  }
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return { ...handleOf(provider), origin, httpUrl: `http://${shown}:${portOf(http)}`, smtpUrl: `smtp://${shown}:${portOf(smtp.server.server)}`, close };
};
