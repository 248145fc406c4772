import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import { pinoHttp } from 'pino-http';
import type { Logger } from '../../shared/telemetry/logger.ts';

const SANE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Takes the caller's request id where it is a plain one, draws one else, and gives it back. */
const requestId: RequestHandler = (request, response, next) => {
  const given = request.get('x-request-id');
  request.id = given !== undefined && SANE_ID.test(given) ? given : randomUUID();
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
    customLogLevel: (request) => (/^\/(healthz|readyz)/.test(request.path) ? 'debug' : 'info'),
    customSuccessObject: lineOf, customErrorObject: (request, response, _error, spent: { responseTime?: number }) => lineOf(request, response, spent),
    customSuccessMessage: () => 'request', customErrorMessage: () => 'request',
  });
  return [requestId, (request, response, next) => {
    line(request, response);
    next();
  }];
};
