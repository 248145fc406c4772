import { CLOSE_CODES } from '../../shared/delivery/close-notification.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { tokenField } from './account-page.ts';
import { badge, page } from './page.ts';
import { LONGEST_REASON } from './reason-page.ts';

export interface ActView { eventId: string; status: string; paused: boolean; closed: boolean; /** Whether whoever looks may do any of it. */ may: boolean; token: string | null; problem?: string | undefined; done?: string | undefined }

export const ACTS = ['close', 'pause', 'resume'] as const;
export type Act = (typeof ACTS)[number];

const BUTTONS: Readonly<Record<Act, string>> = { close: 'Close', pause: 'Pause', resume: 'Resume' };

const form = (act: Act, { eventId, token }: ActView, help: string): string => `<form method="post" action="/notifications/${escapeHtml(eventId)}/${act}" class="reason">${tokenField(token)}
<label for="${act}-reason">${BUTTONS[act]}: why?</label>
<input id="${act}-reason" name="reason" required maxlength="${LONGEST_REASON}" autocomplete="off" aria-describedby="${act}-help">
<p id="${act}-help" class="soft">${help}</p><p class="buttons"><button type="submit">${BUTTONS[act]}</button></p></form>`;

/** Where an operator closes, pauses or resumes one notification, with a reason. */
export const actPage = (view: ActView): string => {
  const { eventId, status, paused, closed, may, problem, done } = view;
  return page('Close, pause or resume', `<h1>Close, pause or resume</h1>
<div class="idline"><code>${escapeHtml(eventId)}</code>${badge(status)}<a href="/notifications/${escapeHtml(eventId)}">What was sent, when and why</a></div>
${problem === undefined ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>`}${done === undefined ? '' : `<p class="done" role="status">${escapeHtml(done)}</p>`}
${may ? '' : '<p>Your role may look only, or you are not signed in as a person. Ask an operator to close, pause or resume.</p>'}
${closed ? '<p>It is closed: nothing is submitted any more.</p>' : !may ? '' : form('close', view, `A code (${[...CLOSE_CODES].map((code) => `<code>${code}</code>`).join(', ')}), or a sentence, which is kept sealed. Nothing is submitted any more.`)}
${closed || paused || !may ? '' : form('pause', view, 'A code such as <code>maintenance</code>, <code>incident</code>, <code>wrong_person</code>, or a sentence. Nothing is started until it is resumed; status reads and expiry go on.')}
${paused && may ? form('resume', view, 'A code such as <code>checked</code>, <code>done</code>, or a sentence. What fell due meanwhile is decided at once.') : ''}`);
};
