import { LONGEST_REASON } from '../../shared/config/reason-text.ts';
import { CLOSE_CODES } from '../../shared/delivery/close-notification.ts';
import type { Permitted } from '../../shared/domain/permitted.ts';
import { findAttempt } from '../../shared/domain/state.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { tokenField } from './account-page.ts';
import type { Role } from './board-rules.ts';
import { mayChange } from './board-rules.ts';
import type { ShownNotification } from './notification-view.ts';
import { breachInShort, pausePreviewSection } from './pause-preview.ts';
import { OFFER_REFUSALS, offeredActions } from './offered-actions.ts';
import type { Offered } from './offered-actions.ts';

/** Who looks at the page. */
export interface Looker { user: string; role: Role; token: string | null }
/** A form that came back: why, and what stood in it. `inField`: because of what stood in it. */
export interface FormProblem { act: Permitted['action']; attempt: Permitted['attempt']; problem: string; given: string; inField: boolean }

/** Whether forms are for whoever looks: by his role, and because a session has a token for them. */
export const hasForms = ({ role, token }: Looker): boolean => mayChange(role) && token !== null;

const NAMES: Readonly<Record<Permitted['action'], string>> = { close: 'Close', pause: 'Pause', resume: 'Resume', retry: 'Retry' };
const partOf = (attempt: string | null): string[] => attempt?.split('.').slice(1) ?? [];
const nameOf = ({ action, attempt }: Pick<Permitted, 'action' | 'attempt'>): string => [NAMES[action], ...partOf(attempt)].join(' ');
const idOf = ({ action, attempt }: Pick<Permitted, 'action' | 'attempt'>): string => ['act', action, ...partOf(attempt)].join('-');

const codes = (...list: string[]): string => list.map((code) => `<code>${code}</code>`).join(', ');
const HELP: Readonly<Record<Permitted['action'], string>> = {
  close: codes(...CLOSE_CODES), pause: codes('maintenance', 'incident', 'wrong_person'), resume: codes('checked', 'done'), retry: codes('checked', 'provider_trouble', 'incident'),
};

const effectOf = ({ action, attempt }: Offered, { state }: ShownNotification): string => {
  switch (action) {
    case 'close': return 'Nothing is submitted any more, and nobody is told of it again. It cannot be opened again.';
    case 'pause': return 'Nothing is started until it is resumed. Status reads and the expiry go on.';
    case 'resume': return 'It goes on. What fell due meanwhile is decided at once.';
    case 'retry': return attempt !== null && findAttempt(state, attempt)?.state === 'submitted_unknown'
      ? 'It is looked for at its provider, or sent again under the same key, which the provider recognises. Never blindly.' : 'A further attempt is planned, with a key of its own.';
  }
};

/** The newest act that the page shows: a form brings it back, so that one who acts on an old page is told. */
export const seenIn = ({ acts }: ShownNotification): number => acts.at(-1)?.version ?? 0;

const fieldOf = (one: Offered, view: ActionsView): string => {
  const { shown, looker, problem } = view;
  const id = idOf(one);
  const back = problem !== undefined && idOf({ action: problem.act, attempt: problem.attempt }) === id ? problem : null;
  return `<form method="post" action="/notifications/${escapeHtml(shown.record.eventId)}/${one.action}" class="reason">${tokenField(looker.token)}<input type="hidden" name="seen" value="${seenIn(shown)}">${one.attempt === null ? '' : `<input type="hidden" name="attempt" value="${escapeHtml(one.attempt)}">`}
<label for="${id}-reason">Why?</label>
<input id="${id}-reason" name="reason" required maxlength="${LONGEST_REASON}" autocomplete="off" aria-describedby="${back?.inField ? `${id}-problem ` : ''}${id}-help" value="${escapeHtml(back?.given ?? '')}"${back?.inField ? ' aria-invalid="true" autofocus' : ''}>
${back?.inField ? `<p id="${id}-problem" class="problem">${escapeHtml(back.problem)}</p>` : ''}<p id="${id}-help" class="soft">A code (${HELP[one.action]}) or a sentence, which is kept sealed. It stays with the notification, under your name.</p>
<p class="buttons"><button type="submit" class="do">${nameOf(one)}</button></p></form>`;
};

const permittedCard = (one: Offered, view: ActionsView): string => {
  const id = idOf(one);
  const short = one.action === 'pause' ? breachInShort(view.shown) : null;
  const isOpen = view.problem !== undefined && idOf({ action: view.problem.act, attempt: view.problem.attempt }) === id;
  return `<details class="act" id="${id}"${isOpen ? ' open' : ''}><summary id="${id}-summary">${nameOf(one)}${short === null ? '' : ` <span class="soft">${short}</span>`}</summary>
<p>${effectOf(one, view.shown)}</p>${one.action === 'pause' ? pausePreviewSection(view.shown) : ''}
${hasForms(view.looker) ? fieldOf(one, view) : ''}</details>`;
};

const whoMay = ({ role, token }: Looker): string => {
  if (!mayChange(role)) return '<p>Your role may look only. An operator or an administrator may do the following.</p>';
  return token === null ? '<p>HTTP Basic may only read. Who is <a href="/login">signed in</a> may do the following.</p>' : '';
};

export interface ActionsView { shown: ShownNotification; looker: Looker; problem?: FormProblem | undefined }

/** What may be done to a notification now, each with its form for whoever may do it, and why the rest is not possible. */
export const actionsSection = (view: ActionsView): string => {
  const { looker } = view;
  const all = offeredActions(view.shown);
  const able = all.filter(({ refusal }) => refusal === null);
  const unable = all.flatMap((one) => (one.refusal === null ? [] : [`<li><strong>${nameOf(one)}</strong>: not now; ${OFFER_REFUSALS[one.refusal]}.</li>`]));
  return `<h2 id="actions">What may be done now</h2>
${able.length === 0 ? '<p>Nothing.</p>' : `${whoMay(looker)}<div class="acts">${able.map((one) => permittedCard(one, view)).join('')}</div>`}
${unable.length === 0 ? '' : `<ul class="unable soft">${unable.join('')}</ul>`}`;
};

/** What the section rests on but for the time: while it stays so, a form that somebody writes in is left alone. */
export const actionsHold = ({ shown }: ActionsView): string =>
  [seenIn(shown), ...offeredActions(shown).map((one) => `${idOf(one)}:${one.refusal ?? 'may'}`)].join(' ');
