import type { AttemptState } from '../../shared/domain/state.ts';
import { reasonBy } from '../../shared/domain/reasons.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import type { EntryRecord, NotificationRecord } from '../../shared/ledger/reads.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { badge, facts, page, shownTime, table } from './page.ts';

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

/** A notification's whole record: state, attempts and every entry of its ledger. */
export const notificationPage = (record: NotificationRecord, entries: EntryRecord[], hasTicket: boolean): string => {
  const { state, updatedAt } = record.current;
  return page('Notification', `<h1>Notification ${escapeHtml(record.eventId)}</h1>
${facts([
    ['Status', `${badge(publicStatus(state))}${state.rejected ? ` ${code(state.rejected)}` : ''}`], ['Purpose', `${escapeHtml(record.purpose)}, policy version ${record.policyVersion}`],
    ['Region', escapeHtml(record.region)], ['Urgency', escapeHtml(record.urgency)], ['Requested', shownTime(record.requestedAt.getTime())], ['Expires', shownTime(record.expiresAt.getTime())],
    ['Closed', state.closed ? `${code(state.closed.reason)} ${shownTime(state.closed.at)}` : 'no'], ['Changed', shownTime(updatedAt.getTime())],
    ...(hasTicket ? [['Ticket', `<a href="/tickets/${escapeHtml(record.eventId)}">What the player wrote</a>`] as [string, string]] : []),
  ])}
<h2>Attempts</h2>${table('In the order in which they were planned', ['Channel', 'Outcome', 'Reason', 'Planned', 'Submitted', 'Deadline', 'Settled'], state.attempts.map(attemptRow))}
<h2>Ledger</h2>${table('Every entry, oldest first', ['Version', 'At', 'Entry', 'Attempt', 'From, to', 'Actor', 'Details'], entries.map(entryRow))}`);
};
