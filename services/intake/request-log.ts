import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { pinoHttp } from 'pino-http';
import type { Logger } from '../../shared/telemetry/logger.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/**
 * Takes the caller's request id where it is a UUID or a ULID, draws one else, and gives it back. The ledger keeps it for ever, so
 * it may be drawn at random and nothing that somebody wrote.
 */
const requestId: RequestHandler = (request, response, next) => {
  const given = request.get('x-request-id');
  request.id = given !== undefined && (UUID.test(given) || ULID.test(given)) ? given : randomUUID();
  response.set('X-Request-Id', request.id);
  next();
};

/** The pattern of the route, for an address may hold a token. */
const lineOf = (request: Request, response: Response, spent: { responseTime?: number }) => ({
  event: 'request', request_id: request.id, method: request.method, route: (request.route as { path?: string } | undefined)?.path ?? null,
  status_code: response.statusCode, ms: spent.responseTime, aborted: response.writableFinished ? undefined : true,
});

/** One line per request: route pattern, status and time; no address, header, body or query of it. */
export const requestLog = (log: Logger): RequestHandler[] => {
  const line = pinoHttp<Request, Response>({
    logger: log, genReqId: (request) => request.id, quietReqLogger: true, quietResLogger: true,
    // What is worth more than a line is logged where it happens.
    customLogLevel: (request) => (/^\/(healthz|readyz|metrics)/.test(request.path) ? 'debug' : 'info'),
    customSuccessObject: lineOf, customErrorObject: (request, response, _error, spent: { responseTime?: number }) => lineOf(request, response, spent),
    customSuccessMessage: () => 'request', customErrorMessage: () => 'request',
  });
  return [requestId, (request, response, next) => {
    line(request, response);
    next();
  }];
};
