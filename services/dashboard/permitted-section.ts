import { pauseEndangers, permittedActions, REFUSALS } from '../../shared/domain/permitted.ts';
import type { Permitted } from '../../shared/domain/permitted.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import type { ShownNotification } from './notification-view.ts';
import { shownTime } from './page.ts';

const nameOf = ({ action, attempt }: Permitted): string => `${action}${attempt === null ? '' : ` ${attempt.split('.').slice(1).join(' ')}`}`;

const HOW: Record<Permitted['action'], (eventId: string) => string> = {
  close: (eventId) => `<code>npx tocsin close ${eventId} --reason taken</code>`,
  pause: (eventId) => `<code>npx tocsin pause ${eventId} --reason maintenance</code>`,
  resume: (eventId) => `<code>npx tocsin resume ${eventId} --reason done</code>`,
  retry: () => 'its dead letter in the <a href="/queues">queues</a>, after a reason was stated',
};

const endangered = ({ bound, state, now }: ShownNotification): string => {
  const danger = pauseEndangers(bound.policy, state, now);
  if (danger === null) return '. It would endanger nothing: a provider has the message, or the time is over';
  return `. It would endanger this notification: from ${shownTime(danger.nothingFrom)} on nothing could reach the recipient, and from ${shownTime(danger.pageFrom)} on somebody is paged`;
};

/** What an operator may do now, each with a reason that stays in the ledger, and why the rest is not possible. */
export const permittedSection = (shown: ShownNotification): string => {
  const { state, now, record } = shown;
  const items = permittedActions(state, now).map((one) => (one.refusal === null
    ? `<li><strong>${nameOf(one)}</strong>: ${HOW[one.action](escapeHtml(record.eventId))}${one.action === 'pause' ? endangered(shown) : ''}.</li>`
    : `<li class="soft"><strong>${nameOf(one)}</strong>: not now; ${REFUSALS[one.refusal]}.</li>`));
  return `<details id="permitted"><summary id="permitted-summary">What may be done now, and what not</summary><ul class="may">${items.join('')}</ul></details>`;
};
