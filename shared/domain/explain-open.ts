import type { Channel } from './words.ts';
import type { Policy } from './policy.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { currentAttempt, hasFailed, isLive } from './state.ts';
import { wasBarred } from './eligibility.ts';
import { evidenceClass } from './escalation.ts';
import { claimBlockedUntil } from './precondition.ts';
import { attemptName, channelName, escalationRule, instant } from './explain-words.ts';

interface Open { state: NotificationState; deciding: AttemptState; policy: Policy }

/** What keeps a claim from being made now, whatever is known; empty where nothing does. */
const heldBack = ({ state }: Pick<Open, 'state'>): string => {
  if (state.paused) return 'nothing is claimed while paused; once resumed, ';
  const until = claimBlockedUntil(state);
  if (until === null) return '';
  return state.precondition?.askedUntil === null ? `the origin system is asked again from ${instant(until)}; then, ` : `the answer of the origin system is waited for, until ${instant(until)}; then, `;
};

const rules = ({ policy, deciding }: Open): readonly string[] => policy.steps[deciding.step]?.escalateWhen ?? [];
const rule = ({ state, policy, deciding }: Open): string => {
  const step = policy.steps[deciding.step];
  return `${escalationRule(state, step)}${(step?.escalateWhen.length ?? 0) > 0 ? ' only' : ''}`;
};

/** The attempt ended, and what waits behind it is not claimed, or not yet. */
const afterFailure = (open: Open): string => {
  const { deciding } = open;
  const name = attemptName(deciding.key);
  if (deciding.corrected) return `was not used: ${name} had been confirmed *delivered*, and the bounce that took this back later starts nothing`;
  const claims = wasBarred(deciding) || rules(open).includes('failed');
  return claims ? `was not used so far: ${heldBack(open)}it is claimed, since ${name} ended as *${deciding.state}*` : `was not used: ${name} ended as *${deciding.state}*, and ${rule(open)}`;
};

/** The deadline let it pass. What is heard later claims nothing, but for a definite failure where the policy escalates on that. */
const afterDeadline = (open: Open): string => {
  const { state, deciding } = open;
  const name = attemptName(deciding.key);
  const passed = `was not used: the decision deadline of ${name}, ${instant(deciding.decisionDeadlineAt)}, has passed, and ${rule(open)}`;
  if (!isLive(deciding)) return `${passed}; nothing more is expected of ${name}`;
  if (!rules(open).includes('failed')) return `${passed}; nothing that is heard of ${name} later claims it`;
  return `${passed}; ${heldBack(open)}a definite failure of ${name}, such as a bounce, that is heard before expiry, ${instant(state.expiresAt)}, would still claim it`;
};

const beforeDeadline = (open: Open): string => {
  const { deciding } = open;
  const name = attemptName(deciding.key);
  const standing = evidenceClass(deciding);
  const at = instant(deciding.lookUntil ?? deciding.decisionDeadlineAt);
  // The transport says no more: its word is known before the deadline asks for it.
  if (!isLive(deciding) && !rules(open).includes(standing)) return `was not used: ${name} stands as *${standing}*, nothing more is expected of it, and ${rule(open)}`;
  const held = heldBack(open);
  const decided = `whether it is claimed is decided by what is known of ${name}, at ${at}`;
  return held === '' ? `was not used so far: ${decided} at the latest` : `was not used so far: ${held}${decided}, or at once where that is past`;
};

/** Says of a channel that waits why it was not used, and what would still claim it. There is no clock in it: it holds as long as no entry is added. */
export const tellWaiting = (channel: Channel, state: NotificationState, policy: Policy): string => {
  const deciding = currentAttempt(state);
  const name = channelName(channel);
  if (deciding === null) return `${name} was not used so far`;
  const open = { state, deciding, policy };
  if (deciding.state === 'delivered') return `${name} was not used: ${attemptName(deciding.key)} was confirmed *delivered*`;
  if (hasFailed(deciding)) return `${name} ${afterFailure(open)}`;
  return `${name} ${deciding.deadlinePassed ? afterDeadline(open) : beforeDeadline(open)}`;
};
