import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import { page } from './page.ts';

/** Equally long for every text, whatever its length. */
const same = (one: string, other: string): boolean => {
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(one), digest(other));
};

const credentials = (header: string | undefined): { user: string; password: string } => {
  const text = Buffer.from(/^Basic +([A-Za-z0-9+/=]+)$/i.exec(header ?? '')?.[1] ?? '', 'base64').toString('utf8');
  const cut = text.indexOf(':');
  return cut < 0 ? { user: '', password: '' } : { user: text.slice(0, cut), password: text.slice(cut + 1) };
};

/** The name that somebody signed in with. */
export const signedInAs = (authorization: string | undefined): string => credentials(authorization).user;

/** HTTP Basic login of the one operator. */
export const requireLogin = (operator: { user: string; password: string }): RequestHandler => (request, response, next) => {
  const given = credentials(request.headers.authorization);
  const userFits = same(given.user, operator.user);
  const passwordFits = same(given.password, operator.password);
  if (userFits && passwordFits) {
    next();
    return;
  }
  response.status(401).set({ 'WWW-Authenticate': 'Basic realm="Tocsin", charset="UTF-8"', 'Cache-Control': 'no-store' }).type('html')
    .send(page('Sign in', '<h1>Sign in</h1><p>This page needs the operator\'s name and password.</p>'));
};
