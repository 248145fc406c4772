import type { ErrorRequestHandler, Request } from 'express';
import { isDatabaseAway } from '../../shared/ledger/database.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import { errorPage } from './error-page.ts';
import type { Site } from './page.ts';
import type { ProblemDetails } from './problem.ts';
import { Problem, problemBody } from './problem.ts';

const AWAY_RETRY_SECONDS = 5;

const databaseAway: ProblemDetails = {
  status: 503, code: 'database_away', headers: { 'Retry-After': String(AWAY_RETRY_SECONDS) },
  detail: `The ledger cannot be reached, so nothing was accepted. Send the same request again in ${AWAY_RETRY_SECONDS} seconds, with the same idempotency key.`,
};

/** What an error tells a client; null for a defect of ours, which tells nothing. */
const known = (error: unknown): ProblemDetails | null => {
  if (error instanceof Problem) return error.details;
  if (isDatabaseAway(error)) return databaseAway;
  // Express itself refuses a path that is no valid URI encoding.
  if (error instanceof URIError) return { status: 400, code: 'malformed_path', detail: 'The address is not properly encoded. Encode it as UTF-8 with percent signs.' };
  return null;
};

/** Where an error arose, without its message: a library may quote in it what was sent. */
const framesOf = (error: unknown): string[] =>
  (error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)).slice(0, 12).map((line) => line.trim()) : []);

/** Reads an error as problem details, and logs it where a person has to look. */
export const toProblem = (error: unknown, request: Request, log: Logger): ProblemDetails => {
  const found = known(error);
  if (found?.code === databaseAway.code) log.warn({ event: EVENTS.databaseAway, request_id: request.id, route: (request.route as { path?: string } | undefined)?.path });
  if (found) return found;
  const { name, code } = (error instanceof Error ? error : {}) as { name?: string; code?: string };
  log.error({ event: EVENTS.requestFailed, request_id: request.id, method: request.method, error: name, code, frames: framesOf(error) });
  return { status: 500, code: 'internal_error', detail: 'Something failed on our side, and it was noted. Send the same request again, with the same idempotency key; give the request id if you ask about it.' };
};

/** Whether a person's browser asks. JSON wins where both would do. */
export const wantsHtml = (request: Request): boolean => request.accepts(['json', 'html']) === 'html';

/** Answers every error: as a page to a browser, as problem details to everyone else. */
export const errorHandler = (site: Site, log: Logger): ErrorRequestHandler => (error, request, response, next) => {
  if (response.headersSent) {
    next(error);
    return;
  }
  const details = toProblem(error, request, log);
  response.status(details.status).set(details.headers ?? {}).set('Cache-Control', 'no-store');
  if (wantsHtml(request)) response.type('html').send(errorPage(site, details, String(request.id)));
  else response.type('application/problem+json').send(JSON.stringify({ ...problemBody(details), request_id: request.id }));
};
