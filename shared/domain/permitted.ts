import type { AttemptKey, Instant } from './words.ts';
import type { Policy } from './policy.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { awaitsOperator, hasFailed } from './state.ts';
import { risksOf } from './at-risk.ts';
import { canPause } from './pause.ts';
import type { RetryRefusal } from './retry.ts';
import { retryRefusal } from './retry.ts';

export type ActionRefusal = RetryRefusal | 'nothing_started' | 'not_paused' | 'settled';

/** Something an operator may want to do, and why it is not possible now; null where it is. */
export interface Permitted { action: 'close' | 'pause' | 'resume' | 'retry'; attempt: AttemptKey | null; refusal: ActionRefusal | null }

/** The refusals in words. */
export const REFUSALS: Readonly<Record<ActionRefusal, string>> = {
  nothing_started: 'nothing was ever started', closed: 'it is closed', settled: 'it is settled: nothing is left to hold', paused: 'it is paused', not_paused: 'it is not paused', expired: 'it has expired',
  no_such_attempt: 'there is no such attempt', suppressed: 'the channel is barred for this recipient', delivered: 'a channel was delivered', superseded: 'another channel is under way, or may have arrived',
  not_newest: 'a later attempt on its channel exists', still_live: 'it has not ended', not_failed: 'it did not fail', not_resolvable: 'its provider can neither be asked nor drop a duplicate',
  grace_ended: 'its grace is over', quiet_hours: 'its channel has quiet hours', shadow: 'it runs in shadow, and nobody is to receive it', payload_destroyed: 'what it would be made of was destroyed',
};

const closeRefusal = (state: NotificationState): ActionRefusal | null => (state.version === 0 || state.rejected ? 'nothing_started' : state.closed ? 'closed' : null);

const pauseRefusal = (state: NotificationState): ActionRefusal | null => {
  if (state.paused) return 'paused';
  return canPause(state) ? null : closeRefusal(state) ?? 'settled';
};

/** Attempts of which somebody may ask whether they can be retried: the others went their way. */
const isAskedAbout = (attempt: AttemptState): boolean => awaitsOperator(attempt) || hasFailed(attempt) || attempt.state === 'submitted_unknown';

/** What is permitted as the notification stands, and why the rest is not. What the suppression list says is asked when it is done. */
export const permittedActions = (state: NotificationState, now: Instant): Permitted[] => [
  { action: 'close', attempt: null, refusal: closeRefusal(state) },
  { action: 'pause', attempt: null, refusal: pauseRefusal(state) },
  { action: 'resume', attempt: null, refusal: state.paused ? closeRefusal(state) : 'not_paused' },
  ...state.attempts.filter(isAskedAbout).map(({ key }) => ({ action: 'retry' as const, attempt: key, refusal: retryRefusal(state, key, now, {}) })),
];

/** What a pause now would endanger: when nothing under way could reach the recipient any more, and when that becomes a page; null where it endangers nothing. */
export const pauseEndangers = (policy: Policy, state: NotificationState, now: Instant): { nothingFrom: Instant; pageFrom: Instant } | null => {
  if (pauseRefusal(state) !== null) return null;
  const risks = risksOf(policy, { ...state, paused: { reason: 'preview', at: now } });
  const page = risks.find(({ kind }) => kind === 'at_risk');
  if (!page) return null;
  return { nothingFrom: Math.max(now, risks.find(({ kind }) => kind === 'reserve_used')?.since ?? page.since), pageFrom: Math.max(now, page.since) };
};
