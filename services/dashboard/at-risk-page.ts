import type { RiskList, RiskRow } from '../../shared/delivery/at-risk.ts';
import type { RiskKind } from '../../shared/domain/at-risk.ts';
import { NEXT_ACTIONS } from '../../shared/domain/next-action.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { badge, page, relativeTime, shownTime, table } from './page.ts';

export interface AtRiskView { list: RiskList; search: string | null; /** The event id that was searched for in vain, and whether there is such a notification. */ named: { eventId: string; exists: boolean } | null }

/** What a finding means, in a sentence. */
export const RISK_WORDS: Readonly<Record<RiskKind, string>> = {
  at_risk: 'Near its deadline, and nothing under way can reach the recipient.',
  reserve_used: 'Nothing under way can reach the recipient, and the time kept for it runs.',
  stalled: 'What was due did not come to pass.',
  not_dispatched: 'A channel was started, and nothing of it was submitted.',
  unknown_too_long: 'Whether it was sent is unknown for longer than it should be.',
  delivered_after_close: 'Delivered after it had been closed.',
};

const rowOf = (now: number) => (row: RiskRow): string[] => [
  relativeTime(row.since, now), `<a href="/notifications/${escapeHtml(row.eventId)}"><code>${escapeHtml(row.eventId)}</code></a>`,
  `${badge(row.kind)}<br><span class="soft">${RISK_WORDS[row.kind]}</span>`, `${escapeHtml(row.purpose)}<br><span class="soft">${escapeHtml(row.region)}, ${escapeHtml(row.urgency)}</span>`,
  row.channels.map(escapeHtml).join('<br>'), relativeTime(row.lastReadAt, now), relativeTime(row.expiresAt, now), escapeHtml(NEXT_ACTIONS[row.action]),
];

const empty = ({ search, named }: AtRiskView): string => {
  if (search === null) return '<p>Nothing is at risk. What goes its way is not listed here.</p>';
  const words = named === null ? 'Nothing is found of it now.' : named.exists
    ? `Nothing is found of it now. <a href="/notifications/${escapeHtml(named.eventId)}">See the notification</a>.` : 'There is no such notification.';
  return `<p>${words} <a href="/at-risk">See all that is at risk</a>.</p>`;
};

const counted = ({ list: { rows, count, more } }: AtRiskView): string =>
  `<p id="count">${count === 1 ? 'One finding' : `${count} findings`}${more ? ' among the oldest; there are more' : ''}${rows.length < count ? `; the oldest ${rows.length} are shown` : ''}.</p>`;

/** What an operator should look at, the oldest first. Count and rows come from one query. */
export const atRiskPage = (view: AtRiskView): string => {
  const { list: { rows, now }, search } = view;
  return page('At risk', `<h1>At risk</h1>
<form method="get" action="/at-risk" class="filters" role="search">
<div class="wide-field"><label for="q">Event id, recipient reference or request id</label><input id="q" name="q" value="${escapeHtml(search ?? '')}" autocomplete="off" spellcheck="false"></div>
<button type="submit">Search</button></form>
${rows.length === 0 ? empty(view) : `${counted(view)}${table('Oldest first', ['Since', 'Notification', 'Finding', 'Purpose', 'Channels', 'Last read', 'Deadline', 'Next'], rows.map(rowOf(now)))}`}
<p class="soft">As of ${shownTime(now)}. <a href="/at-risk/view${search === null ? '' : `?q=${encodeURIComponent(search)}`}">As the API gives it</a></p>`);
};
