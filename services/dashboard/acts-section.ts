import type { RecordedAct } from '../../shared/delivery/operator-acts.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { redactText } from '../../shared/security/redact.ts';
import type { ShownNotification } from './notification-view.ts';
import { OFFER_REFUSALS, offeredActions } from './offered-actions.ts';
import { shownTime } from './page.ts';

const PAST: Readonly<Record<RecordedAct['act'], string>> = { close: 'closed it', pause: 'paused it', resume: 'resumed it', retry: 'retried' };

const shortOf = (attempt: string): string => escapeHtml(attempt.split('.').slice(1).join(' '));
const pastOf = ({ act, attempt }: RecordedAct): string => `${PAST[act]}${attempt === null ? '' : ` ${shortOf(attempt)}`}`;

/** A reason as it was given: a code, or a sentence, in which nobody's number or address needs to be read. */
const reasonOf = ({ reason, words }: Pick<RecordedAct, 'reason' | 'words'>, { state }: ShownNotification): string => {
  if (words !== null) return `<span class="said" dir="auto">“${escapeHtml(redactText(words))}”</span>`;
  return reason === 'other' && state.erased !== undefined ? 'words that were erased' : `<code>${escapeHtml(reason)}</code>`;
};

/** By whom, since when and why, e.g. for what holds it. Where no act stands for it, its code alone. */
export const byWhom = (shown: ShownNotification, act: RecordedAct['act'], code: string): string => {
  const found = shown.acts.findLast((one) => one.act === act);
  if (!found) return `(<code>${escapeHtml(code)}</code>)`;
  return `by <strong>${escapeHtml(found.actor)}</strong> ${act === 'pause' ? 'since' : 'at'} ${shownTime(found.at)} because ${reasonOf(found, shown)}`;
};

/** What its dead letters wait for, each with what is left to do about it, and who discarded one. */
export const deadLetterWords = (shown: ShownNotification): string[] => shown.deadLetters.map(({ attempt, discarded }) => {
  if (discarded) return `The dead letter of ${shortOf(attempt)} was discarded by <strong>${escapeHtml(discarded.actor)}</strong> at ${shownTime(discarded.at)} because ${reasonOf(discarded, shown)}.`;
  const retry = offeredActions(shown).find((one) => one.action === 'retry' && one.attempt === attempt);
  if (retry?.refusal === null) return `The dead letter of ${shortOf(attempt)} waits for an operator: retry it here, or <a href="/queues">discard it</a>.`;
  return `The dead letter of ${shortOf(attempt)} waits for an operator: <a href="/queues">discard it</a>. It cannot be retried now: ${OFFER_REFUSALS[retry?.refusal ?? 'no_such_attempt']}.`;
});

/** Everything that people did to it, the oldest first, each with its reason; empty where nobody did anything. */
export const actsSection = (shown: ShownNotification): string => (shown.acts.length === 0 ? ''
  : `<h2>What people did</h2><ul class="told">${shown.acts.map((act) => `<li>${shownTime(act.at)} <strong>${escapeHtml(act.actor)}</strong> ${pastOf(act)} because ${reasonOf(act, shown)}${act.inFlight ? '; a call was under way, and may still arrive' : ''}.</li>`).join('')}</ul>`);

/** What came of the form that somebody just sent, told from the ledger; empty where it does not say. */
export const toldSection = (shown: ShownNotification, { told, user }: { told: string; user: string }): string => {
  const act = shown.acts.findLast((one) => one.act === told);
  const say = (html: string): string => `<p class="done" role="status">${html}</p>`;
  if (!act) return told === 'resume' ? say('It was not paused: nothing was changed.') : '';
  if (act.actor !== user) return say(`${escapeHtml(act.actor)} had ${pastOf(act)} already, at ${shownTime(act.at)}: nothing was changed, and your reason was not recorded.`);
  return say(`You ${pastOf(act)} at ${shownTime(act.at)}.${act.inFlight ? ' A call was under way at that instant: it may still arrive.' : ''}`);
};
