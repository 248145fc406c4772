import type { AttemptKey, Instant } from './words.ts';
import type { SubmitResult } from './provider-answers.ts';
import { amended } from './copies.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { findAttempt, isPastExpiry, mayBeSent } from './state.ts';
import type { Work } from './work.ts';
import { isRecordedLate, retryInstant } from './clocks.ts';
import type { DeadLetterReason } from './plan-attempt.ts';
import { deadLetter, requeueGeneration } from './plan-attempt.ts';
import { firstPoll } from './polling.ts';
import { replayInstant, toldMeanwhile, unknownRule, withdraw } from './resubmission.ts';
import type { ReasonCode } from './reasons.ts';
import { afterProbe, isAccountRefusal, isProbe } from './provider-state.ts';
import { beginsIncident, openProvider, passProvider } from './provider-trouble.ts';

/** What one call came to, and when its answer was there. */
interface Answer { submission: number; result: SubmitResult; answeredAt?: Instant }

/** Why a worker may not start a submission now; a normal answer, not an error. */
export type StartRefusal = 'no_such_attempt' | 'already_started' | 'not_yet' | 'paused' | 'provider_waits' | 'ended';

/** Whether a submission of that attempt may start, and why not. Due rules were applied before. */
export const startRefusal = (state: NotificationState, key: AttemptKey, now: number): StartRefusal | null => {
  const attempt = findAttempt(state, key);
  if (!attempt) return 'no_such_attempt';
  if (attempt.state === 'submitting' || attempt.state === 'submitted' || attempt.state === 'submitted_unknown') return 'already_started';
  if (attempt.state !== 'queued' || state.closed || state.expired || attempt.superseded || now >= state.expiresAt) return 'ended';
  if (state.paused) return 'paused';
  if (attempt.providerWaitAt !== null) return 'provider_waits';
  return attempt.retryAt !== null && attempt.retryAt > now ? 'not_yet' : null;
};

/** Starts a submission: recorded before the call, with the instant at which a missing outcome becomes unknown. */
export const startSubmission = (work: Work, key: AttemptKey): void => {
  const attempt = work.attempt(key);
  const submission = attempt.submissions + 1;
  const outcomeDueAt = work.input.now + work.stepFor(attempt).submitLimitMs;
  const { throttle } = work.stepFor(attempt);
  if (throttle && submission === 1) work.request({ kind: 'throttle', attempt: key, channel: attempt.channel, most: throttle.most, withinMs: throttle.withinMs });
  const probe = passProvider(work, attempt, { submission, outcomeDueAt });
  work.emit({ kind: 'SubmissionStarted', details: probe ? { attempt: key, submission, outcome_due_at: outcomeDueAt, probe } : { attempt: key, submission, outcome_due_at: outcomeDueAt } });
};

/** Ends an attempt in shadow, where its provider would have been called. `reason` says why it could not have been. */
export const endShadowed = (work: Work, key: AttemptKey, reason: ReasonCode | null): void => work.emit({ kind: 'AttemptShadowed', details: { attempt: key, reason } });

/** Books the outcome as unknown: live until its grace ends, looked for where the provider can be asked, never called failed. */
export const outcomeUnknown = (work: Work, attempt: AttemptState, reason: ReasonCode): void => {
  const next = firstPoll(work, amended(attempt, { state: 'submitted_unknown' }));
  work.emit({
    kind: 'SubmissionOutcomeUnknown',
    details: {
      attempt: attempt.key, submission: attempt.submissions, reason, next_poll_at: next, on_unknown: unknownRule(work.stepFor(attempt), attempt),
      resubmit_at: replayInstant(work, attempt),
    },
  });
};

/** An answer that is old by the time it is recorded is asked about again at once: the provider may know more. */
const accepted = (work: Work, attempt: AttemptState, { submission, answeredAt }: Answer, providerMessageId: string): void => {
  const { now } = work.input;
  const late = answeredAt !== undefined && isRecordedLate(answeredAt, now) ? { answered_at: answeredAt } : {};
  const scheduled = firstPoll(work, amended(attempt, { state: 'submitted', submittedAt: late.answered_at ?? now }));
  const next = scheduled !== null && late.answered_at !== undefined ? Math.min(scheduled, now + 1) : scheduled;
  work.emit({
    kind: 'SubmissionAccepted',
    details: {
      attempt: attempt.key, submission, provider_message_id: providerMessageId,
      outcome: attempt.statusByPoll ? 'pending' : 'accepted', next_poll_at: next, final: !attempt.statusByPoll && !attempt.reportsByMail, ...late,
    },
  });
};

/** Whether another submission than that one may have been processed. */
const isElsewhereUnknown = (attempt: AttemptState, submission: number): boolean => attempt.unknownSubmissions.some((one) => one.submission !== submission);

/** Ends an attempt that must not be tried again, whatever came of this submission; false where it may. */
const isOver = (work: Work, attempt: AttemptState, maybeSent: boolean): boolean => {
  const over = attempt.superseded ? 'superseded' : work.state.closed ? 'closed' : isPastExpiry(work.state, work.input.now) ? 'expired' : null;
  if (over === null) return false;
  if (maybeSent) withdraw(work, attempt, over, true);
  else work.emit({ kind: over === 'expired' ? 'AttemptExpired' : 'AttemptCancelled', details: { attempt: attempt.key, reason: over } });
  return true;
};

/** Broken off before its end, since what it carries is not what was planned: trying again would change nothing until somebody mends it. */
const unsendable = (work: Work, attempt: AttemptState, reason: 'artifact_damaged' | 'artifact_missing'): void => {
  const maybeSent = isElsewhereUnknown(attempt, attempt.submissions);
  if (!isOver(work, attempt, maybeSent)) deadLetter(work, attempt, reason, maybeSent);
};

/**
 * Definitely not processed, so nothing of this submission is at the provider: end it where it must not be tried again, else
 * queue it anew. Where an earlier one may be there, its end is to be as unknown as before.
 */
const notProcessed = (work: Work, attempt: AttemptState, reason: ReasonCode, retryAfterMs: number | null): void => {
  const { now, random } = work.input;
  const step = work.stepFor(attempt);
  const { key, submissions } = attempt;
  const maybeSent = isElsewhereUnknown(attempt, submissions);
  if (isOver(work, attempt, maybeSent)) return;
  // One of it is at the provider, which drops no duplicate: it is looked for, and not sent again.
  if (attempt.foundMeanwhile && maybeSent && attempt.replayWithinMs === null) return withdraw(work, attempt, 'found_meanwhile', false);
  // Refusals of the account use up nothing: the message had no part in them, and the provider's own probes bound them.
  if (!isAccountRefusal(reason) && submissions - attempt.accountRefusals >= step.transportRetry.maxSubmissions) return deadLetter(work, attempt, 'retries_exhausted', maybeSent);
  const wished = reason === 'start_too_late' ? now + 1 : retryInstant(step, submissions, now, { retryAfterMs, random });
  // Nothing starts at expiry: the cap keeps a provider's absurd Retry-After out of the ledger, and retries nothing sooner.
  const retryAt = Math.min(wished, work.state.expiresAt);
  const details = { attempt: key, submission: submissions, reason, ...requeueGeneration(work, attempt, retryAt) };
  work.emit(reason === 'start_too_late' ? { kind: 'SubmissionAbandoned', details } : { kind: 'SubmissionDeferred', details });
};

/**
 * Our account was refused. The first refusal opens the provider, and is the incident's one dead letter; so is that of an operator's
 * retry, who is waiting for the answer. Whatever is refused meanwhile waits for the provider, and has not failed.
 */
const accountRefused = (work: Work, attempt: AttemptState, reason: 'provider_auth' | 'provider_account', maybeSent: boolean): void => {
  // Nothing of it is to be retried any more, so it is no operator's work: whoever is refused next begins the incident.
  if (work.state.closed || isPastExpiry(work.state, work.input.now)) return notProcessed(work, attempt, reason, null);
  const begins = beginsIncident(work, attempt);
  if (begins) openProvider(work, attempt, reason);
  if (begins || attempt.origin === 'operator') return deadLetter(work, attempt, reason, maybeSent);
  notProcessed(work, attempt, reason, null);
};

/** The answer of a call whose attempt has moved on meanwhile is kept, and changes nothing. */
const late = (work: Work, attempt: AttemptState, result: SubmitResult): void => {
  const outcome = result.kind === 'accepted' ? 'accepted' : result.kind === 'rejected' ? result.outcome : 'unknown';
  const reason = 'reason' in result ? result.reason : null;
  work.emit({ kind: 'StatusObserved', details: { attempt: attempt.key, source: 'submit', outcome, reason, counts: false, next_poll_at: attempt.nextPollAt, ...toldMeanwhile(attempt, result.kind === 'accepted') } });
};

/**
 * Records what one transport call came to. It is taken at its word while its submission is the newest one and its outcome is
 * open (also after the rescue had booked it as unknown); otherwise it is kept as a late observation. Where an earlier submission
 * may have been processed, only an acceptance ends that: a refusal of the second says nothing for certain about the first.
 */
export const recordSubmission = (work: Work, key: AttemptKey, answer: Answer): void => {
  const { submission, result } = answer;
  const { provider } = work.attempt(key);
  const probed = isProbe(work.provider(provider), key, submission);
  bookSubmission(work, key, answer);
  if (probed) work.setProvider(provider, afterProbe(work.provider(provider), result, work.input));
};

const bookSubmission = (work: Work, key: AttemptKey, answer: Answer): void => {
  const { submission, result } = answer;
  const attempt = work.attempt(key);
  const open = attempt.submissions === submission && (attempt.state === 'submitting' || (attempt.state === 'submitted_unknown' && attempt.settledAt === null));
  const elsewhere = isElsewhereUnknown(attempt, submission);
  if (!open) return result.kind === 'accepted' && isStillAwaited(attempt, submission) ? accepted(work, attempt, answer, result.providerMessageId) : late(work, attempt, result);
  if (elsewhere && attempt.state === 'submitted_unknown' && result.kind !== 'accepted') return late(work, attempt, result);
  switch (result.kind) {
    case 'accepted': return accepted(work, attempt, answer, result.providerMessageId);
    case 'deferred': return notProcessed(work, attempt, result.reason, result.retryAfterMs);
    case 'abandoned': return notProcessed(work, attempt, result.reason, null);
    case 'unsendable': return unsendable(work, attempt, result.reason);
    case 'provider_unavailable': return accountRefused(work, attempt, result.reason, elsewhere);
    case 'rejected':
      if (elsewhere) return withdraw(work, attempt, result.reason, true);
      return work.emit({
        kind: result.outcome === 'suppressed' ? 'AttemptSuppressed' : 'AttemptRejected',
        details: { attempt: key, source: 'submit', reason: result.reason },
      });
    case 'unknown':
      return attempt.state === 'submitting' ? outcomeUnknown(work, attempt, result.reason) : late(work, attempt, result);
  }
};

/** Unknown, and not being submitted again at this very moment: an acceptance that comes late all the same is the truth about it. */
const isStillAwaited = (attempt: AttemptState, submission: number): boolean =>
  attempt.settledAt === null && (attempt.state === 'queued' || attempt.state === 'submitted_unknown') && attempt.unknownSubmissions.some((one) => one.submission === submission);

export type SubmitRefusal = Extract<DeadLetterReason, 'render_drift' | 'payload_destroyed' | 'carrier_changed'>;

/**
 * A message that no longer renders to the hash fixed at planning, whose payload is gone, or that was planned for a provider
 * which carries its channel no more, is a dead letter, never a call. In shadow it is a finding, and no operator's work.
 */
export const refuseToSubmit = (work: Work, key: AttemptKey, reason: SubmitRefusal): void => {
  const attempt = work.attempt(key);
  if (attempt.shadow) return endShadowed(work, key, reason);
  deadLetter(work, attempt, reason, mayBeSent(attempt));
};

