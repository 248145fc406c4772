import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { plainLog } from '../../shared/telemetry/logger.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';

declare module 'http' {
  interface IncomingMessage {
    /** Drawn or taken over by `requestLog`. */
    id: string;
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/**
 * Takes the caller's request id where it is a UUID or a ULID, draws one else, and gives it back. The ledger keeps it for ever, so
 * it may be drawn at random and nothing that somebody wrote.
 */
const identify = (request: Request, response: Response): void => {
  const given = request.get('x-request-id');
  request.id = given !== undefined && (UUID.test(given) || ULID.test(given)) ? given : randomUUID();
  response.setHeader('X-Request-Id', request.id);
};

/** The pattern of the route, for an address may hold a token. */
const lineOf = (request: Request, response: Response, ms: number) => ({
  event: EVENTS.request, request_id: request.id, method: request.method, route: (request.route as { path?: string } | undefined)?.path ?? null,
  status_code: response.statusCode, ms, aborted: response.writableFinished ? undefined : true,
});

/** Gives each request its id, and has one line logged of it: route pattern, status and time; no address, header, body or query of it. */
export const requestLog = (log: Logger): RequestHandler => {
  const plain = plainLog(log);
  return (request, response, next) => {
    identify(request, response);
    const startedAt = performance.now();
    // What is worth more than a line is logged where it happens.
    const level = /^\/(healthz|readyz|metrics)/.test(request.path) ? 'debug' : 'info';
    if (plain.isLevelEnabled(level)) response.once('close', () => plain[level](lineOf(request, response, Math.round(performance.now() - startedAt)), 'request'));
    next();
  };
};
