import type { Site } from './page.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { page } from './page.ts';
import type { ProblemDetails } from './problem.ts';

const HEADINGS: Readonly<Record<number, string>> = {
  400: 'That could not be read', 404: 'There is nothing here', 405: 'That does not work here', 413: 'That is too long', 415: 'That could not be read',
  429: 'Too many at once', 503: 'Not available for a moment',
};

/** An error for a person: what happened, what to do, and the id to ask with. */
export const errorPage = (site: Site, details: ProblemDetails, requestId: string): string => {
  const heading = HEADINGS[details.status] ?? (details.status >= 500 ? 'Something went wrong' : 'That did not work');
  return page(site, {
    title: heading,
    main: `<h1>${heading}</h1><p>${escapeHtml(details.detail)}</p><p><a href="${escapeHtml(site.basePath)}/">Write to support</a></p>
<p class="soft">Request <code>${escapeHtml(requestId)}</code></p>`,
  });
};
