import type { listNotifications, listTickets } from '../../shared/ledger/reads.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { badge, page, shownTime, table } from './page.ts';

type Tickets = Awaited<ReturnType<typeof listTickets>>;
type Notifications = Awaited<ReturnType<typeof listNotifications>>;

const link = (kind: 'tickets' | 'notifications', eventId: string): string => `<a href="/${kind}/${escapeHtml(eventId)}"><code>${escapeHtml(eventId)}</code></a>`;

/** The newest tickets and notifications with their status. */
export const listPage = (tickets: Tickets, notifications: Notifications): string => page('Newest', `<h1>Newest</h1>
<h2>Tickets</h2>${table('Newest first', ['Received', 'Ticket', 'Category', 'Queue', 'Region', 'Urgency', 'Status'], tickets.map((ticket) => [
    shownTime(ticket.receivedAt.getTime()), link('tickets', ticket.eventId), escapeHtml(ticket.category), escapeHtml(ticket.queue), escapeHtml(ticket.region),
    escapeHtml(ticket.urgency), badge(ticket.notification.current?.status ?? 'accepted'),
  ]))}
<h2>Notifications</h2>${table('Newest first', ['Requested', 'Notification', 'Purpose', 'Region', 'Urgency', 'Status', 'Changed'], notifications.map((one) => [
    shownTime(one.requestedAt.getTime()), link('notifications', one.eventId), escapeHtml(one.purpose), escapeHtml(one.region), escapeHtml(one.urgency),
    badge(one.current?.status ?? 'accepted'), shownTime(one.current?.updatedAt.getTime() ?? null),
  ]))}`);
