import { LONGEST_REASON } from '../../shared/config/reason-text.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { tokenField } from './account-page.ts';
import { page, shownTime } from './page.ts';
import type { StatedReason } from './operator-session.ts';
import { REASON_LASTS_MS } from './operator-session.ts';

export interface ReasonView { stated: StatedReason | null; token: string | null; /** By his role. */ may: boolean; problem?: string | undefined }

const form = ({ stated, token, problem }: ReasonView): string => page('Why', `<h1>Why are you retrying or discarding?</h1>
<p>Say it once: it is recorded with everything that you do to dead letters within the hour.</p>
${problem === undefined ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>`}
${stated === null ? '' : `<p class="stated">Recorded until ${shownTime(stated.at + REASON_LASTS_MS)}: <strong>${escapeHtml(stated.reason)}</strong></p>`}
<form method="post" action="/reason" class="reason">${tokenField(token)}
<label for="reason">Reason</label>
<input id="reason" name="reason" required maxlength="${LONGEST_REASON}" autocomplete="off" aria-describedby="reason-help" value="${escapeHtml(stated?.reason ?? '')}">
<p id="reason-help" class="soft">A code such as <code>provider_trouble</code>, <code>incident</code>, <code>checked</code>, or a sentence, which is kept sealed.</p>
<p class="buttons"><button type="submit">Record and go to the board</button>${stated === null ? '' : ' <button type="submit" name="forget" value="1" formnovalidate>Take it back</button>'}</p>
</form>
<p><a href="/queues">Back to the board</a></p>`);

/** Where an operator says why he acts, before he retries or discards anything on the board. Whoever may not, or is not signed in as a person, sees no form. */
export const reasonPage = (view: ReasonView): string => (view.may && view.token !== null ? form(view) : page('Why', `<h1>Why somebody retries or discards</h1>
<p>${view.may ? 'A program with HTTP Basic may only read: <a href="/login">sign in</a> to state a reason.' : 'Your role may look only. An operator or an administrator states a reason here, and then retries or discards dead letters on the board.'}</p>
<p><a href="/queues">Back to the board</a></p>`));
