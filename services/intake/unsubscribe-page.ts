import { escapeHtml } from '../../shared/http/escape-html.ts';
import { ONE_CLICK } from './one-click.ts';
import type { Site } from './page.ts';
import { page } from './page.ts';

const STILL = 'Messages that you ask for yourself, such as a new password, still come.';

/** The page behind a link to unsubscribe: one button, which posts what a mail program would. Showing it changes nothing. */
export const unsubscribePage = (site: Site, token: string): string => page(site, {
  title: 'Unsubscribe',
  main: `<h1>Unsubscribe</h1>
<form class="card" method="post" action="${escapeHtml(`${site.basePath}/unsubscribe/${encodeURIComponent(token)}`)}"><p>Do you want no more of these emails? ${STILL}</p>
<input type="hidden" name="${ONE_CLICK.name}" value="${ONE_CLICK.value}"><button type="submit">Unsubscribe</button></form>
<p class="soft next">Nothing has changed yet.</p>`,
});

/** What whoever unsubscribed is told, the first time and every time after it. */
export const unsubscribedPage = (site: Site): string => page(site, {
  title: 'Unsubscribed',
  main: `<h1>Unsubscribe</h1><div class="card" role="status"><p class="state good">You are unsubscribed</p><p>No more of these emails are sent to you. ${STILL}</p></div>`,
});
