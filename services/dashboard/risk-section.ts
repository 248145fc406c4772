import { atRisk } from '../../shared/domain/at-risk.ts';
import { channelStates, NEXT_ACTIONS, nextAction } from '../../shared/domain/next-action.ts';
import type { IsOpen } from '../../shared/domain/next-action.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { RISK_WORDS } from './at-risk-page.ts';
import type { ShownNotification } from './notification-view.ts';
import { badge, relativeTime, shownTime } from './page.ts';

/** What is found of it now, as in the list of what is at risk: since when, how its channels stand, and what to do next. Empty where nothing is. */
export const riskSection = ({ bound, state, deadLetters, now }: ShownNotification): string => {
  const risks = atRisk(bound.policy, state, now);
  if (risks.length === 0) return '';
  const isOpen: IsOpen = (key) => deadLetters.some(({ attempt, discarded }) => attempt === key && discarded === null);
  const lines = risks.map(({ kind, since }) => `<li>${badge(kind)} <span class="soft">since ${shownTime(since)}, ${relativeTime(since, now)}</span><br>${RISK_WORDS[kind]}</li>`);
  const next = [...new Set(risks.map(({ kind }) => NEXT_ACTIONS[nextAction(state, kind, { now, isOpen })]))];
  return `<div class="finding"><ul>${lines.join('')}</ul><p class="soft">${channelStates(state).map((one) => escapeHtml(one.replaceAll('_', ' '))).join(' · ')}</p>
<p><strong>Next:</strong> ${next.map(escapeHtml).join(' ')}</p></div>`;
};
