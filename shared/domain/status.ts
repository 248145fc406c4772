import type { ReasonCode } from './reasons.ts';
import type { Channel, PublicStatus } from './words.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { wasPassedOver } from './eligibility.ts';
import { currentAttempt, hasFailed, isOnlyShadow, isUnsubmitted, mayBeSent, withoutShadows } from './state.ts';

/** An attempt through which something user-facing may still come to pass, or from which an answer is still awaited. */
const isOpen = (attempt: AttemptState): boolean => {
  if (isUnsubmitted(attempt) || attempt.state === 'submitting') return true;
  if (attempt.superseded || attempt.deadlinePassed || attempt.settledAt !== null) return false;
  return attempt.state === 'submitted' || attempt.state === 'submitted_unknown';
};

const wasSubmitted = (attempt: AttemptState): boolean =>
  attempt.submittedAt !== null || attempt.state === 'submitting' || attempt.state === 'submitted_unknown' || mayBeSent(attempt);

/** A later step can still be claimed. */
const mayStillClaim = (state: NotificationState): boolean => {
  const attempt = currentAttempt(state);
  return state.settledAt === null && state.steps.some((step) => step.phase === 'waiting')
    && (attempt === null || (!attempt.corrected && (hasFailed(attempt) || !attempt.deadlinePassed)));
};

/** As many channels were delivered as could be used at all. */
const isDeliveredByAll = (state: NotificationState): boolean =>
  new Set(state.attempts.filter((attempt) => attempt.state === 'delivered').map((attempt) => attempt.channel)).size
  === state.steps.filter((step, index) => !step.shadow && !wasPassedOver(state, index)).length;

/** The public status of a notification: a pure function of its state, first match wins; what runs in shadow counts only where nothing else does. Source: the design's table. */
export const publicStatus = (state: NotificationState): PublicStatus => {
  if (state.rejected) return 'policy_rejected';
  if (state.attempts.some((attempt) => attempt.state === 'delivered')) return state.strategy === 'all' && !isDeliveredByAll(state) ? 'partially_delivered' : 'delivered';
  if (state.closed) return 'closed';
  const onlyShadow = isOnlyShadow(state);
  const { attempts } = onlyShadow ? state : withoutShadows(state);
  const has = (name: AttemptState['state']): boolean => attempts.some((attempt) => attempt.state === name);
  if (mayStillClaim(state) || attempts.some(isOpen)) return attempts.some(wasSubmitted) ? 'in_progress' : 'accepted';
  if (has('submitted')) return 'sent';
  if (has('submitted_unknown')) return 'unknown';
  if (state.expired || has('expired')) return 'expired';
  if (state.steps.length > 0 && state.steps.every((step, index) => wasPassedOver(state, index) || (step.shadow && !onlyShadow))) return 'suppressed';
  return onlyShadow ? 'shadowed' : 'undelivered';
};

/** A channel that was passed over, and why. */
export interface PassedOver { channel: Channel; reason: ReasonCode }

/** What a refusal comes down to. `skipped` says it of each channel; empty where it was refused as a whole. */
export interface PublicReason { reason: ReasonCode; skipped: PassedOver[] }

/**
 * Why a notification was refused, or nothing of it was sent because every channel was barred: the reason of its channels, and where they
 * differ that of the last, after which none was left. Null for every other status, whose reasons are those of its attempts.
 */
export const publicReason = (state: NotificationState): PublicReason | null => {
  if (state.rejected) return { reason: state.rejected, skipped: [] };
  if (publicStatus(state) !== 'suppressed') return null;
  const skipped = state.steps.flatMap(({ channel, reason: own }, index) => {
    const reason = wasPassedOver(state, index) ? own ?? state.attempts.findLast((attempt) => attempt.step === index)?.reason : null;
    return reason ? [{ channel, reason }] : [];
  });
  const last = skipped.at(-1);
  return last ? { reason: last.reason, skipped } : null;
};
