import type { AttemptKey, Instant } from './words.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { awaitsOperator, isUnsubmitted, withoutShadows } from './state.ts';
import type { RiskKind } from './at-risk.ts';
import { retryRefusal } from './retry.ts';

/** What an operator may do about a finding, in words. None of it sends anything a second time blindly. */
export const NEXT_ACTIONS = {
  resume: 'It is paused: resume it, or reach the recipient otherwise and close it.',
  retry_dead_letter: 'Mend the cause, then retry its dead letter with a reason.',
  mend_account: 'Its provider refuses our account: mend the account. What waits goes on by itself.',
  restore_sending: 'It waits to be submitted: look to the queue, the workers and the provider. It goes on by itself.',
  hold_unknown: 'Whether it was sent is unknown: send nothing again by hand. Reach the recipient otherwise, then close it.',
  restore_engine: 'Look to the coordinators and the database. Nothing is lost, and what is due is taken up once they run.',
  reach_otherwise: 'Reach the recipient otherwise, then close it.',
  nothing: 'Nothing has to be done: the message came after all.',
  over: 'Nothing more has to be done about this alert.',
} as const;
export type NextAction = keyof typeof NEXT_ACTIONS;

/** Whether that attempt's dead letter is open; a discarded one is not retried from any list. */
export type IsOpen = (attempt: AttemptKey) => boolean;

const canRetry = (state: NotificationState, now: Instant, isOpen: IsOpen) => (attempt: AttemptState): boolean =>
  awaitsOperator(attempt) && isOpen(attempt.key) && retryRefusal(state, attempt.key, now, {}) === null;

/** The one thing to do next about a finding, as the notification stands. */
export const nextAction = (whole: NotificationState, kind: RiskKind, { now, isOpen = () => true }: { now: Instant; isOpen?: IsOpen }): NextAction => {
  const state = withoutShadows(whole);
  if (kind === 'delivered_after_close') return 'nothing';
  if (kind === 'stalled') return 'restore_engine';
  if (state.paused) return 'resume';
  if (state.attempts.some(({ providerWaitAt }) => providerWaitAt !== null)) return 'mend_account';
  if (state.attempts.some((attempt) => isUnsubmitted(attempt) || attempt.state === 'submitting')) return 'restore_sending';
  if (state.attempts.some(canRetry(state, now, isOpen))) return 'retry_dead_letter';
  return state.attempts.some(({ state: name }) => name === 'submitted_unknown') ? 'hold_unknown' : 'reach_otherwise';
};

/** Each channel's newest attempt, or what became of its step: codes alone. What runs in shadow says so. */
export const channelStates = (state: NotificationState): string[] => state.steps.map(({ channel, phase, reason }, step) => {
  const attempt = state.attempts.findLast((one) => one.step === step);
  if (!attempt) return `${channel}: ${phase}${reason === null ? '' : ` (${reason})`}`;
  if (attempt.shadow && attempt.state !== 'shadowed') return `${channel} ${attempt.sequence}: ${attempt.state} (shadow)`;
  const why = attempt.reason ?? attempt.unknownSubmissions.at(-1)?.reason ?? null;
  return `${channel} ${attempt.sequence}: ${attempt.state}${why === null ? '' : ` (${why})`}`;
});

/** When a provider last said something about any of its attempts; null where none did. A failed read is no answer. */
export const lastReadAt = (state: NotificationState): Instant | null => {
  const reads = state.attempts.flatMap(({ evidence }) => (evidence !== null && evidence.source !== 'submit' ? [evidence.at] : []));
  return reads.length === 0 ? null : Math.max(...reads);
};
