import { escapeHtml } from '../../shared/http/escape-html.ts';

/** Where the pages are reached. */
export interface Site {
  /** Absolute base of links that leave the house, without a slash at its end. */
  publicUrl: string;
  /** Path of that base, without a slash at its end; links inside a page start with it, so that they work under any host name. */
  basePath: string;
}

/** A site by its base. @throws TypeError where that is no URL. */
export const siteAt = (url: string): Site => {
  const publicUrl = url.replace(/\/+$/, '');
  return { publicUrl, basePath: new URL(publicUrl).pathname.replace(/\/+$/, '') };
};

export interface PageContent {
  title: string; main: string; refreshSeconds?: number | undefined;
  /** What stands over the page in place of the way to the support form. */
  header?: string;
}

/** A whole page around its content, which is HTML already. */
export const page = (site: Site, { title, main, refreshSeconds, header }: PageContent): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><meta name="color-scheme" content="light dark">${refreshSeconds === undefined ? '' : `<meta http-equiv="refresh" content="${refreshSeconds}">`}
<title>${escapeHtml(title)}</title><link rel="stylesheet" href="${escapeHtml(site.basePath)}/pages.css"><link rel="icon" href="data:,"></head>
<body><header class="top">${header === undefined ? `<a href="${escapeHtml(site.basePath)}/">Player support</a>` : `<span>${escapeHtml(header)}</span>`}</header>
<main>
${main}
</main></body></html>`;

/** An instant for people, in UTC. */
export const shownTime = (at: number): string => {
  const iso = new Date(at).toISOString();
  return `<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
};
