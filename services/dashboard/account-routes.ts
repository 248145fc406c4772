import type { Express } from 'express';
import type { SignInDesk } from '../../shared/delivery/sign-in.ts';
import { signOut } from '../../shared/delivery/sign-in.ts';
import { accountPage } from './account-page.ts';
import { callerOf } from './caller.ts';
import type { SiteCookies } from './cookies.ts';
import { NO_REASON_COOKIE } from './operator-session.ts';

/** `GET /account` and `POST /logout`. */
export const addAccount = (app: Express, desk: SignInDesk, cookies: SiteCookies): void => {
  app.get('/account', (request, response) => { response.set('Cache-Control', 'no-store').type('html').send(accountPage(callerOf(request.headers))); });
  app.post('/logout', async (request, response) => {
    const { session, audit } = callerOf(request.headers);
    const { everywhere } = (request.body ?? {}) as { everywhere?: unknown };
    if (session) await signOut(desk, session, { everywhere: everywhere === '1', by: audit });
    for (const gone of [cookies.clear(cookies.session), NO_REASON_COOKIE]) response.append('Set-Cookie', gone);
    response.set('Cache-Control', 'no-store').redirect(303, '/login');
  });
};
