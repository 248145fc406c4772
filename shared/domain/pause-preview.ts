import type { AttemptKey, Channel, Instant } from './words.ts';
import type { Policy } from './policy.ts';
import type { NotificationState } from './state.ts';
import { currentAttempt, hasFailed, isUnsubmitted } from './state.ts';
import { awaitsDeadline, evidenceClass } from './escalation.ts';
import { canPause } from './pause.ts';
import { claimBlockedUntil } from './precondition.ts';
import { pauseEndangers } from './permitted.ts';
import { stepOf } from './clocks.ts';

/**
 * What would not come to pass in a pause, or come to pass in spite of it. `submission`: a message is not handed over. `claim`: the next channel is not
 * started. `nothing`: from then on nothing could reach the recipient. `reserve`: the time kept for the next channels begins. `page`: somebody is paged.
 */
export interface PauseClock { kind: 'submission' | 'claim' | 'nothing' | 'reserve' | 'page' | 'expiry'; at: Instant; channel: Channel | null }

/** `breach` is the first thing that the policy promises and that would not be kept; null where a pause endangers nothing. */
export interface PausePreview { clocks: PauseClock[]; breach: PauseClock | null; /** Calls under way now: they are not called back. */ inFlight: AttemptKey[] }

const submissions = (state: NotificationState, now: Instant): PauseClock[] => state.attempts
  .filter((attempt) => !attempt.shadow && !attempt.superseded && (isUnsubmitted(attempt) || attempt.resubmitAt !== null))
  .map(({ channel, startsAt, retryAt, resubmitAt }) => ({ kind: 'submission', channel, at: Math.max(now, resubmitAt ?? Math.max(startsAt, retryAt ?? startsAt)) }));

/** The claim that the clock would make as the notification stands. */
const claims = (policy: Policy, state: NotificationState, now: Instant): PauseClock[] => {
  const attempt = currentAttempt(state);
  const next = state.steps.find(({ phase, shadow }) => phase === 'waiting' && !shadow);
  if (attempt === null || next === undefined || state.strategy !== 'escalate') return [];
  if (!(awaitsDeadline(attempt) || hasFailed(attempt)) || !stepOf(policy, attempt.step).escalateWhen.includes(evidenceClass(attempt))) return [];
  const due = hasFailed(attempt) ? now : attempt.lookUntil ?? attempt.decisionDeadlineAt;
  return [{ kind: 'claim', channel: next.channel, at: Math.max(now, due, claimBlockedUntil(state) ?? now) }];
};

const reserves = (policy: Policy, state: NotificationState, now: Instant): PauseClock[] => {
  const kept = state.steps.reduce((sum, { phase, shadow }, step) => (phase === 'waiting' && !shadow ? sum + stepOf(policy, step).reserveMs : sum), 0);
  const at = state.expiresAt - kept;
  return kept > 0 && at > now ? [{ kind: 'reserve', channel: null, at }] : [];
};

/**
 * What a pause that began now would hold up and endanger, the first first; null where there is nothing to pause. What a pause does not
 * hold - status reads, the expiry - goes on. Pure.
 */
export const pausePreview = (policy: Policy, state: NotificationState, now: Instant): PausePreview | null => {
  if (!canPause(state) || state.paused) return null;
  const danger = pauseEndangers(policy, state, now);
  const clocks: PauseClock[] = [
    ...submissions(state, now), ...claims(policy, state, now),
    ...(danger ? [{ kind: 'nothing' as const, channel: null, at: danger.nothingFrom }, { kind: 'page' as const, channel: null, at: danger.pageFrom }] : []),
    ...reserves(policy, state, now), ...(state.expiresAt > now ? [{ kind: 'expiry' as const, channel: null, at: state.expiresAt }] : []),
  ];
  clocks.sort((one, other) => one.at - other.at);
  return {
    clocks, breach: clocks.find(({ kind }) => kind === 'claim' || kind === 'nothing') ?? null,
    inFlight: state.attempts.filter((attempt) => attempt.state === 'submitting').map(({ key }) => key),
  };
};
