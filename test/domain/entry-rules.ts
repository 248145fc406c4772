import type { NotificationState } from '../../shared/domain/state.ts';
import { findAttempt, hasFailed } from '../../shared/domain/state.ts';
import type { Stamped, Transition } from '../../shared/domain/transitions.ts';
import { must } from './broken-invariant.ts';
import type { Decided } from './invariants.ts';

/** What must not happen twice, over the life of a notification. */
export interface Tally { planned: Set<number>; claimed: Set<number>; answered: Set<string> }
export const openTally = (): Tally => ({ planned: new Set(), claimed: new Set(), answered: new Set() });

export interface Entry extends Decided { stamped: Stamped; from: NotificationState; to: NotificationState }
type Details<Kind extends Transition['kind']> = Extract<Transition, { kind: Kind }>['details'];

const once = (seen: Set<number>, value: number, invariant: string): void => {
  must(!seen.has(value), invariant, value);
  seen.add(value);
};

const submissionStarted = (tally: Tally, details: Details<'SubmissionStarted'>, { stamped: { at }, from, input }: Entry): void => {
  const attempt = findAttempt(from, details.attempt);
  must(attempt !== null && attempt.state === 'queued', 'a submission starts from the queue only', attempt);
  must(at < from.expiresAt && !from.expired, 'no submission is started after expiry (inv. 5)');
  must(from.closed === null, 'no submission is started after close (inv. 9)');
  must(attempt?.superseded === false, 'no submission is started on a superseded attempt (inv. 10)');
  must((attempt?.retryAt ?? 0) <= at, 'no submission is started before its retry instant');
  must(attempt !== null && details.outcome_due_at === at + (input.policy.steps[attempt.step]?.submitLimitMs ?? 0), 'every instant derives from the injected clock', details);
  must(details.submission === (attempt?.submissions ?? 0) + 1, 'submission numbers increase by one');
  must(details.submission === 1 || tally.answered.has(`${details.attempt}/${details.submission - 1}`), 'never a blind second send (inv. 6)', details);
};

const fallbackClaimed = (tally: Tally, details: Details<'FallbackClaimed'>, { stamped: { at }, from, input, command }: Entry): void => {
  once(tally.claimed, details.to_step, 'a fallback is claimed once (inv. 3)');
  const rests = details.rests_on;
  const attempt = rests && findAttempt(from, rests.attempt);
  const step = input.policy.steps[details.from_step];
  if (!rests || !attempt || !step) return must(false, 'a claim names what it rests on', details);
  must(step.escalateWhen.includes(rests.class), 'a claim is permitted by escalate_when', details);
  must(at < from.expiresAt && !from.closed && attempt.state !== 'delivered', 'nothing is claimed after expiry, close or delivery');
  const failed = details.cause === 'attempt_failed';
  must(failed ? hasFailed(attempt) : at >= attempt.decisionDeadlineAt, 'a claim needs a failure or the deadline', details);
  must(failed || command.kind !== 'record_status' || command.reading.kind !== 'read_failed' || at >= (attempt.lookUntil ?? attempt.decisionDeadlineAt), 'a failed status read claims nothing');
  const readable = attempt.state === 'submitted' ? attempt.statusByPoll : attempt.state === 'submitted_unknown' && attempt.canLookUp;
  const fresh = rests.observed_at !== null && rests.observed_at >= at - step.maxObservationAgeMs;
  must(!readable || fresh || (rests.stale && attempt.lookUntil !== null && attempt.lookUntil <= at), 'a claim on old evidence looks first', details);
};

const deferred = (tally: Tally, details: Details<'SubmissionDeferred' | 'SubmissionAbandoned'>, { stamped: { at }, from, command }: Entry): void => {
  tally.answered.add(`${details.attempt}/${details.submission}`);
  const wish = command.kind === 'record_submission' && command.result.kind === 'deferred' ? command.result.retryAfterMs ?? 0 : 0;
  must(details.retry_at > at && details.retry_at >= Math.min(at + wish, from.expiresAt), 'Retry-After is honoured', details);
  must(details.retry_at <= from.expiresAt, 'the transport clock is capped by expiry', details);
  must(details.requeue_at > details.retry_at, 'a retry is requeued after it is due', details);
};

const finalPoll = (key: string, nextPollAt: number | null, { stamped: { at }, to, input }: Entry): void => {
  const attempt = findAttempt(to, key);
  const step = attempt && input.policy.steps[attempt.step];
  if (!attempt || !step || attempt.state !== 'submitted' || !attempt.statusByPoll || attempt.settledAt !== null || attempt.superseded) return;
  const final = attempt.decisionDeadlineAt - step.finalPollLeadMs;
  must(at >= final || (nextPollAt !== null && nextPollAt > at && nextPollAt <= final), 'a final poll stands before the deadline', { nextPollAt, final });
};

const ADDRESS = /@|\+\d{7,}|(?<![0-9A-Z])\d{9,}|https?:/i;
const texts = (value: unknown): string[] =>
  (typeof value === 'string' ? [value] : value !== null && typeof value === 'object' ? Object.values(value).flatMap(texts) : []);

/** Checks one ledger entry against the state before and after it. Throws BrokenInvariant. */
export const checkTransition = (tally: Tally, entry: Entry): void => {
  const { transition } = entry.stamped;
  must(!texts(transition).some((text) => ADDRESS.test(text)), 'no address, text or link in the ledger (inv. 11)', transition);
  switch (transition.kind) {
    case 'AttemptPlanned':
    case 'AttemptRenderFailed':
      once(tally.planned, transition.details.step, 'a step is planned once by policy (inv. 3)');
      return must(entry.from.attempts.every((attempt) => attempt.key !== transition.details.attempt), 'an attempt key is used once', transition);
    case 'SubmissionStarted': return submissionStarted(tally, transition.details, entry);
    case 'SubmissionDeferred':
    case 'SubmissionAbandoned': return deferred(tally, transition.details, entry);
    case 'AttemptCancelled': {
      const attempt = findAttempt(entry.from, transition.details.attempt);
      return must(entry.from.closed !== null || attempt?.superseded === true, 'only a claim or a close takes an attempt back (inv. 8)', transition);
    }
    case 'FallbackClaimed': return fallbackClaimed(tally, transition.details, entry);
    case 'StatusObserved':
      // A late answer to a submission leaves the schedule as it is.
      return transition.details.source === 'submit' ? undefined : finalPoll(transition.details.attempt, transition.details.next_poll_at, entry);
    case 'SubmissionAccepted': return finalPoll(transition.details.attempt, transition.details.next_poll_at, entry);
    default: return undefined;
  }
};
