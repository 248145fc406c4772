import { randomBytes } from 'node:crypto';
import { urlencoded } from 'express';
import type { Express, Request, Response } from 'express';
import type { SignIn, SignInDesk } from '../../shared/delivery/sign-in.ts';
import { signIn } from '../../shared/delivery/sign-in.ts';
import { fingerprint, readSignedText, signText } from '../../shared/security/fingerprint.ts';
import { isSameSecret } from '../../shared/security/same-secret.ts';
import type { SiteCookies } from './cookies.ts';
import { cookieIn } from './cookies.ts';
import { CHALLENGE, sessionIn, tooMany, whenceOf } from './login.ts';
import { loginPage } from './login-page.ts';
import { ownPath } from './own-path.ts';
import { sameOrigin } from './same-origin.ts';

/** A login form that was left open longer is made anew; sessions are kept for longer than that, so that none opens two. */
const FORM_LASTS_MS = 12 * 3_600_000;

const fieldOf = ({ ring }: SignInDesk, form: string): string => fingerprint(ring, 'login-form-field', form).toString('base64url');

/** The form's half in the browser's cookie, where it is ours and not too old. */
const formIn = (desk: SignInDesk, request: Request, cookies: SiteCookies): string | null => {
  const form = cookieIn(request.headers.cookie, cookies.form);
  const made = form === null ? null : readSignedText(desk.ring, 'login-form', form);
  const age = desk.now() - Number(made?.split('.')[1]);
  return form !== null && age >= 0 && age < FORM_LASTS_MS ? form : null;
};

const WORDS: Readonly<Record<Exclude<SignIn['kind'], 'signed_in'>, string>> = {
  refused: 'Name or password is wrong.', throttled: 'Too many tries. Wait a quarter of an hour, then try again.', form_used: 'This form was used already. Sign in with this one.',
};

/** `GET` and `POST /login`. A form opens one session; its token stands in the page and, as its other half, in a cookie of its own. */
export const addLogin = (app: Express, desk: SignInDesk, cookies: SiteCookies): void => {
  const show = (response: Response, { form, next, name, problem }: { form: string | null; next: string; name?: string; problem?: string }): void => {
    const shown = form ?? signText(desk.ring, 'login-form', `${randomBytes(16).toString('base64url')}.${desk.now()}`);
    if (form === null) response.append('Set-Cookie', cookies.set(cookies.form, shown, 'Strict'));
    response.set('Cache-Control', 'no-store').type('html').send(loginPage({ token: fieldOf(desk, shown), next, ...(name === undefined ? {} : { name }), problem }));
  };
  app.get('/login', async (request, response) => {
    const next = ownPath(request.query['next']);
    if (await sessionIn(desk, request, cookies)) response.set('Cache-Control', 'no-store').redirect(303, next);
    else show(response, { form: formIn(desk, request, cookies), next });
  });
  app.post('/login', sameOrigin, urlencoded({ extended: false, limit: '8kb' }), async (request, response) => {
    const fields = (request.body ?? {}) as Record<string, unknown>;
    const text = (name: string): string => (typeof fields[name] === 'string' ? fields[name] : '');
    const next = ownPath(fields['next']);
    const form = formIn(desk, request, cookies);
    if (form === null || !isSameSecret(text('token'), fieldOf(desk, form))) {
      show(response.status(403), { form, next, problem: 'This form has lapsed. Sign in with this one.' });
      return;
    }
    const name = text('name').trim().slice(0, 200);
    const outcome = await signIn(desk, { name, password: text('password'), form, before: await sessionIn(desk, request, cookies) }, whenceOf(request, 'dashboard'));
    if (outcome.kind === 'signed_in') {
      response.append('Set-Cookie', cookies.set(cookies.session, outcome.token, 'Lax')).append('Set-Cookie', cookies.clear(cookies.form));
      response.set('Cache-Control', 'no-store').redirect(303, next);
      return;
    }
    if (outcome.kind === 'throttled') tooMany(response, outcome.waitMs);
    else response.status(outcome.kind === 'refused' ? 401 : 403).set(CHALLENGE);
    show(response, { form: outcome.kind === 'form_used' ? null : form, next, name, problem: WORDS[outcome.kind] });
  });
};
