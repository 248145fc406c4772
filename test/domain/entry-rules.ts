import { offsetAt } from '../../shared/content/time-zones.ts';
import { isQuiet } from '../../shared/domain/quiet-hours.ts';
import type { AttemptState, NotificationState } from '../../shared/domain/state.ts';
import { findAttempt, hasFailed } from '../../shared/domain/state.ts';
import type { Stamped, Transition } from '../../shared/domain/transitions.ts';
import { must } from './broken-invariant.ts';
import type { Decided } from './invariants.ts';
import { couldSubmit, goneBy } from '../simulation/payload-rules.ts';
import type { Fate } from './resubmission-rules.ts';
import { checkFate } from './resubmission-rules.ts';

/** What must not happen twice, over the life of a notification. */
export interface Tally { planned: Set<number>; claimed: Set<number>; answered: Set<string>; fates: Map<string, Fate> }
export const openTally = (): Tally => ({ planned: new Set(), claimed: new Set(), answered: new Set(), fates: new Map() });

export interface Entry extends Decided { stamped: Stamped; from: NotificationState; to: NotificationState }
type Details<Kind extends Transition['kind']> = Extract<Transition, { kind: Kind }>['details'];

const once = (seen: Set<number>, value: number, invariant: string): void => {
  must(!seen.has(value), invariant, value);
  seen.add(value);
};

/** Whether the channel is silent for this recipient then. */
const isSilent = ({ quietHours }: NotificationState, channel: 'sms' | 'email', at: number): boolean => {
  const terms = quietHours?.[channel];
  return terms !== undefined && isQuiet(terms, offsetAt, at);
};

/** What waits for the end of quiet hours waits to that very instant, before expiry, and its deadline counts from there. */
const waitsForOpening = ({ starts_at: startsAt, channel }: { starts_at: number; channel: 'sms' | 'email' }, { stamped: { at }, from }: Entry): void => {
  must(!isSilent(from, channel, startsAt) && (startsAt === at || isSilent(from, channel, startsAt - 1)), 'what waits for its opening starts right then', [at, startsAt]);
  must(startsAt >= at && startsAt < from.expiresAt, 'an opening is waited for before expiry only', [at, startsAt]);
};

const submissionStarted = (tally: Tally, details: Details<'SubmissionStarted'>, { stamped: { at }, from, input }: Entry): void => {
  const attempt = findAttempt(from, details.attempt);
  must(attempt !== null && attempt.state === 'queued', 'a submission starts from the queue only', attempt);
  must(at < from.expiresAt && !from.expired, 'no submission is started after expiry (inv. 5)');
  must(from.closed === null, 'no submission is started after close (inv. 9)');
  must(from.paused === null, 'no submission is started while paused (inv. 9)');
  must(attempt !== null && input.eligibility(attempt.channel) === null, 'no submission is started on a barred channel (inv. 9)', details);
  must(attempt !== null && !isSilent(from, attempt.channel, at), 'no submission is started inside quiet hours', details);
  must(attempt?.superseded === false, 'no submission is started on a superseded attempt (inv. 10)');
  must((attempt?.retryAt ?? 0) <= at, 'no submission is started before its retry instant');
  must(attempt !== null && details.outcome_due_at === at + (input.policy.steps[attempt.step]?.submitLimitMs ?? 0), 'every instant derives from the injected clock', details);
  must(details.submission === (attempt?.submissions ?? 0) + 1, 'submission numbers increase by one');
  must(details.submission === 1 || tally.answered.has(`${details.attempt}/${details.submission - 1}`), 'never a blind second send (inv. 6)', details);
};

/** Where a precondition stands, its answer must: younger than ten seconds, and not *not needed*; an error counts where policy sends all the same. */
const stillNeeded = ({ stamped: { at }, from: { precondition }, input }: Entry, step: number): void => {
  // By the policy itself, not by what the state made of it; a policy that names no step means all.
  const named = input.policy.steps.some((one) => one.precondition !== undefined);
  if (precondition === null || (named && input.policy.steps[step]?.precondition === undefined)) return;
  const { answer, askedUntil, validUntil, onError } = precondition;
  const says = answer === 'needed' || (answer === 'error' && onError === 'send');
  must(says && askedUntil === null && validUntil !== null && at < validUntil && validUntil - at <= 10_000, 'no claim or submission without a valid answer where a precondition stands', precondition);
};

const fallbackClaimed = (tally: Tally, details: Details<'FallbackClaimed'>, entry: Entry): void => {
  const { stamped: { at }, from, input, command } = entry;
  once(tally.claimed, details.to_step, 'a fallback is claimed once (inv. 3)');
  stillNeeded(entry, details.to_step);
  const rests = details.rests_on;
  const attempt = rests && findAttempt(from, rests.attempt);
  const step = input.policy.steps[details.from_step];
  if (!rests || !attempt || !step) return must(false, 'a claim names what it rests on', details);
  // Barred when it was ended; whatever bars it may be gone by the time that the claim is permitted.
  const barred = attempt.state === 'suppressed' && attempt.reason !== 'opted_out';
  const permitted = step.escalateWhen.includes(rests.class) || (details.cause === 'provider_unavailable' && step.escalateWhen.includes('failed'));
  must(barred || permitted, 'a claim is permitted by escalate_when', details);
  must(input.eligibility(details.channel) === null, 'no barred channel is claimed (inv. 9)', details);
  must(at < from.expiresAt && !from.closed && attempt.state !== 'delivered', 'nothing is claimed after expiry, close or delivery');
  must(from.paused === null, 'nothing is claimed while paused (inv. 9)');
  must(!attempt.corrected && attempt.origin === 'policy', 'neither a correction nor an operator\'s retry claims a step (inv. 8)', attempt);
  const failed = details.cause === 'attempt_failed';
  const stranded = details.cause === 'provider_unavailable';
  if (stranded) must(attempt.state === 'queued' && attempt.providerWaitAt !== null && attempt.unknownSubmissions.length === 0, 'only what waits for its provider claims for that', attempt);
  else must(failed ? hasFailed(attempt) : at >= attempt.decisionDeadlineAt, 'a claim needs a failure or the deadline', details);
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

const plannedByOperator = (details: Details<'AttemptPlanned' | 'AttemptRenderFailed'>, { stamped: { at }, from, command }: Entry): void => {
  const before = from.attempts.filter((attempt) => attempt.channel === details.channel).at(-1);
  must(command.kind === 'retry', 'only an operator plans a step again (inv. 3)', command);
  must(before !== undefined && hasFailed(before) && details.sequence === before.sequence + 1, 'sequence n+1 exists only after n ended in a definite failure (inv. 3)', before);
  must(!from.closed && !from.paused && at < from.expiresAt, 'nothing is retried after close or expiry, or while paused');
  const may = command.kind === 'retry' && command.overrides.evenIfDelivered === true;
  must(may || !from.attempts.some((attempt) => attempt.state === 'delivered' && (from.strategy === 'escalate' || attempt.channel === details.channel)), 'nothing is retried once delivered, unless that is overridden');
};

const corrected = (details: Details<'DeliveryCorrected'>, { from, command, decision }: Entry): void => {
  const said = command.kind === 'record_status' && command.reading.kind === 'observed' && command.reading.laterBounce === true;
  must(said && findAttempt(from, details.attempt)?.state === 'delivered', 'only an explicit later bounce corrects a delivery (inv. 8)', command);
  const follows = decision.transitions.some(({ transition: { kind } }) => kind === 'FallbackClaimed' || kind === 'AttemptPlanned' || kind === 'ResubmissionPlanned');
  must(!follows && decision.requests.length === 0, 'a correction triggers nothing (inv. 8)', decision.transitions);
};

const SUBMITS: ReadonlySet<string> = new Set(['SubmissionStarted', 'AttemptPlanned', 'AttemptQueued', 'ResubmissionPlanned', 'SubmissionDeferred', 'SubmissionAbandoned']);

const payloadKept = ({ stamped: { at, transition }, from }: Entry): void => {
  const lost = from.erased !== undefined || Object.keys(from.payload?.destroyed ?? {}).length > 0;
  must(!lost || !SUBMITS.has(transition.kind), 'nothing is submitted once a part of the payload is destroyed', transition);
  if (transition.kind !== 'PayloadDestroyed') return;
  if (transition.details.erasure) return must(from.settledAt !== null || from.closed !== null || from.rejected !== null, 'whoever is erased, nothing of it could still be sent by itself', from);
  must(!couldSubmit(from, at), 'a payload is destroyed only once no further submission is possible', from);
  const due = goneBy(from).filter((one) => one.at <= at).map((one) => one.part);
  must(transition.details.parts.every((part) => due.includes(part)), 'a part is destroyed once, and not before its time', transition);
};

const ADDRESS = /@|\+\d{7,}|(?<![0-9A-Z])\d{9,}|https?:/i;
const texts = (value: unknown): string[] =>
  (typeof value === 'string' ? [value] : value !== null && typeof value === 'object' ? Object.values(value).flatMap(texts) : []);

/** Checks one ledger entry against the state before and after it. Throws BrokenInvariant. */
export const checkTransition = (tally: Tally, entry: Entry): void => {
  const { transition } = entry.stamped;
  must(!texts(transition).some((text) => ADDRESS.test(text)), 'no address, text or link in the ledger (inv. 11)', transition);
  checkFate(tally.fates, entry);
  payloadKept(entry);
  switch (transition.kind) {
    case 'AttemptPlanned':
    case 'AttemptRenderFailed':
      if (transition.details.origin === 'policy') once(tally.planned, transition.details.step, 'a step is planned once by policy (inv. 3)');
      else plannedByOperator(transition.details, entry);
      must(entry.input.eligibility(transition.details.channel) === null, 'nothing is planned on a barred channel (inv. 9)', transition);
      if (transition.kind === 'AttemptPlanned') {
        const { starts_at: startsAt, decision_deadline_at: deadlineAt, step } = transition.details;
        waitsForOpening(transition.details, entry);
        must((startsAt === entry.stamped.at || deadlineAt > startsAt) && deadlineAt <= startsAt + (entry.input.policy.steps[step]?.decideWithinMs ?? 0), 'a deadline counts from the opening', transition);
      }
      return must(entry.from.attempts.every((attempt) => attempt.key !== transition.details.attempt), 'an attempt key is used once', transition);
    case 'AttemptPostponed': {
      const attempt = findAttempt(entry.from, transition.details.attempt);
      must(entry.from.paused === null && attempt !== null && attempt.unknownSubmissions.length === 0, 'only what was definitely not sent is postponed, and not while paused', transition);
      must(transition.details.starts_at > entry.stamped.at, 'what is postponed starts later', transition);
      return waitsForOpening({ ...transition.details, channel: attempt?.channel ?? 'sms' }, entry);
    }
    case 'AttemptQueued':
      must(!isSilent(entry.from, findAttempt(entry.from, transition.details.attempt)?.channel ?? 'sms', entry.stamped.at), 'nothing is queued inside quiet hours', transition);
      return must(entry.from.paused === null, 'nothing is queued while paused (inv. 9)', transition);
    case 'AttemptRequeued':
    case 'AttemptHeld':
    case 'AttemptReleased': return must(entry.from.paused === null, 'nothing is queued while paused (inv. 9)', transition);
    case 'ResubmissionPlanned':
      tally.answered.add(`${transition.details.attempt}/${findAttempt(entry.from, transition.details.attempt)?.submissions}`);
      return undefined;
    case 'DeliveryCorrected': return corrected(transition.details, entry);
    case 'SubmissionStarted':
      stillNeeded(entry, findAttempt(entry.from, transition.details.attempt)?.step ?? -1);
      return submissionStarted(tally, transition.details, entry);
    case 'SubmissionDeferred':
    case 'SubmissionAbandoned': return deferred(tally, transition.details, entry);
    case 'StepSkipped': {
      const { channel, reason } = transition.details;
      const never = entry.command.kind === 'accept' && entry.command.intent.barred[channel] === reason;
      const silent = reason === 'quiet_hours' && isSilent(entry.from, channel, entry.stamped.at);
      return must(never || silent || entry.input.eligibility(channel) === reason, 'a step is skipped for the reason that bars its channel', transition);
    }
    case 'AttemptSuppressed': {
      const { attempt, source, reason } = transition.details;
      const { channel, state, retryAt } = findAttempt(entry.from, attempt) as AttemptState;
      const silent = reason === 'quiet_hours' && isSilent(entry.from, channel, Math.max(entry.stamped.at, retryAt ?? 0));
      return must(source !== 'eligibility' || ((state === 'queued' || state === 'planned') && (silent || entry.input.eligibility(channel) === reason)), 'only a barred channel ends what waits', transition);
    }
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
