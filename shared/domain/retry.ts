import type { AttemptKey, Instant } from './words.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { findAttempt, hasFailed, hasLostPayload, isLive, isPastExpiry, isReached } from './state.ts';
import type { Eligibility } from './eligibility.ts';
import type { RetryMeans } from './transitions.ts';
import type { Work } from './work.ts';
import { planStep } from './plan-attempt.ts';
import { planResubmission, replayUntil } from './resubmission.ts';
import { probeAtOnce } from './provider-trouble.ts';
import type { OffsetAt } from './quiet-hours.ts';
import { opening, openingOf } from './windows.ts';

/** What an operator takes upon himself; recorded with the retry. */
export interface RetryOverrides { evenIfDelivered?: boolean; acceptDuplicate?: boolean }

/** Why a retry is refused; a normal answer, not an error. */
export type RetryRefusal =
  | 'no_such_attempt' | 'closed' | 'expired' | 'paused'
  /** Its channel is barred for the recipient; nothing overrides that. */
  | 'suppressed'
  /** Its channel is silent until after the expiry, or, for a replay, now. */
  | 'quiet_hours'
  /** Some channel was delivered, or, where the policy uses all of them, its own; `evenIfDelivered` overrides it. */
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
  | 'grace_ended'
  /** It ran in shadow: there is nothing to send. */
  | 'shadow'
  /** What it would be rendered from was destroyed. */
  | 'payload_destroyed';

/** Under way, or with something of it at its provider. */
const mayReach = (attempt: AttemptState): boolean => (isLive(attempt) && !attempt.shadow) || attempt.state === 'submitted' || attempt.state === 'submitted_unknown';

const lost = (state: NotificationState): RetryRefusal | null => (hasLostPayload(state) ? 'payload_destroyed' : null);

/**
 * Whether that attempt may be retried at `now`, and why not. Due rules were applied before. Looking for an unknown one sends
 * nothing, so that alone goes on where its channel is barred; without an `eligibility` no channel counts as barred.
 */
export const retryRefusal = (state: NotificationState, key: AttemptKey, now: Instant, overrides: RetryOverrides & { eligibility?: Eligibility; offsetAt?: OffsetAt | undefined }): RetryRefusal | null => {
  const attempt = findAttempt(state, key);
  if (!attempt) return 'no_such_attempt';
  if (attempt.shadow) return 'shadow';
  if (state.closed) return 'closed';
  if (state.expired || isPastExpiry(state, now)) return 'expired';
  if (state.paused) return 'paused';
  const others = state.attempts.filter((other) => other !== attempt);
  if (!overrides.evenIfDelivered && isReached(state, attempt.channel)) return 'delivered';
  if (others.some((other) => other.channel === attempt.channel && other.sequence > attempt.sequence)) return 'not_newest';
  if (!overrides.acceptDuplicate && attempt.superseded && others.some(mayReach)) return 'superseded';
  const sendingRefused = (overrides.eligibility?.(attempt.channel) ?? null) !== null ? 'suppressed' : lost(state);
  const opensAt = overrides.offsetAt ? openingOf(state, attempt.channel, now, overrides.offsetAt) : now;
  if (attempt.state !== 'submitted_unknown' && hasFailed(attempt)) return sendingRefused ?? (opensAt === null || opensAt >= state.expiresAt ? 'quiet_hours' : null);
  if (attempt.state !== 'submitted_unknown') return isLive(attempt) ? 'still_live' : 'not_failed';
  if (attempt.settledAt !== null) return 'grace_ended';
  if (attempt.canLookUp) return null;
  return attempt.replayWithinMs === null || attempt.superseded ? 'not_resolvable' : sendingRefused ?? (opensAt === now ? null : 'quiet_hours');
};

/** A definite failure is tried anew; what is unknown keeps its key, and goes only through replay or look-up. Null: neither is left. */
const meansFor = (work: Work, attempt: AttemptState): RetryMeans | null => {
  if (hasFailed(attempt)) return 'new_attempt';
  const until = replayUntil(work, attempt);
  const maySend = work.input.eligibility(attempt.channel, true) === null && opening(work, attempt.channel) === work.input.now && !hasLostPayload(work.state);
  if (until !== null && work.input.now < until && !attempt.superseded && maySend) return 'replay';
  return attempt.canLookUp ? 'look_up' : null;
};

export interface Retry { attempt: AttemptKey; reason: string; overrides: RetryOverrides }

/** Retries an attempt by an operator's decision: recorded with its reason code and with what it overrode. Does nothing where refused. */
export const retry = (work: Work, { attempt: key, reason, overrides }: Retry): void => {
  if (retryRefusal(work.state, key, work.input.now, { ...overrides, eligibility: work.input.eligibility, offsetAt: work.input.offsetAt }) !== null) return;
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
