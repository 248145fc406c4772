import type { AttemptKey, Instant } from './words.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { findAttempt, hasFailed, isLive } from './state.ts';
import type { RetryMeans } from './transitions.ts';
import type { Work } from './work.ts';
import { planStep } from './plan-attempt.ts';
import { planResubmission, replayUntil } from './resubmission.ts';
import { probeAtOnce } from './provider-trouble.ts';

/** What an operator takes upon himself; recorded with the retry. */
export interface RetryOverrides { evenIfDelivered?: boolean; acceptDuplicate?: boolean }

/** Why a retry is refused; a normal answer, not an error. */
export type RetryRefusal =
  | 'no_such_attempt' | 'closed' | 'expired' | 'paused'
  /** Some channel was delivered; `evenIfDelivered` overrides it. */
  | 'delivered'
  /** Another channel was claimed after it, and is under way or may have reached the recipient; `acceptDuplicate` overrides it. */
  | 'superseded'
  /** A later attempt on its channel exists. */
  | 'not_newest'
  /** It has not ended yet, or did not end in a definite failure. */
  | 'still_live' | 'not_failed'
  /** Unknown, and its provider can neither be asked for it nor drop a duplicate. */
  | 'not_resolvable'
  /** Unknown, and the grace for hearing more of it is over. */
  | 'grace_ended';

/** Under way, or with something of it at its provider. */
const mayReach = (attempt: AttemptState): boolean => isLive(attempt) || attempt.state === 'submitted' || attempt.state === 'submitted_unknown';

/** Whether that attempt may be retried at `now`, and why not. Due rules were applied before. */
export const retryRefusal = (state: NotificationState, key: AttemptKey, now: Instant, overrides: RetryOverrides): RetryRefusal | null => {
  const attempt = findAttempt(state, key);
  if (!attempt) return 'no_such_attempt';
  if (state.closed) return 'closed';
  if (state.expired || now >= state.expiresAt) return 'expired';
  if (state.paused) return 'paused';
  const others = state.attempts.filter((other) => other !== attempt);
  if (!overrides.evenIfDelivered && state.attempts.some((one) => one.state === 'delivered')) return 'delivered';
  if (others.some((other) => other.channel === attempt.channel && other.sequence > attempt.sequence)) return 'not_newest';
  if (!overrides.acceptDuplicate && attempt.superseded && others.some(mayReach)) return 'superseded';
  if (attempt.state !== 'submitted_unknown') return hasFailed(attempt) ? null : isLive(attempt) ? 'still_live' : 'not_failed';
  if (attempt.settledAt !== null) return 'grace_ended';
  return attempt.canLookUp || (attempt.replayWithinMs !== null && !attempt.superseded) ? null : 'not_resolvable';
};

/** A definite failure is tried anew; what is unknown keeps its key, and goes only through replay or look-up. Null: neither is left. */
const meansFor = (work: Work, attempt: AttemptState): RetryMeans | null => {
  if (hasFailed(attempt)) return 'new_attempt';
  const until = replayUntil(work, attempt);
  if (until !== null && work.input.now < until && !attempt.superseded) return 'replay';
  return attempt.canLookUp ? 'look_up' : null;
};

export interface Retry { attempt: AttemptKey; reason: string; overrides: RetryOverrides }

/** Retries an attempt by an operator's decision: recorded with its reason code and with what it overrode. Does nothing where refused. */
export const retry = (work: Work, { attempt: key, reason, overrides }: Retry): void => {
  if (retryRefusal(work.state, key, work.input.now, overrides) !== null) return;
  const attempt = work.attempt(key);
  const means = meansFor(work, attempt);
  if (means === null) return;
  const { evenIfDelivered = false, acceptDuplicate = false } = overrides;
  work.emit({ kind: 'OperatorRetried', details: { attempt: key, means, reason, even_if_delivered: evenIfDelivered, accept_duplicate: acceptDuplicate } });
  if (means === 'new_attempt') planStep(work, attempt.step, 'operator');
  if (means === 'replay') planResubmission(work, work.attempt(key), { reason: 'replay', until: replayUntil(work, attempt) as Instant });
  const newest = work.state.attempts.at(-1);
  probeAtOnce(work, means === 'new_attempt' && newest ? newest.key : key);
};
