import type { RequestHandler, Router } from 'express';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { Unsubscription } from '../../shared/delivery/unsubscribe.ts';
import { readUnsubscribeToken, unsubscribe } from '../../shared/delivery/unsubscribe.ts';
import { wantsHtml } from './errors.ts';
import { isOneClick, ONE_CLICK } from './one-click.ts';
import type { Site } from './page.ts';
import { Problem } from './problem.ts';
import { createReportLimits } from './rate-limits.ts';
import { textBody } from './read-body.ts';
import { addRoute } from './routes.ts';
import { unsubscribedPage, unsubscribePage } from './unsubscribe-page.ts';

export interface UnsubscribeRoutes { engine: Engine; site: Site; unsubscribesPerMinute?: { address: number; link: number } | undefined }

/** Links that lead nowhere, by client address; requests about one good link. */
const DEFAULT_LIMITS = { address: 60, link: 30 };

type ForToken = RequestHandler<{ token: string }>;

/** The same for a link that never was, was changed or is too old. */
const notValid = (): Problem => new Problem({ status: 404, code: 'link_not_valid', detail: 'This link to unsubscribe is not whole, or too old. Use the one in the newest message, or write to its sender.' });
const notOneClick = (): Problem => new Problem({ status: 400, code: 'one_click_missing', detail: `This changes nothing without its field. Post ${ONE_CLICK.name}=${ONE_CLICK.value} as a form.` });

/** The page behind a link to unsubscribe, and the one click (RFC 8058): no cookie, no login, no redirect. */
export const addUnsubscribeRoutes = (router: Router, { engine, site, unsubscribesPerMinute = DEFAULT_LIMITS }: UnsubscribeRoutes): void => {
  const limits = createReportLimits(unsubscribesPerMinute);

  const find: ForToken = async (request, response, next) => {
    response.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', 'X-Robots-Tag': 'noindex, nofollow' });
    const { token } = request.params;
    const found = readUnsubscribeToken(engine, token);
    if (found === null) {
      await limits.byAddress(request.ip ?? 'unknown');
      throw notValid();
    }
    // Not by address: a mail provider posts for all its readers from a few.
    await limits.byLink(token);
    (response.locals as { unsubscription?: Unsubscription }).unsubscription = found;
    next();
  };
  const show: ForToken = (request, response) => {
    response.type('html').send(unsubscribePage(site, request.params.token));
  };
  const post: ForToken = async (request, response) => {
    if (!isOneClick(String(request.body))) throw notOneClick();
    const { unsubscription } = response.locals as { unsubscription?: Unsubscription };
    if (unsubscription) await unsubscribe(engine, unsubscription);
    if (wantsHtml(request)) response.type('html').send(unsubscribedPage(site));
    else response.json({ status: 'unsubscribed' });
  };
  const handlers = (...all: ForToken[]): RequestHandler[] => all as unknown as RequestHandler[];
  addRoute(router, '/unsubscribe/:token', { get: handlers(find, show), post: [...handlers(find), textBody, ...handlers(post)] });
};
