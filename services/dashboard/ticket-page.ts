import type { PublicStatus } from '../../shared/domain/words.ts';
import type { TicketRecord } from '../../shared/ledger/reads.ts';
import { maskDestination } from '../../shared/security/redact.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { badge, facts, page, shownTime } from './page.ts';

/** What the player wrote and gave, as it was sealed. */
export interface TicketContent { message: string; playerRef: string; contact: { sms: string | null; email: string | null } }

const contactOf = ({ sms, email }: TicketContent['contact']): string =>
  [sms && maskDestination('sms', sms), email && maskDestination('email', email)].filter((one): one is string => Boolean(one)).map(escapeHtml).join(', ') || '<span class="soft">none given</span>';

/** One ticket, the player's words first; `content` is null once it was erased. */
export const ticketPage = (ticket: TicketRecord, status: PublicStatus, content: TicketContent | null): string => page('Ticket', `<h1>Ticket: ${escapeHtml(ticket.category.replaceAll('_', ' '))}</h1>
<div class="idline"><code>${escapeHtml(ticket.eventId)}</code>${badge(status)}<a href="/notifications/${escapeHtml(ticket.eventId)}">What was sent, when and why</a></div>
<h2>What the player wrote</h2>${content ? `<div class="words" dir="auto">${escapeHtml(content.message)}</div>` : '<p class="soft">The text was erased.</p>'}
<h2>Facts</h2>${facts([
    ['Category', `<code>${escapeHtml(ticket.category)}</code>`], ['Queue', escapeHtml(ticket.queue)], ['Urgency', escapeHtml(ticket.urgency)],
    ['Region', escapeHtml(ticket.region)], ['Language', escapeHtml(ticket.locale)], ['Received', shownTime(ticket.receivedAt.getTime())],
    ['Player', content ? `<bdi>${escapeHtml(content.playerRef)}</bdi>` : '<span class="soft">erased</span>'],
    ['Contact', content ? contactOf(content.contact) : '<span class="soft">erased</span>'],
  ])}`);
