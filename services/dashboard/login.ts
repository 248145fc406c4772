import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { SignInDesk } from '../../shared/delivery/sign-in.ts';
import { clientOf, sessionOf } from '../../shared/delivery/sign-in.ts';
import { networkOf } from '../../shared/http/client-network.ts';
import { fingerprint } from '../../shared/security/fingerprint.ts';
import { basicCredentials, createBasicLogin } from './basic-login.ts';
import type { Caller } from './caller.ts';
import { setCaller } from './caller.ts';
import type { SiteCookies } from './cookies.ts';
import { cookieIn } from './cookies.ts';
import { BARE, page } from './page.ts';

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** The session that a request's cookie names; null where there is none. */
export const sessionIn = async (desk: SignInDesk, request: Request, cookies: SiteCookies) => {
  const token = cookieIn(request.headers.cookie, cookies.session);
  return token !== null && TOKEN.test(token) ? sessionOf(desk, token) : null;
};

/** Where a request comes from, as the trail may know it. */
export const whenceOf = (request: Request, via: 'dashboard' | 'basic') => ({ network: networkOf(request.ip ?? 'unknown'), requestId: randomUUID(), via });

/** Whether a person opens a page, and is not a script that asks. */
const isVisit = (request: Request): boolean =>
  request.method === 'GET' && (request.headers['sec-fetch-mode'] ?? 'navigate') === 'navigate' && /\btext\/html\b/.test(request.headers.accept ?? '');

/** No browser is asked for a password by a dialog of its own: it would keep it, and send it along whoever asks. */
export const CHALLENGE = { 'WWW-Authenticate': 'Session realm="Tocsin"', 'Cache-Control': 'no-store' };

const refuse = (request: Request, response: Response): void => {
  if (isVisit(request)) {
    response.set('Cache-Control', 'no-store').redirect(303, request.originalUrl === '/' ? '/login' : `/login?next=${encodeURIComponent(request.originalUrl)}`);
    return;
  }
  response.status(401).set(CHALLENGE).type('html').send(page('Sign in', '<h1>Sign in</h1><p>This needs somebody who is signed in. <a href="/login">Sign in</a>; a program reads with HTTP Basic.</p>', '', BARE));
};

export const tooMany = (response: Response, waitMs: number): Response =>
  response.status(429).set({ 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1_000))), 'Cache-Control': 'no-store' });

const fromSession = async (desk: SignInDesk, request: Request, cookies: SiteCookies): Promise<Caller | null> => {
  const session = await sessionIn(desk, request, cookies);
  if (!session) return null;
  const { network, requestId } = whenceOf(request, 'dashboard');
  return {
    user: session.operator, role: session.role, session, token: fingerprint(desk.ring, 'dashboard-form', session.sessionId).toString('base64url'),
    audit: { actor: session.operator, role: session.role, via: 'dashboard', session: session.sessionId.slice(0, 8), client: clientOf(desk, network), requestId },
  };
};

/** Lets in whoever has a session, and programs with HTTP Basic; a person without is led to the login page and back. */
export const requireLogin = (desk: SignInDesk, cookies: SiteCookies): RequestHandler => {
  const checkBasic = createBasicLogin(desk);
  return async (request, response, next) => {
    const caller = await fromSession(desk, request, cookies);
    const credentials = caller ? null : basicCredentials(request.headers.authorization);
    if (caller) setCaller(request.headers, caller);
    if (!caller && credentials === null) return refuse(request, response);
    if (credentials === null) return next();
    const whence = whenceOf(request, 'basic');
    const checked = await checkBasic(credentials, whence);
    if (checked.kind === 'refused') return refuse(request, response);
    if (checked.kind === 'throttled') return void tooMany(response, checked.waitMs).type('html').send(page('Too many', '<h1>Too many wrong passwords</h1><p>Try again later.</p>', '', BARE));
    const { name, role } = checked.operator;
    setCaller(request.headers, { user: name, role, session: null, token: null, audit: { actor: name, role, via: 'basic', session: null, client: clientOf(desk, whence.network), requestId: whence.requestId } });
    next();
  };
};
