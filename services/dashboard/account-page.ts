import type { OpenSession } from '../../shared/ledger/operator-sessions.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import type { Role } from './board-rules.ts';
import { facts, page, shownTime } from './page.ts';
import { TOKEN_FIELD } from './same-origin.ts';

/** What a form needs to be taken. */
export const tokenField = (token: string | null): string => `<input type="hidden" name="${TOKEN_FIELD}" value="${escapeHtml(token ?? '')}">`;

const MAY: Readonly<Record<Role, string>> = {
  viewer: 'reads everything, and changes nothing', operator: 'reads everything, retries and discards dead letters, closes, pauses and resumes notifications', admin: 'does what an operator does, and reads the audit trail',
};

/** Who is signed in, and the way out. */
export const accountPage = ({ user, role, session, token }: { user: string; role: Role; session: OpenSession | null; token: string | null }): string => page('Account', `<h1>Signed in as ${escapeHtml(user)}</h1>
${facts([['Role', `<strong>${role}</strong>: ${MAY[role]}`], ...(session ? [['Since', shownTime(session.createdAt)], ['Ends', `${shownTime(session.expiresAt)}, or two hours after it was last used`]] as [string, string][] : [['By', 'HTTP Basic, which may only read'] as [string, string]])])}
${role === 'admin' ? '<p><a href="/audit" class="button">Audit trail</a></p>' : ''}
${session === null ? '' : `<form method="post" action="/logout" class="reason">${tokenField(token)}
<p class="buttons"><button type="submit">Sign out</button> <button type="submit" name="everywhere" value="1">Sign out everywhere</button></p></form>`}
<p class="soft">Password and role are changed on the command line, by <code>tocsin operator</code>; that ends every session of yours.</p>`);
