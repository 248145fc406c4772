import type { PublicStatus } from '../../shared/domain/words.ts';
import type { ListedNotifications, NotificationFilter } from '../../shared/ledger/list-notifications.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { STATUS_WORDS } from './notification-words.ts';
import { badge, page, relativeTime, shownTime, table } from './page.ts';

export interface ListView { listed: ListedNotifications; filter: NotificationFilter; purposes: string[]; now: number; problem?: string | undefined; search?: string | undefined }

const link = (kind: 'tickets' | 'notifications', eventId: string, html: string): string => `<a href="/${kind}/${escapeHtml(eventId)}">${html}</a>`;

const choices = (values: readonly string[], chosen: string | undefined, all: string): string =>
  [`<option value="">${all}</option>`, ...values.map((value) => `<option value="${escapeHtml(value)}"${value === chosen ? ' selected' : ''}>${escapeHtml(value.replaceAll('_', ' '))}</option>`)].join('');

const queryOf = (filter: NotificationFilter, before?: string): string => {
  const query = new URLSearchParams();
  if (filter.status !== undefined) query.set('status', filter.status);
  if (filter.purpose !== undefined) query.set('purpose', filter.purpose);
  if (filter.throttled) query.set('throttled', 'yes');
  if (before !== undefined) query.set('before', before);
  return query.size === 0 ? '/' : `/?${query.toString()}`;
};

const form = ({ filter, purposes, search, problem }: ListView): string => `<form method="get" action="/" class="filters" role="search">
<div class="wide-field"><label for="event">Event id</label><input id="event" name="event" value="${escapeHtml(search ?? '')}" placeholder="evt_…" autocomplete="off" spellcheck="false"${problem === undefined ? '' : ' aria-invalid="true" aria-describedby="event-problem" autofocus'}></div>
<div><label for="status">Status</label><select id="status" name="status">${choices(Object.keys(STATUS_WORDS) as PublicStatus[], filter.status, 'Any')}</select></div>
<div><label for="purpose">Purpose</label><select id="purpose" name="purpose">${choices(purposes, filter.purpose, 'Any')}</select></div>
<div><label for="throttled">Throttle</label><select id="throttled" name="throttled"><option value="">Any</option><option value="yes"${filter.throttled ? ' selected' : ''}>beyond it</option></select></div>
<button type="submit">Show</button></form>${problem === undefined ? '' : `<p class="problem" id="event-problem" role="alert">${escapeHtml(problem)}</p>`}`;

const empty = ({ filter, listed }: ListView): string => {
  const filtered = filter.status !== undefined || filter.purpose !== undefined || filter.throttled === true;
  if (filtered && listed.older !== null) return '<p>None among those that were looked at. Older ones may fit.</p>';
  if (filtered) return '<p>None fits. <a href="/">See all</a></p>';
  return filter.before === undefined ? '<p>Nothing was accepted yet. As soon as a form or a program hands a notification over, it is listed here.</p>' : '<p>There is nothing older. <a href="/">Back to the newest</a></p>';
};

/** What of this page went to one on-call beyond a throttle; a line for each of them. */
const floods = ({ listed: { rows }, filter }: ListView): string => {
  const beyond = rows.filter(({ throttled, category, recipient }) => throttled && category !== null && recipient !== null);
  const lines = [...new Set(beyond.map(({ recipient }) => recipient))].map((recipient) => {
    const theirs = beyond.filter((one) => one.recipient === recipient);
    const since = Math.min(...theirs.map(({ requestedAt }) => requestedAt));
    const one = theirs.length === 1;
    return `<p>${theirs.length} ticket${one ? '' : 's'} to one on-call since ${shownTime(since)} went beyond the throttle: ${one ? 'it is' : 'they are'} told by the other channels of the policy.${filter.throttled ? '' : ` <a href="${escapeHtml(queryOf({ ...filter, throttled: true }))}">Show these</a>`}</p>`;
  });
  return lines.join('');
};

/** Notifications, newest first, with their tickets; by status and purpose, a page at a time. */
export const listPage = (view: ListView): string => {
  const { listed, filter, now } = view;
  const rows = listed.rows.map((one) => [
    relativeTime(one.requestedAt, now), link('notifications', one.eventId, `<code>${escapeHtml(one.eventId)}</code>`), `${badge(one.status)}${one.throttled ? ' <span class="soft">throttled</span>' : ''}`,
    one.category === null ? '<span class="soft">-</span>' : link('tickets', one.eventId, escapeHtml(one.category.replaceAll('_', ' '))),
    escapeHtml(one.purpose), escapeHtml(one.region), escapeHtml(one.urgency), relativeTime(one.updatedAt, now),
  ]);
  const pager = [
    ...(filter.before === undefined ? [] : [`<a href="${escapeHtml(queryOf(filter))}">Newest</a>`]),
    ...(listed.older === null ? [] : [`<a href="${escapeHtml(queryOf(filter, listed.older))}" rel="next">Older</a>`]),
  ];
  return page('Notifications', `<h1>Notifications</h1>
${form(view)}${floods(view)}
${rows.length === 0 ? empty(view) : table(filter.before === undefined ? 'Newest first' : 'Newest first, from further back', ['Requested', 'Notification', 'Status', 'Ticket', 'Purpose', 'Region', 'Urgency', 'Changed'], rows)}
${pager.length === 0 ? '' : `<nav class="pager" aria-label="Pages">${pager.join('')}</nav>`}`);
};
