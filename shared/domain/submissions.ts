import type { AttemptKey } from './words.ts';
import type { SubmitResult } from './provider-answers.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { canBeRead, findAttempt } from './state.ts';
import type { Work } from './work.ts';
import { nextPoll, retryInstant } from './clocks.ts';
import { deadLetter, requeueGeneration } from './plan-attempt.ts';
import type { ReasonCode } from './reasons.ts';

/** Why a worker may not start a submission now; a normal answer, not an error. */
export type StartRefusal = 'no_such_attempt' | 'already_started' | 'not_yet' | 'ended';

/** Whether a submission of that attempt may start, and why not. Due rules were applied before. */
export const startRefusal = (state: NotificationState, key: AttemptKey, now: number): StartRefusal | null => {
  const attempt = findAttempt(state, key);
  if (!attempt) return 'no_such_attempt';
  if (attempt.state === 'submitting' || attempt.state === 'submitted' || attempt.state === 'submitted_unknown') return 'already_started';
  if (attempt.state !== 'queued' || state.closed || state.expired || attempt.superseded || now >= state.expiresAt) return 'ended';
  return attempt.retryAt !== null && attempt.retryAt > now ? 'not_yet' : null;
};

/** Starts a submission: recorded before the call, with the instant at which a missing outcome becomes unknown. */
export const startSubmission = (work: Work, key: AttemptKey): void => {
  const attempt = work.attempt(key);
  work.emit({
    kind: 'SubmissionStarted',
    details: { attempt: key, submission: attempt.submissions + 1, outcome_due_at: work.input.now + work.stepFor(attempt).submitLimitMs },
  });
};

/** The first instant at which an accepted attempt is polled, or an unknown one looked for; null where nothing can be read. */
const firstPoll = (work: Work, attempt: AttemptState): number | null => {
  if (!canBeRead(attempt)) return null;
  const { now, policy, random } = work.input;
  return nextPoll({ attempt, step: work.stepFor(attempt), policy, reconcileUntil: work.state.reconcileUntil, now, random });
};

/** Books the outcome as unknown: live until its grace ends, looked for where the provider can be asked, never called failed. */
export const outcomeUnknown = (work: Work, attempt: AttemptState, reason: ReasonCode): void => {
  const next = firstPoll(work, { ...attempt, state: 'submitted_unknown' });
  work.emit({ kind: 'SubmissionOutcomeUnknown', details: { attempt: attempt.key, submission: attempt.submissions, reason, next_poll_at: next } });
};

const accepted = (work: Work, attempt: AttemptState, providerMessageId: string): void => {
  const next = firstPoll(work, { ...attempt, state: 'submitted', submittedAt: work.input.now });
  work.emit({
    kind: 'SubmissionAccepted',
    details: {
      attempt: attempt.key, submission: attempt.submissions, provider_message_id: providerMessageId,
      outcome: attempt.statusByPoll ? 'pending' : 'accepted', next_poll_at: next, final: !attempt.statusByPoll,
    },
  });
};

/** Definitely not processed, so nothing is at the provider: end it where it must not be tried again, else queue it anew. */
const notProcessed = (work: Work, attempt: AttemptState, reason: ReasonCode, retryAfterMs: number | null): void => {
  const { now, random } = work.input;
  const step = work.stepFor(attempt);
  const { superseded, key, submissions } = attempt;
  if (superseded || work.state.closed) {
    return work.emit({ kind: 'AttemptCancelled', details: { attempt: key, reason: superseded ? 'superseded' : 'closed' } });
  }
  if (now >= work.state.expiresAt) return work.emit({ kind: 'AttemptExpired', details: { attempt: key, reason: 'expired' } });
  if (submissions >= step.transportRetry.maxSubmissions) return deadLetter(work, attempt, 'retries_exhausted');
  const wished = reason === 'start_too_late' ? now + 1 : retryInstant(step, submissions, now, { retryAfterMs, random });
  // Nothing starts at expiry: the cap keeps a provider's absurd Retry-After out of the ledger, and retries nothing sooner.
  const retryAt = Math.min(wished, work.state.expiresAt);
  const details = { attempt: key, submission: submissions, reason, ...requeueGeneration(work, attempt, retryAt) };
  work.emit(reason === 'start_too_late' ? { kind: 'SubmissionAbandoned', details } : { kind: 'SubmissionDeferred', details });
};

/** The answer of a call whose attempt has moved on meanwhile is kept, and changes nothing. */
const late = (work: Work, attempt: AttemptState, result: SubmitResult): void => {
  const outcome = result.kind === 'accepted' ? 'accepted' : result.kind === 'rejected' ? result.outcome : 'unknown';
  const reason = 'reason' in result ? result.reason : null;
  work.emit({ kind: 'StatusObserved', details: { attempt: attempt.key, source: 'submit', outcome, reason, counts: false, next_poll_at: attempt.nextPollAt } });
};

/**
 * Records what one transport call came to. It is taken at its word while its submission is the newest one and its outcome is
 * open (also after the rescue had booked it as unknown); otherwise it is kept as a late observation.
 */
export const recordSubmission = (work: Work, key: AttemptKey, submission: number, result: SubmitResult): void => {
  const attempt = work.attempt(key);
  const open = attempt.submissions === submission && (attempt.state === 'submitting' || (attempt.state === 'submitted_unknown' && attempt.settledAt === null));
  if (!open) return late(work, attempt, result);
  switch (result.kind) {
    case 'accepted': return accepted(work, attempt, result.providerMessageId);
    case 'deferred': return notProcessed(work, attempt, result.reason, result.retryAfterMs);
    case 'abandoned': return notProcessed(work, attempt, result.reason, null);
    case 'provider_unavailable': return deadLetter(work, attempt, result.reason);
    case 'rejected':
      return work.emit({
        kind: result.outcome === 'suppressed' ? 'AttemptSuppressed' : 'AttemptRejected',
        details: { attempt: key, source: 'submit', reason: result.reason },
      });
    case 'unknown':
      return attempt.state === 'submitting' ? outcomeUnknown(work, attempt, result.reason) : late(work, attempt, result);
  }
};

/** A message that no longer renders to the hash fixed at planning, or whose payload is gone, is a dead letter, never a call. */
export const refuseToSubmit = (work: Work, key: AttemptKey, reason: 'render_drift' | 'payload_destroyed'): void =>
  deadLetter(work, work.attempt(key), reason);

