import type { Instant } from './words.ts';
import type { OnUnknown, PolicyStep } from './policy.ts';
import type { ReasonCode } from './reasons.ts';
import { amended } from './copies.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { hasLostPayload, isUnsubmitted, mayBeSent } from './state.ts';
import type { Work } from './work.ts';
import { requeueInstant, retryInstant } from './clocks.ts';
import { firstPoll } from './polling.ts';
import { opening } from './windows.ts';

/** Look-ups past the visibility lag that must have found nothing before an attempt counts as absent. */
const ENOUGH_LOOK_UPS = 2;

/**
 * What is done about an unknown outcome: what the policy says where the provider the attempt was planned for permits it, *hold*
 * otherwise. Replay needs a provider that drops duplicates, resubmission one that is searched by our own reference.
 */
export const unknownRule = (step: PolicyStep, attempt: AttemptState): OnUnknown => {
  if (step.onUnknown === 'replay' && attempt.replayWithinMs !== null) return 'replay';
  if (step.onUnknown === 'resubmit_if_absent' && attempt.reconcile === 'reference' && attempt.visibleAfterMs !== null) return 'resubmit_if_absent';
  return 'hold';
};

/** What an entry says beside where it was heard that one of an attempt is at the provider, while it is being submitted again. */
export const toldMeanwhile = (attempt: AttemptState, isThere: boolean): { found_meanwhile?: true } =>
  (isThere && attempt.state === 'submitting' && mayBeSent(attempt) ? { found_meanwhile: true } : {});

/** Until when a replay may start, so that its call ends while the provider still drops duplicates; null where there is no such window. */
export const replayUntil = (work: Work, attempt: AttemptState): Instant | null => {
  if (attempt.replayWithinMs === null || attempt.firstSubmissionAt === null) return null;
  return Math.min(attempt.firstSubmissionAt + attempt.replayWithinMs - work.stepFor(attempt).submitLimitMs, work.state.expiresAt);
};

/** When an attempt whose outcome has just become unknown is replayed; null where it is not. */
export const replayInstant = (work: Work, attempt: AttemptState): Instant | null => {
  const step = work.stepFor(attempt);
  const until = replayUntil(work, attempt);
  if (unknownRule(step, attempt) !== 'replay' || until === null || attempt.held || attempt.submissions >= step.transportRetry.maxSubmissions) return null;
  const at = retryInstant(step, attempt.submissions, work.input.now, { retryAfterMs: null, random: work.input.random });
  return at < until ? at : null;
};

/** Whether policy may submit an unknown attempt again now, as far as the state tells: not while its deadline waits for a look. */
export const mayResubmit = (state: NotificationState, attempt: AttemptState): boolean =>
  attempt.state === 'submitted_unknown' && attempt.settledAt === null && !attempt.superseded && !attempt.held && attempt.lookUntil === null
  && !state.closed && !state.paused && !state.expired && !hasLostPayload(state);

/** Takes an unknown attempt back to its queue, for another submission under the same key. */
export const planResubmission = (work: Work, attempt: AttemptState, basis: { reason: 'replay' | 'absent'; until: Instant }): void => {
  const { now } = work.input;
  const generation = attempt.generation + 1;
  work.emit({
    kind: 'ResubmissionPlanned',
    details: {
      attempt: attempt.key, reason: basis.reason, first_submission_at: attempt.firstSubmissionAt ?? attempt.plannedAt, look_ups: attempt.absentLookUps,
      until: basis.until, generation, requeue_at: requeueInstant(work.stepFor(attempt), now, 0),
    },
  });
  work.request({ kind: 'enqueue', attempt: attempt.key, channel: attempt.channel, generation, notBeforeAt: now });
};

/** Takes a resubmission back: the attempt is as unknown as before, and looked for again. With `hold` policy submits it no more. */
export const withdraw = (work: Work, attempt: AttemptState, reason: ReasonCode, hold: boolean): void => {
  const unknown = amended(attempt, { state: 'submitted_unknown', submissionStartedAt: attempt.unknownSubmissions[0]?.startedAt ?? attempt.submissionStartedAt });
  work.emit({ kind: 'ResubmissionWithdrawn', details: { attempt: attempt.key, reason, hold, next_poll_at: firstPoll(work, unknown) } });
};

/**
 * Takes back every attempt that waits in its queue: cancelled (or expired) where nothing of it is at the provider, unknown for
 * good where an earlier submission may be there. A claim supersedes nothing in shadow: that runs beside the steps.
 */
export const takeBackQueued = (work: Work, reason: 'superseded' | 'closed' | 'expired'): void => {
  for (const attempt of work.state.attempts.filter((one) => isUnsubmitted(one) && !(one.shadow && reason === 'superseded'))) {
    if (mayBeSent(attempt)) withdraw(work, attempt, reason, true);
    else work.emit({ kind: reason === 'expired' ? 'AttemptExpired' : 'AttemptCancelled', details: { attempt: attempt.key, reason } });
  }
};

/** Goes ahead with a resubmission that is due, unless its channel is barred by now, or silent. */
const goAhead = (work: Work, attempt: AttemptState, basis: { reason: 'replay' | 'absent'; until: Instant }): void => {
  const barred = work.input.eligibility(attempt.channel, true) ?? (opening(work, attempt.channel) === work.input.now ? null : 'quiet_hours');
  return barred === null ? planResubmission(work, attempt, basis) : withdraw(work, attempt, barred, true);
};

const resubmit = (work: Work, attempt: AttemptState): void => {
  const { now } = work.input;
  const { maxObservationAgeMs, transportRetry } = work.stepFor(attempt);
  if (attempt.resubmitAt !== null && attempt.resubmitAt <= now) {
    const until = replayUntil(work, attempt);
    return until !== null && now < until ? goAhead(work, attempt, { reason: 'replay', until }) : withdraw(work, attempt, 'basis_lapsed', true);
  }
  const rule = unknownRule(work.stepFor(attempt), attempt);
  if (rule !== 'resubmit_if_absent' || attempt.foundMeanwhile || attempt.absentLookUps < ENOUGH_LOOK_UPS || attempt.submissions >= transportRetry.maxSubmissions || now >= work.state.expiresAt) return;
  // What was absent a while ago may be visible by now: the finding lapses as any observation does.
  goAhead(work, attempt, { reason: 'absent', until: Math.min(now + Math.max(1, maxObservationAgeMs), work.state.expiresAt) });
};

/** Submits again what its policy step says to, where that is due. */
export const resubmitDue = (work: Work): void => {
  for (const { key } of work.state.attempts) {
    const attempt = work.attempt(key);
    if (mayResubmit(work.state, attempt)) resubmit(work, attempt);
  }
};

/** A resubmission that waited too long in its queue has lost its basis: the provider may have forgotten the key, or show the message by now. */
export const lapse = (work: Work): void => {
  for (const attempt of work.state.attempts) {
    if (attempt.state !== 'queued' || !mayBeSent(attempt) || attempt.resubmitUntil === null || attempt.resubmitUntil > work.input.now) continue;
    withdraw(work, attempt, 'basis_lapsed', unknownRule(work.stepFor(attempt), attempt) !== 'resubmit_if_absent');
  }
};
