import { escapeHtml } from '../../shared/http/escape-html.ts';

const NAVIGATION = '<a href="/" class="home">Tocsin</a><a href="/">Notifications</a><a href="/at-risk">At risk</a><a href="/templates">Templates</a><a href="/queues">Queues</a><a href="/account">Account</a>';
/** For whoever is not signed in. */
export const BARE = '<a href="/" class="home">Tocsin</a>';

/** A whole page around its content, which is HTML already; so is what else belongs into its head. */
export const page = (title: string, main: string, head = '', navigation = NAVIGATION): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} - Tocsin</title><link rel="stylesheet" href="/dashboard.css"><link rel="icon" href="data:,">${head}</head>
<body><header class="top"><nav aria-label="Dashboard">${navigation}</nav></header><main>
${main}
</main></body></html>`;

/** An instant in UTC, to the millisecond: entries are often closer than a second. Null is a dash. */
export const shownTime = (at: number | null): string => {
  if (at === null) return '<span class="soft">-</span>';
  const iso = new Date(at).toISOString();
  return `<time datetime="${iso}">${iso.slice(0, 10)} <b>${iso.slice(11, 23)}</b> UTC</time>`;
};

/** How long ago that was, or how far it is ahead; the exact instant as its title. Null is a dash. */
export const relativeTime = (at: number | null, now: number): string => {
  if (at === null) return '<span class="soft">-</span>';
  const distance = Math.abs(now - at);
  const [size, unit] = ([[86_400_000, 'd'], [3_600_000, 'h'], [60_000, 'min'], [1_000, 's']] as const).find(([ms]) => distance >= ms) ?? [1_000, 's'];
  const words = distance < 1_000 ? 'now' : at <= now ? `${Math.floor(distance / size)} ${unit} ago` : `in ${Math.floor(distance / size)} ${unit}`;
  const iso = new Date(at).toISOString();
  return `<time datetime="${iso}" title="${iso.slice(0, 10)} ${iso.slice(11, 23)} UTC">${words}</time>`;
};

/** A status with its colour. */
export const badge = (status: string): string => `<span class="badge ${/^[a-z_]+$/.test(status) ? status : ''}">${escapeHtml(status.replaceAll('_', ' '))}</span>`;

/**
 * A table whose rows become cards on a narrow screen; the roles keep it a table there. `rows` hold HTML.
 */
export const table = (caption: string, columns: string[], rows: string[][]): string => {
  if (rows.length === 0) return '<p class="soft">Nothing yet.</p>';
  const heads = columns.map((name) => `<th role="columnheader" scope="col">${escapeHtml(name)}</th>`).join('');
  const body = rows.map((cells) => `<tr role="row">${cells.map((cell, index) => `<td role="cell" data-label="${escapeHtml(columns[index] ?? '')}"><div>${cell}</div></td>`).join('')}</tr>`);
  return `<table role="table"><caption>${escapeHtml(caption)}</caption><thead role="rowgroup"><tr role="row">${heads}</tr></thead><tbody role="rowgroup">${body.join('\n')}</tbody></table>`;
};

/** Names and values; the values are HTML. */
export const facts = (pairs: [name: string, html: string][]): string =>
  `<dl>${pairs.map(([name, html]) => `<dt>${escapeHtml(name)}</dt><dd>${html}</dd>`).join('')}</dl>`;
