import { once } from 'node:events';
import type { ErrorRequestHandler, Request, RequestHandler, Response, Router } from 'express';
import { fileNameOf } from '../../shared/content/artifacts/media-types.ts';
import { openArtifact } from '../../shared/delivery/artifacts.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { openReport, sendReportCode } from '../../shared/delivery/report-links.ts';
import type { ArtifactRecord } from '../../shared/ledger/artifacts.ts';
import { noteRefusedVisit, noteReportAccess } from '../../shared/ledger/report-links.ts';
import type { ReportVisit } from '../../shared/ledger/report-links.ts';
import { networkOf } from '../../shared/http/client-network.ts';
import { fingerprint } from '../../shared/security/fingerprint.ts';
import { hashToken } from '../../shared/security/tokens.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';
import { wantsHtml } from './errors.ts';
import type { Site } from './page.ts';
import { Problem } from './problem.ts';
import { createReportLimits } from './rate-limits.ts';
import { jsonOrFormBody } from './read-body.ts';
import { createRefusedVisits, refusedVisitOf } from './refused-visits.ts';
import { reportPage } from './report-page.ts';
import { addRoute } from './routes.ts';

export interface ReportRoutes { engine: Engine; site: Site; log: Logger; reportsPerMinute?: { address: number; link: number } | undefined; /** Whom work that goes on behind an answer is told to. */ background?: (work: Promise<unknown>) => void }

const DEFAULT_LIMITS = { address: 60, link: 30 };

/**
 * An answer leaves at the next full tenth of a second after its request came. The work behind it is the same in every case but for
 * microseconds; this keeps those, too, from being measured.
 */
const ANSWER_EVERY_MS = 100;

type ForToken = { token: string };

const notOpened = (): Problem => new Problem({ status: 403, code: 'not_opened', detail: 'The link or the code is wrong, used or expired. Ask for another code with POST …/code, and give it as it came.' });
const ASKED = { status: 'asked', detail: 'If this link is good, a code is on its way by the other way than the link came.' };

const visitOf = (engine: Engine, request: Request<ForToken>): ReportVisit => ({
  tokenHash: hashToken(request.params.token), at: engine.now(), requestId: String(request.id), client: fingerprint(engine.ring, 'client-network', networkOf(request.ip ?? 'unknown')),
});

/** Streams a report out as a download. Where its bytes are damaged the connection breaks off before its announced end. */
const sendReport = async (engine: Engine, artifact: ArtifactRecord, response: Response): Promise<void> => {
  const pieces = openArtifact(engine, artifact);
  const first = await pieces.next();
  // By setHeader: Express would add a charset that nobody stated.
  response.setHeader('Content-Type', artifact.mediaType).set({
    'Content-Length': String(artifact.bytes), 'Content-Disposition': `attachment; filename="${fileNameOf(artifact.mediaType)}"`,
    'Content-Digest': `sha-256=:${Buffer.from(artifact.sha256, 'hex').toString('base64')}:`, 'Content-Security-Policy': "default-src 'none'; sandbox",
  });
  for (let piece = first; !piece.done; piece = await pieces.next()) {
    if (response.destroyed) return void await pieces.return(undefined);
    if (!response.write(piece.value)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  }
  response.end();
};

/** The pages and calls behind a link to a report: shown, a code asked for, opened. */
export const addReportRoutes = (router: Router, { engine, site, log, reportsPerMinute = DEFAULT_LIMITS, background = () => undefined }: ReportRoutes): void => {
  const limits = createReportLimits(reportsPerMinute);
  const isToBeNoted = createRefusedVisits(reportsPerMinute);

  const guard: RequestHandler<ForToken> = async (request, response, next) => {
    response.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex, nofollow' });
    // By what was asked for and never by what there is, so that a refusal tells nothing.
    await limits.byAddress(request.ip ?? 'unknown');
    await limits.byLink(request.params.token);
    (response.locals as { cameAt?: number }).cameAt = engine.monotonic();
    next();
  };
  const untilFullTenth = async (response: Response): Promise<void> => {
    const spent = engine.monotonic() - ((response.locals as { cameAt?: number }).cameAt ?? 0);
    await engine.wait(ANSWER_EVERY_MS - (spent % ANSWER_EVERY_MS));
  };

  const show: RequestHandler<ForToken> = async (request, response) => {
    await noteReportAccess(engine.db, visitOf(engine, request), 'page');
    await untilFullTenth(response);
    response.type('html').send(reportPage(site, request.params.token, null));
  };
  const askCode: RequestHandler<ForToken> = async (request, response) => {
    const { token } = request.params;
    await noteReportAccess(engine.db, visitOf(engine, request), 'code');
    // Behind the answer: whether there is anything to send must not be seen in the time it takes.
    background(sendReportCode(engine, token, String(request.id)).catch((error: unknown) => log.warn({ event: EVENTS.reportCodeFailed, request_id: request.id, error: (error as Error).name })));
    await untilFullTenth(response);
    response.status(202);
    if (wantsHtml(request)) response.type('html').send(reportPage(site, token, 'code_asked'));
    else response.json(ASKED);
  };
  const open: RequestHandler<ForToken> = async (request, response) => {
    const { token } = request.params;
    const { code } = (request.body ?? {}) as { code?: unknown };
    // What is no code at all is a wrong one like any other: it counts, and costs the same.
    const typed = typeof code === 'string' ? code.replace(/\s/g, '').slice(0, 20) : '';
    const artifact = await openReport(engine, visitOf(engine, request), { token, code: typed });
    if (artifact) return sendReport(engine, artifact, response);
    await untilFullTenth(response);
    if (!wantsHtml(request)) throw notOpened();
    response.status(403).type('html').send(reportPage(site, token, 'not_opened'));
  };
  /** Behind the answer, and by one statement whether or not there is such a link: a refusal must tell nothing either. */
  const noteRefusal = (action: 'page' | 'code' | 'open'): ErrorRequestHandler<ForToken> => (error, request, _response, next) => {
    const result = refusedVisitOf(error);
    if (result !== null) {
      // Read now: the request forgets its token as soon as it leaves this route.
      const [visit, token, address] = [visitOf(engine, request), request.params.token, request.ip ?? 'unknown'];
      const note = async (): Promise<void> => { if (await isToBeNoted(token, address)) await noteRefusedVisit(engine.db, visit, { action, result }); };
      background(note().catch((failed: unknown) => log.warn({ event: EVENTS.reportVisitLost, request_id: request.id, error: (failed as Error).name })));
    }
    next(error);
  };
  const handlers = (...all: RequestHandler<ForToken>[]): RequestHandler[] => all as unknown as RequestHandler[];
  const refused = (action: 'page' | 'code' | 'open'): RequestHandler => noteRefusal(action) as unknown as RequestHandler;
  addRoute(router, '/reports/:token', { get: [...handlers(guard, show), refused('page')] });
  addRoute(router, '/reports/:token/code', { post: [...handlers(guard, askCode), refused('code')] });
  addRoute(router, '/reports/:token/open', { post: [...handlers(guard), jsonOrFormBody, ...handlers(open), refused('open')] });
};
