import type { AttemptKey, Channel, Instant, PayloadPart } from './words.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { currentAttempt, hasFailed, isLive, isOnlyShadow, isReconciling, isUnsubmitted, mayBeSent, withoutShadows } from './state.ts';
import type { Policy } from './policy.ts';
import { DEFAULT_PAYLOAD_TERMS } from './policy.ts';
import type { PayloadBound, Transition } from './transitions.ts';
import type { Work } from './work.ts';
import type { ReasonCode } from './reasons.ts';
import { endBarred, nextToStart, skipBarred } from './eligibility.ts';
import { awaitsDeadline, escalate } from './escalation.ts';
import { heedProviders } from './provider-trouble.ts';
import { blockedUntil, claimBlockedUntil, lapsePrecondition } from './precondition.ts';
import { planStep, queueAttempt } from './plan-attempt.ts';
import { quietHoursFor } from './quiet-hours.ts';
import { outcomeUnknown } from './submissions.ts';
import { lapse, mayResubmit, resubmitDue, takeBackQueued } from './resubmission.ts';
import { earliest, requeueInstant } from './clocks.ts';
import { copyState } from './copies.ts';
import { destroyDue, nextDestructionAt } from './payload-lifetime.ts';
import { publicStatus } from './status.ts';

/** What intake hands over: no address, no text; whether a channel can be used, and why not, was found out before. */
export interface Intent {
  region: string;
  requestedAt: Instant;
  /** The caller's own expiry; null takes the policy's. */
  expiresAt: Instant | null;
  /** Channels that can never be used for this intent, each with its reason (no address, no consent); what may change is asked of `eligibility`. */
  barred: Partial<Record<Channel, ReasonCode>>;
  /** Where the origin system is to be asked: what it means that it does not answer. */
  onPreconditionError?: 'send' | 'hold';
  /** The recipient's time zone (IANA), where it is known. */
  timeZone?: string | null;
  /** Salted commitment to the recipient. */
  recipientCommitment: string;
  /** The parts that were sealed; without them, none is destroyed by time. */
  payloadParts?: PayloadPart[];
}

/** What the entry says of the payload: the terms of its policy version, bound for life. */
const payloadBound = (policy: Policy, parts: PayloadPart[], requestedAt: Instant): PayloadBound => {
  const { variables, addresses, retryWindowMs, afterSettling } = policy.payload ?? DEFAULT_PAYLOAD_TERMS;
  const bound: PayloadBound = { parts, variables, addresses, retry_window_ms: retryWindowMs, retention_until: requestedAt + policy.retentionMs };
  if (afterSettling === 'nothing') bound.after_settling = afterSettling;
  return bound;
};

/** Where the policy names steps to ask before, those; a policy that names none means all. */
const preconditionSteps = (policy: Policy): number[] => policy.steps.flatMap((step, index) => (step.precondition === undefined ? [] : [index]));

const shadowSteps = (policy: Policy): number[] => policy.steps.flatMap((step, index) => (step.shadow ? [index] : []));

/** The shortest expiry under which the policy's first step and the reserves of the later ones fit; steps in shadow need none. */
export const shortestExpiryMs = (policy: Policy): number =>
  policy.steps.filter((step) => !step.shadow).slice(1).reduce((sum, step) => sum + step.reserveMs, 1_000);

/** The entry of an acceptance. What says nothing is not in it. */
const acceptance = (policy: Policy, intent: Intent, expiresAt: Instant): Extract<Transition, { kind: 'NotificationAccepted' }> => {
  const details: Extract<Transition, { kind: 'NotificationAccepted' }>['details'] = {
    purpose: policy.purpose, policy_version: policy.version, requested_at: intent.requestedAt, expires_at: expiresAt, recipient_commitment: intent.recipientCommitment,
    strategy: policy.strategy, urgency: policy.urgency, region: intent.region, reconcile_until: expiresAt + policy.reconcileGraceMs, steps: policy.steps.map((step) => step.channel),
  };
  if (intent.payloadParts !== undefined) details.payload = payloadBound(policy, intent.payloadParts, intent.requestedAt);
  const shadows = shadowSteps(policy);
  if (shadows.length > 0) details.shadow_steps = shadows;
  if (intent.onPreconditionError !== undefined) {
    details.on_precondition_error = intent.onPreconditionError;
    const asked = preconditionSteps(policy);
    if (asked.length > 0) details.precondition_steps = asked;
  }
  const quietHours = quietHoursFor(policy, intent.region, intent.timeZone ?? null);
  if (quietHours) details.quiet_hours = quietHours;
  return { kind: 'NotificationAccepted', details };
};

/** The entry of an intent whose region the policy does not cover. */
const rejection = (policy: Policy, intent: Intent, expiresAt: Instant): Transition => ({
  kind: 'PolicyRejected',
  details: {
    reason: 'region', purpose: policy.purpose, policy_version: policy.version, requested_at: intent.requestedAt, expires_at: expiresAt, recipient_commitment: intent.recipientCommitment,
    ...(intent.payloadParts === undefined ? {} : { payload: payloadBound(policy, intent.payloadParts, intent.requestedAt) }),
  },
});

/** Accepts an intent: binds it to its policy version, skips what is barred, plans the first step (or all). */
export const accept = (work: Work, intent: Intent): void => {
  const { policy } = work.input;
  const expiresAt = intent.expiresAt ?? intent.requestedAt + policy.expiresAfterMs;
  if (!policy.regions[intent.region]) {
    work.emit(rejection(policy, intent, expiresAt));
    return destroyDue(work);
  }
  work.emit(acceptance(policy, intent, expiresAt));
  policy.steps.forEach(({ channel }, step) => {
    const reason = intent.barred[channel];
    if (reason) work.emit({ kind: 'StepSkipped', details: { step, channel, reason } });
  });
  startFirst(work);
  advance(work);
};

/** Plans the first step that may be used, or all of them; and every step in shadow, since none of them waits for another. */
const startFirst = (work: Work): void => {
  work.state.steps.forEach(({ phase, shadow }, index) => { if (phase === 'waiting' && shadow && !skipBarred(work, index)) planStep(work, index); });
  if (work.state.strategy === 'all') {
    work.state.steps.forEach(({ phase }, index) => { if (phase === 'waiting' && !skipBarred(work, index)) planStep(work, index); });
    return;
  }
  const first = nextToStart(work);
  if (first !== -1) planStep(work, first);
};

/** Closes the workflow: nothing is submitted any more; what is in flight is named as such, and what is at the provider stays observed. */
export const close = (work: Work, reason: string): void => {
  if (work.state.closed || work.state.rejected || work.state.version === 0) return;
  work.emit({ kind: 'NotificationClosed', details: { reason, in_flight: work.state.attempts.some((attempt) => attempt.state === 'submitting') } });
  takeBackQueued(work, 'closed');
};

/** The origin system needs nothing any more. */
const closeUnneeded = (work: Work): void => {
  if (work.state.precondition?.answer === 'not_needed') close(work, 'precondition_not_needed');
};

const rescue = (work: Work): void => {
  for (const attempt of work.state.attempts) {
    if (attempt.state === 'submitting' && (attempt.outcomeDueAt as Instant) <= work.input.now) outcomeUnknown(work, attempt, 'worker_lost');
  }
};

/** Whether expiry would still cut something off. */
const canExpire = (state: NotificationState): boolean =>
  !state.expired && (state.steps.some((step) => step.phase === 'waiting') || state.attempts.some(isUnsubmitted));

const expire = (work: Work): void => {
  if (work.input.now < work.state.expiresAt || !canExpire(work.state)) return;
  // A shadow that no worker took up ends by itself: the rest stands as it would without it.
  if (isOnlyShadow(work.state) || canExpire(withoutShadows(work.state))) work.emit({ kind: 'NotificationExpired', details: { reason: 'expired' } });
  takeBackQueued(work, 'expired');
};

const enqueueDue = (work: Work): void => {
  const { now } = work.input;
  for (const attempt of work.state.attempts) {
    if (attempt.state === 'planned' && attempt.startsAt <= now) queueAttempt(work, attempt);
    if (attempt.state === 'queued' && attempt.requeueAt !== null && attempt.requeueAt <= now) requeue(work, attempt.key);
  }
};

/**
 * Enqueues again an attempt whose job may have been lost. The first time under the same job id, which a job that still waits
 * swallows. After that under a new one: a job whose worker died with it in hand keeps its id until its lock is found stale,
 * which can take longer than the step has.
 */
const requeue = (work: Work, key: AttemptKey): void => {
  const attempt = work.attempt(key);
  const { now } = work.input;
  const generation = attempt.requeues === 0 ? attempt.generation : attempt.generation + 1;
  work.emit({ kind: 'AttemptRequeued', details: { attempt: key, generation, requeue_at: requeueInstant(work.stepFor(attempt), now, attempt.requeues + 1) } });
  work.request({ kind: 'enqueue', attempt: key, channel: attempt.channel, generation, notBeforeAt: now });
};

const endGrace = (work: Work): void => {
  if (work.input.now < work.state.reconcileUntil) return;
  for (const attempt of work.state.attempts.filter(isReconciling)) {
    work.emit({ kind: 'ReconciliationEnded', details: { attempt: attempt.key, reason: 'grace_ended' } });
  }
};

/** Nothing is live, and no later step can be claimed any more. */
export const isOver = (state: NotificationState): boolean => {
  if (state.attempts.some(isLive)) return false;
  if (!state.steps.some((step) => step.phase === 'waiting')) return true;
  const attempt = currentAttempt(state);
  // What waits may be claimed as soon as it is resumed.
  if (state.paused || claimBlockedUntil(state) !== null) return attempt?.state === 'delivered';
  return attempt !== null && (attempt.state === 'delivered' || hasFailed(attempt) || !awaitsDeadline(attempt));
};

/** Applies every rule that moves an open notification and whose instant has come. While paused, those that only record and end. */
const move = (work: Work): void => {
  let before: number;
  do {
    before = work.state.version;
    if (work.state.settledAt !== null || work.state.version === 0) return;
    rescue(work);
    expire(work);
    closeUnneeded(work);
    lapsePrecondition(work);
    lapse(work);
    if (!work.state.paused) {
      endBarred(work);
      heedProviders(work);
      escalate(work);
      resubmitDue(work);
      enqueueDue(work);
    }
    endGrace(work);
  } while (work.state.version !== before);
  if (isOver(work.state)) work.emit({ kind: 'NotificationSettled', details: { status: statusOnceSettled(work.state) } });
};

/** Applies every rule whose instant has come, until none is left; then destroys what nothing needs any more, also once settled. */
export const advance = (work: Work): void => {
  move(work);
  destroyDue(work);
};

const statusOnceSettled = (state: NotificationState) => {
  const settled = copyState(state);
  settled.settledAt ??= 0;
  return publicStatus(settled);
};

/** When something may be started because of an attempt; never while paused. */
const actedOnAt = (state: NotificationState, attempt: AttemptState): Instant | null => earliest(
  attempt.state === 'planned' ? attempt.startsAt : null,
  attempt.state === 'queued' ? attempt.requeueAt : null,
  mayResubmit(state, attempt) ? attempt.resubmitAt : null,
  awaitsDeadline(attempt) ? Math.max(attempt.lookUntil ?? attempt.decisionDeadlineAt, claimBlockedUntil(state) ?? 0) : null,
);

/**
 * The next instant at which a decision may be due; once settled, only a part of the payload may be. Always later than the instant at which the state was
 * last advanced.
 */
export const nextDecideAt = (state: NotificationState): Instant | null => {
  if (state.settledAt !== null || state.rejected || state.version === 0) return nextDestructionAt(state);
  let next = earliest(canExpire(state) ? state.expiresAt : null, blockedUntil(state), nextDestructionAt(state));
  for (const attempt of state.attempts) {
    if (attempt.state === 'submitting') next = earliest(next, attempt.outcomeDueAt);
    if (isReconciling(attempt)) next = earliest(next, state.reconcileUntil);
    if (attempt.state === 'queued' && mayBeSent(attempt)) next = earliest(next, attempt.resubmitUntil);
    if (!state.paused) next = earliest(next, actedOnAt(state, attempt));
  }
  return next;
};
