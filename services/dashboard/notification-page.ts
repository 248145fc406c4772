import type { AttemptState } from '../../shared/domain/state.ts';
import { reasonBy } from '../../shared/domain/reasons.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import type { EntryRecord } from '../../shared/ledger/reads.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { STATUS_WORDS, toldHtml } from './notification-words.ts';
import type { ShownNotification } from './notification-view.ts';
import { redrawMs, tagOfShown } from './notification-view.ts';
import type { ActionsView } from './actions-section.ts';
import { actionsHold, actionsSection, hasForms } from './actions-section.ts';
import { actsSection, byWhom, deadLetterWords, toldSection } from './acts-section.ts';
import { riskSection } from './risk-section.ts';
import { badge, facts, page, shownTime, table } from './page.ts';
import { timeline } from './timeline.ts';

const dash = '<span class="soft">-</span>';
const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;

const reasonOf = ({ reason }: AttemptState): string =>
  (reason === null ? dash : `${code(reason)}<br><span class="soft">${reasonBy(reason) === 'provider' ? 'the provider said so' : 'Tocsin says so'}</span>`);

const attemptRow = (attempt: AttemptState): string[] => [
  `${escapeHtml(attempt.channel)} ${attempt.sequence}`, badge(attempt.state), reasonOf(attempt), shownTime(attempt.plannedAt), shownTime(attempt.submittedAt),
  shownTime(attempt.decisionDeadlineAt), shownTime(attempt.settledAt),
];

/** Instants stand in the details as integers; people read dates. */
const detailText = (name: string, value: unknown): string =>
  (/(_at|_until|^until)$/.test(name) && typeof value === 'number' ? new Date(value).toISOString() : typeof value === 'string' ? value : JSON.stringify(value));

const detailsOf = (entry: EntryRecord): string => {
  const { details } = JSON.parse(entry.body) as { details: Record<string, unknown> };
  const shown = Object.entries(details).filter(([name]) => name !== 'attempt');
  return shown.length === 0 ? dash : `<div class="details">${shown.map(([name, value]) => `<span><span class="soft">${escapeHtml(name)}</span> ${code(detailText(name, value))}</span>`).join('')}</div>`;
};

const entryRow = (entry: EntryRecord): string[] => [
  String(entry.version), shownTime(entry.at.getTime()), `<strong>${escapeHtml(entry.kind)}</strong>`,
  entry.attemptKey === null ? dash : escapeHtml(entry.attemptKey.split('.').slice(1).join(' ')),
  `${escapeHtml(entry.fromState ?? 'new')} → ${escapeHtml(entry.toState)}`, escapeHtml(entry.actor), detailsOf(entry),
];

const standing = (shown: ShownNotification): string => {
  const { state } = shown;
  const status = publicStatus(state);
  const also = [
    state.rejected && `Refused: ${code(state.rejected)}.`, state.paused && `Paused ${byWhom(shown, 'pause', state.paused.reason)}: nothing is started, polls and expiry go on.`,
    state.closed && `Closed ${byWhom(shown, 'close', state.closed.reason)}.`, state.erased?.recipient !== undefined && 'The recipient was erased.', state.erased?.player !== undefined && 'The player who wrote the ticket was erased.', ...deadLetterWords(shown),
  ].filter(Boolean);
  return `<div class="standing-now"><p>${badge(status)}</p><p>${STATUS_WORDS[status]}${also.length > 0 ? ` ${also.join(' ')}` : ''}</p></div>`;
};

const factsOf = ({ record, state }: ShownNotification): string => facts([
  ['Purpose', `${escapeHtml(record.purpose)}, policy version ${record.policyVersion}`], ['Region', escapeHtml(record.region)], ['Urgency', escapeHtml(record.urgency)],
  ['Requested', shownTime(record.requestedAt.getTime())], ['Expires', shownTime(record.expiresAt.getTime())],
  ['Closed', state.closed ? `${code(state.closed.reason)} ${shownTime(state.closed.at)}` : 'no'], ['Settled', shownTime(state.settledAt)], ['Version', String(state.version)],
]);

const why = ({ channels, explanation, record }: ShownNotification): string => (explanation.length === 0 ? '<p class="soft">There is nothing to explain yet.</p>'
  : `<ul class="answers">${channels.map(({ text }) => `<li>${toldHtml(text, record.requestedAt.getTime())}</li>`).join('')}</ul>
<h3>What happened</h3><ol class="told">${explanation.map((one) => `<li>${toldHtml(one, record.requestedAt.getTime())}</li>`).join('')}</ol>`);

const part = (name: string, html: string, hold = ''): string => `<section data-live="${name}"${hold === '' ? '' : ` data-hold="${escapeHtml(hold)}"`}>${html}</section>`;

/** What there is to show, and to whom. */
export interface PageView extends Omit<ActionsView, 'shown'> { /** Does not update by itself. */ still?: boolean; /** The form that was just sent. */ told?: string }

/** What changes while it runs, in parts, so that only a changed one is put in place. */
export const liveParts = (shown: ShownNotification, view: PageView): string => {
  const { state, entries, picture, record } = shown;
  const open = state.settledAt === null;
  const eventId = escapeHtml(record.eventId);
  return `<div id="live" data-open="${open ? 1 : 0}" data-every="1000" data-from="/notifications/${eventId}/live" data-tag="${escapeHtml(tagOfShown(shown))}">
${part('standing', standing(shown))}
${part('risk', riskSection(shown))}
${part('actions', actionsSection({ ...view, shown }), actionsHold({ ...view, shown }))}
${part('acts', actsSection(shown))}
<h2>Why</h2>${part('why', why(shown))}
<h2 id="timeline">Timeline</h2>${part('picture', timeline(picture))}
<h2>Facts</h2>${part('facts', factsOf(shown))}
<h2>Attempts</h2>${part('attempts', table('In the order in which they were planned', ['Channel', 'Outcome', 'Reason', 'Planned', 'Submitted', 'Deadline', 'Settled'], state.attempts.map(attemptRow)))}
<h2>Ledger</h2>${part('entries', `<details id="entries"><summary id="entries-summary">Every entry, oldest first (${entries.length})</summary>${table('Append-only: what is written here stays', ['Version', 'At', 'Entry', 'Attempt', 'From, to', 'Actor', 'Details'], entries.map(entryRow))}</details>`)}
</div>`;
};

const liveLine = (eventId: string, open: boolean, { still, looker }: PageView): string => {
  if (!open) return '<p class="soft">Settled: nothing more happens by itself.</p>';
  return still ? `<p class="soft">This page stands still.</p> <a href="/notifications/${eventId}">Update by itself</a>`
    : `<p id="live-state" class="soft" role="status">${hasForms(looker) ? 'Without script this page stands still.' : 'Updates by itself.'}</p> ${hasForms(looker) ? `<noscript><a href="/notifications/${eventId}">Load it again</a></noscript>` : ''} <a href="/notifications/${eventId}?still=1">Stop updating</a>`;
};

/** A notification's whole record: where it stands, what may be done, drawn and in words, its attempts and every entry. */
export const notificationPage = (shown: ShownNotification, view: PageView): string => {
  const { record, state, hasTicket } = shown;
  const eventId = escapeHtml(record.eventId);
  const open = state.settledAt === null;
  const updating = open && !view.still;
  // Loaded anew by itself, a page would take away what somebody writes.
  const reloads = updating && !hasForms(view.looker);
  const parts = liveParts(shown, view);
  return page('Notification', `<h1>Notification</h1>
<div class="idline"><code id="event-id">${eventId}</code><button type="button" id="copy-id" data-copy="${eventId}" hidden>Copy</button>${hasTicket ? `<a href="/tickets/${eventId}">Ticket: what the player wrote</a>` : ''}
<a href="/notifications/${eventId}/view">As the API gives it</a><a href="/notifications/${eventId}/timeline.svg">The picture as a file</a></div>
<div class="live">${liveLine(eventId, open, view)}<a href="#timeline" class="jump">To the timeline</a></div>
${view.problem === undefined ? '' : `<p class="problem" role="alert">${escapeHtml(view.problem.problem)}</p>`}${view.told === undefined ? '' : toldSection(shown, { told: view.told, user: view.looker.user })}
${updating ? parts : parts.replace('data-open="1"', 'data-open="0"')}`,
  `${reloads ? `<noscript><meta http-equiv="refresh" content="${redrawMs(publicStatus(state)) / 1_000}"></noscript>` : ''}<script src="/dashboard.js" defer></script>`);
};
