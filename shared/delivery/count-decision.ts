import type { Policy } from '../domain/policy.ts';
import type { NotificationState } from '../domain/state.ts';
import { findAttempt, isOnlyShadow } from '../domain/state.ts';
import type { Stamped } from '../domain/transitions.ts';
import type { Decision } from '../domain/work.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** A region as a label: one that the policy names, or `other`, so that nobody makes labels by asking. */
export const regionLabel = (policy: Policy, region: string | undefined): string => (region !== undefined && Object.hasOwn(policy.regions, region) ? region : 'other');

const seconds = (from: number, to: number): number => Math.max(0, to - from) / 1_000;

interface Counted { before: NotificationState; region: string }

const countTransition = (metrics: Metrics, { at, transition }: Stamped, { before, state }: { before: NotificationState; state: NotificationState }): void => {
  switch (transition.kind) {
    case 'SubmissionStarted': {
      // One that was started with the decision that queued it has waited for nothing.
      const attempt = findAttempt(before, transition.details.attempt) ?? findAttempt(state, transition.details.attempt);
      if (attempt) metrics.queueSeconds.observe({ channel: attempt.channel }, seconds(Math.max(attempt.queuedAt ?? at, attempt.retryAt ?? 0), at));
      return;
    }
    case 'AttemptDelivered': {
      const attempt = findAttempt(state, transition.details.attempt);
      if (!attempt) return;
      metrics.confirmationSeconds.observe({ channel: attempt.channel, provider: attempt.provider }, seconds(attempt.submittedAt ?? at, at));
      if (state.strategy === 'escalate' && before.attempts.some((other) => other.key !== attempt.key && other.state === 'delivered')) metrics.doubleContacts.inc({ purpose: state.purpose });
      return;
    }
    case 'NotificationClosed': if (!isOnlyShadow(state)) metrics.completionSeconds.observe({ purpose: state.purpose }, seconds(state.requestedAt, at)); return;
    case 'FallbackClaimed': {
      const { cause, channel, rests_on: rests } = transition.details;
      metrics.fallbacks.inc({ channel, cause });
      if (cause === 'deadline' && rests !== null) metrics.unresolved.inc({ channel: findAttempt(state, rests.attempt)?.channel ?? channel, class: rests.class });
      return;
    }
    case 'DeadlinePassed': metrics.unresolved.inc({ channel: findAttempt(state, transition.details.attempt)?.channel ?? 'none', class: transition.details.class }); return;
    case 'NotificationExpired': if (!isOnlyShadow(state)) metrics.unresolved.inc({ channel: 'none', class: 'expired' }); return;
    default:
  }
};

/** Counts what a decision came to, once it stands in the ledger; what runs in shadow counts nowhere. `before` is the state that it was made on. */
export const countDecision = (metrics: Metrics, { transitions, requests, state }: Decision, { before, region }: Counted): void => {
  for (const stamped of transitions) countTransition(metrics, stamped, { before, state });
  for (const request of requests) {
    if (request.kind === 'dead_letter') metrics.deadLetters.inc({ channel: request.channel, reason: request.reason });
  }
  for (const attempt of state.attempts) {
    if (!attempt.shadow && attempt.settledAt !== null && (findAttempt(before, attempt.key)?.settledAt ?? null) === null) metrics.attemptsEnded.inc({ channel: attempt.channel, region, outcome: attempt.state });
  }
};
