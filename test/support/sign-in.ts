import type { Page } from 'playwright-core';
import { addOperator } from '../../shared/delivery/operators.ts';
import type { OperatorDesk } from '../../shared/delivery/operators.ts';
import type { OperatorRole } from '../../shared/ledger/operators.ts';

/** What a hash may cost in a test that is not about that. */
export const CHEAP = { n: 2 ** 10, r: 8, p: 1 };
export const TEST_ACTOR = { actor: 'test', role: null, via: 'cli', session: null, client: null, requestId: 'test' } as const;

/** An operator for a test. */
export const makeOperator = async (desk: OperatorDesk, name: string, role: OperatorRole, password = 'correct:horse'): Promise<void> => {
  if (!(await addOperator(desk, { name, role, password }, TEST_ACTOR, CHEAP))) throw new Error(`there is an operator ${name} already`);
};

export interface LoginForm { cookie: string; token: string }
/** The login form as a browser gets it: the half in its cookie and the half in the page. */
export const loginForm = async (url: string): Promise<LoginForm> => {
  const response = await fetch(`${url}/login`);
  return { cookie: (response.headers.get('set-cookie') ?? '').split(';')[0] as string, token: /name="token" value="([^"]+)"/.exec(await response.text())?.[1] ?? '' };
};

export interface Attempt { user: string; password: string; form?: LoginForm; headers?: Record<string, string>; next?: string }
/** Posts the login form; redirects are not followed. */
export const postLogin = async (url: string, { user, password, form, headers = {}, next = '/' }: Attempt): Promise<Response> => {
  const { cookie, token } = form ?? await loginForm(url);
  return fetch(`${url}/login`, {
    method: 'POST', redirect: 'manual', headers: { 'Content-Type': 'application/x-www-form-urlencoded', Cookie: cookie, ...headers },
    body: new URLSearchParams({ name: user, password, token, next }).toString(),
  });
};

/** A session of the dashboard: its cookie, and the token that its forms bring. */
export interface Signed { cookie: string; token: string; headers: Record<string, string> }
export const sessionCookie = (response: Response): string => /(?:__Host-)?tocsin_session=[^;]+/.exec(response.headers.getSetCookie().join('\n'))?.[0] ?? '';

/** The session behind a cookie, with the token of its forms. */
export const signedWith = async (url: string, cookie: string): Promise<Signed> => {
  const token = /name="token" value="([^"]+)"/.exec(await (await fetch(`${url}/account`, { headers: { Cookie: cookie } })).text())?.[1] ?? '';
  return { cookie, token, headers: { Cookie: cookie, 'X-Tocsin-Token': token } };
};

/** Signs in as a person does. @throws where that is refused. */
export const signIn = async (url: string, user: string, password = 'correct:horse'): Promise<Signed> => {
  const response = await postLogin(url, { user, password });
  if (response.status !== 303) throw new Error(`the login of ${user} answered ${response.status}`);
  return signedWith(url, sessionCookie(response));
};

/** The session of each operator of the dashboard at `url`; another one where the last was ended. */
export const keepSessions = (url: () => string): ((user: string) => Promise<Signed>) => {
  const kept = new Map<string, Signed>();
  return async (user) => {
    const open = kept.get(user);
    if (open) {
      const account = await fetch(`${url()}/account`, { redirect: 'manual', headers: { Cookie: open.cookie } });
      await account.text();
      if (account.status === 200) return open;
    }
    const fresh = await signIn(url(), user);
    kept.set(user, fresh);
    return fresh;
  };
};

/** Opens a page of the dashboard in a browser, through the login page. */
export const signInWith = async (page: Page, url: string, { username, password }: { username: string; password: string }): Promise<void> => {
  await page.goto(url);
  await page.fill('[name=name]', username);
  await page.fill('[name=password]', password);
  await page.click('button[type=submit]');
  await page.waitForURL(url);
};
