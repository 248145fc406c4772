import type { Request, RequestHandler, Response } from 'express';
import { isSameSecret } from '../../shared/security/same-secret.ts';
import { callerOf } from './caller.ts';
import { page } from './page.ts';

const hostOf = (origin: string): string | null => (URL.canParse(origin) ? new URL(origin).host : null);

/** Where a request comes from, as far as its browser says: a page of ours, one of another site, or nothing is said. */
const comesFrom = (request: Request): 'own' | 'foreign' | 'unsaid' => {
  const { origin, host } = request.headers;
  const site = request.headers['sec-fetch-site'];
  // A browser that says where the request comes from is believed before its origin, which is null where no referrer is sent.
  if (site !== undefined) return site === 'same-origin' ? 'own' : site === 'none' ? 'unsaid' : 'foreign';
  if (origin === undefined || origin === 'null') return 'unsaid';
  return hostOf(origin) === host ? 'own' : 'foreign';
};

const changesNothing = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD';

const refuse = (response: Response, heading: string, text: string): void => {
  response.status(403).set('Cache-Control', 'no-store').type('html').send(page(heading, `<h1>${heading}</h1><p>${text}</p>`));
};

/** Refuses what changes something and comes from a page of another site: a browser sends the session along whoever asks. */
export const sameOrigin: RequestHandler = (request, response, next) => {
  if (changesNothing(request) || comesFrom(request) !== 'foreign') next();
  else refuse(response, 'This came from another site', 'Open the dashboard itself and try again.');
};

/** The name of the field of a form, and of the header of a call, that carries the session's token. */
export const TOKEN_FIELD = 'token';
const TOKEN_HEADER = 'x-tocsin-token';

const brings = (request: Request, token: string): boolean => {
  const given = request.headers[TOKEN_HEADER] ?? (request.body as Record<string, unknown> | undefined)?.[TOKEN_FIELD];
  return isSameSecret(typeof given === 'string' ? given : '', token);
};

/**
 * Lets nothing change without the token of the session, which only a page of ours has. `or` lets in what brings none: the board's
 * own page knows of no token, so there the browser must say that the request comes from a page of ours.
 */
export const requireToken = ({ or = 'nothing' }: { or?: 'own_origin' | 'nothing' } = {}): RequestHandler => (request, response, next) => {
  const { token } = callerOf(request.headers);
  if (changesNothing(request)) next();
  else if (token === null) refuse(response, 'Sign in to change anything', 'HTTP Basic is for programs that read. <a href="/login">Sign in</a>, or use the command line.');
  else if (brings(request, token) || (or === 'own_origin' && comesFrom(request) === 'own')) next();
  else refuse(response, 'This form has lapsed', 'It belongs to a session that has ended, or to none. Open the page anew and try again.');
};
