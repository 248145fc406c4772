import type { AuditRecord } from '../../shared/ledger/audit-entries.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { page, shownTime, table } from './page.ts';

export interface AuditQuery { actor: string; action: string; since: string; before: string | undefined }
export interface AuditView { rows: readonly AuditRecord[]; /** The id to go on below; null at the end. */ older: string | null; query: AuditQuery; actions: readonly string[]; problem?: string | undefined }

const soft = (text: string | null): string => (text === null ? '<span class="soft">-</span>' : escapeHtml(text));

const pathOf = ({ actor, action, since }: AuditQuery, before?: string): string => {
  const query = new URLSearchParams(Object.entries({ actor, action, since, before: before ?? '' }).filter(([, value]) => value !== ''));
  return query.size === 0 ? '/audit' : `/audit?${query.toString()}`;
};

const form = ({ query, actions, problem }: AuditView): string => `<form method="get" action="/audit" class="filters" role="search">
<div><label for="actor">Who</label><input id="actor" name="actor" value="${escapeHtml(query.actor)}" maxlength="64" autocomplete="off" spellcheck="false"></div>
<div><label for="action">What</label><select id="action" name="action"><option value="">Anything</option>${actions.map((one) => `<option${one === query.action ? ' selected' : ''}>${one}</option>`).join('')}</select></div>
<div><label for="since">Since (UTC)</label><input id="since" name="since" value="${escapeHtml(query.since)}" placeholder="2026-11-29T08:00Z" autocomplete="off"${problem === undefined ? '' : ' aria-invalid="true" aria-describedby="since-problem"'}></div>
<button type="submit">Show</button></form>${problem === undefined ? '' : `<p class="problem" id="since-problem" role="alert">${escapeHtml(problem)}</p>`}`;

const rowOf = (row: AuditRecord): string[] => [
  shownTime(row.at), escapeHtml(row.actor) + (row.role === null ? '' : ` <span class="soft">${row.role}</span>`), `<code>${escapeHtml(row.action)}</code>`, `<code>${escapeHtml(row.target)}</code>`,
  escapeHtml(row.result.replaceAll('_', ' ')), soft(row.reason), `${row.via}${row.session === null ? '' : ` <code>${row.session}</code>`}${row.client === null ? '' : ` <span class="soft">from <code>${row.client.slice(0, 8)}</code></span>`}`, `<code>${row.id}</code>`,
];

/** The trail, newest first, a page at a time. */
export const auditPage = (view: AuditView): string => {
  const { rows, older, query } = view;
  const pager = [...(query.before === undefined ? [] : [`<a href="${escapeHtml(pathOf(query))}">Newest</a>`]), ...(older === null ? [] : [`<a href="${escapeHtml(pathOf(query, older))}" rel="next">Older</a>`])];
  return page('Audit trail', `<h1>Audit trail</h1>
<p>Every login and every change by a person; also that you read this. Names, codes and ids only.</p>
${form(view)}
${rows.length === 0 ? '<p>None fits. <a href="/audit">See all</a></p>' : table('Newest first', ['When', 'Who', 'What', 'About', 'Result', 'Reason', 'By way of', 'Entry'], rows.map(rowOf))}
${pager.length === 0 ? '' : `<nav class="pager" aria-label="Pages">${pager.join('')}</nav>`}`);
};
