import type { Request, RequestHandler, Response } from 'express';
import type { Channel } from '../../shared/domain/words.ts';
import type { ReadObstacle } from './fate.ts';
import type { Provider } from './provider.ts';
import type { ReadFault } from './script.ts';

/**
 * How an HTTP provider says what a script means. Codes are those scripts use on the channel: Twilio's for numbers, SMTP replies
 * for addresses; `refuse` puts each in the provider's own words.
 */
export interface Dialect {
  channel: Channel;
  codes: { unauthorized: number; notFound: number; reject: number; throttle: number; fail: number };
  /** HTTP status of a submission that was taken. */
  takenStatus: number;
  /** A success as it looks without the id that ought to be in it. */
  withoutId: Record<string, unknown>;
  /** Sends an error in the provider's shape; `httpStatus` overrides the usual one. */
  refuse: (response: Response, code: number, httpStatus?: number) => void;
}

/** During an outage that refuses, the line goes away before the body is read. */
export const dropWhileAway = ({ outages }: Provider, { channel }: Dialect): RequestHandler => (request, _response, next) => {
  const kind = outages.kind(channel);
  // a closed mail port cannot close the port of this very API, so that a mail API only drops the line
  if (kind === 'refuse' || kind === 'closed') request.socket.destroy();
  else next();
};

/** Lets a read pass that is authorized and meets no outage. */
export const guardReads = ({ outages }: Provider, dialect: Dialect, isAuthorized: (request: Request) => boolean): RequestHandler => (request, response, next) => {
  const kind = outages.kind(dialect.channel);
  if (!isAuthorized(request)) dialect.refuse(response, dialect.codes.unauthorized);
  else if (kind === 'error500') dialect.refuse(response, dialect.codes.fail, 500);
  else if (kind !== 'hang') next();
};

/** Answers a read that a script lets fail. */
export const failRead = (response: Response, { httpStatus, retryAfter }: Pick<ReadFault, 'httpStatus' | 'retryAfter'>, { codes, refuse }: Dialect): void => {
  if (retryAfter !== null) response.set('Retry-After', String(retryAfter));
  refuse(response, httpStatus === 429 ? codes.throttle : codes.fail, httpStatus);
};

/** Answers a status read that something stands in the way of, or leaves it without an answer; false where nothing does. */
export const isObstructed = (response: Response, obstacle: ReadObstacle, dialect: Dialect): boolean => {
  if (obstacle?.kind === 'fail') failRead(response, obstacle, dialect);
  else if (obstacle?.kind === 'not_found') dialect.refuse(response, dialect.codes.notFound);
  return obstacle !== null;
};

/** What `{status: "malformed"}` answers. */
export const sendMaintenancePage = (response: Response): void => {
  response.type('html').send('<!doctype html><title>Maintenance</title><p>We will be back soon');
};
