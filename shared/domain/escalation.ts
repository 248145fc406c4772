import type { Instant } from './words.ts';
import type { AttemptState } from './state.ts';
import { canBeRead, currentAttempt, failedFirsthand, hasFailed, isUnsubmitted, mayBeSent } from './state.ts';
import type { RestsOn } from './transitions.ts';
import { nextToStart, wasBarred } from './eligibility.ts';
import type { Work } from './work.ts';
import { planStep } from './plan-attempt.ts';
import { takeBackQueued, withdraw } from './resubmission.ts';
import { isStillNeeded } from './precondition.ts';
import { opening } from './windows.ts';

type EvidenceClass = RestsOn['class'];

/** How an attempt stands when its deadline asks. */
export const evidenceClass = (attempt: AttemptState): EvidenceClass => {
  if (hasFailed(attempt)) return 'failed';
  if (isUnsubmitted(attempt) && !mayBeSent(attempt)) return 'pending';
  if (attempt.state !== 'submitted') return 'unknown';
  return attempt.evidence?.outcome === 'accepted' ? 'accepted' : 'pending';
};

const nextWaiting = (work: Work): number => work.state.steps.findIndex((step) => step.phase === 'waiting');

const restsOn = (attempt: AttemptState, stale: boolean): RestsOn => ({
  attempt: attempt.key, class: evidenceClass(attempt), observed_at: attempt.evidence?.at ?? null,
  source: attempt.evidence?.source ?? 'ledger', stale,
});

/** Claims the next step: every earlier attempt with nothing at the provider is cancelled in the same append (invariant 10). */
const claim = (work: Work, from: AttemptState, cause: 'deadline' | 'attempt_failed' | 'provider_unavailable', stale: boolean): void => {
  const to = nextWaiting(work);
  const channel = work.state.steps[to]?.channel ?? from.channel;
  work.emit({ kind: 'FallbackClaimed', details: { from_step: from.step, to_step: to, channel, cause, rests_on: restsOn(from, stale) } });
  takeBackQueued(work, 'superseded');
  planStep(work, to);
};

const isFresh = (work: Work, attempt: AttemptState): boolean =>
  attempt.evidence !== null && attempt.evidence.at >= work.input.now - work.stepFor(attempt).maxObservationAgeMs;

/** Whether the deadline of an attempt may start the next step: never that of an operator's retry. Skips what is barred on the way there. */
const mayClaimFrom = (work: Work, attempt: AttemptState): boolean =>
  attempt.origin === 'policy' && work.stepFor(attempt).escalateWhen.includes(evidenceClass(attempt)) && nextToStart(work) !== -1;

/** A claim leaves nothing in a queue: what waits there to be submitted again is unknown, and is looked for before the claim. */
const toBeJudged = (work: Work, attempt: AttemptState): AttemptState => {
  if (attempt.state !== 'queued' || !mayBeSent(attempt) || !mayClaimFrom(work, attempt)) return attempt;
  withdraw(work, attempt, 'deadline', true);
  return work.attempt(attempt.key);
};

/** The deadline's own rule: claim, look once more, or let it pass. */
const atDeadline = (work: Work, found: AttemptState): void => {
  const attempt = toBeJudged(work, found);
  const step = work.stepFor(attempt);
  const { now } = work.input;
  if (!mayClaimFrom(work, attempt)) {
    work.emit({ kind: 'DeadlinePassed', details: { attempt: attempt.key, class: evidenceClass(attempt) } });
    return;
  }
  const needsLook = canBeRead(attempt) && !isFresh(work, attempt);
  if (needsLook && attempt.lookUntil === null) {
    work.emit({ kind: 'LookRequested', details: { attempt: attempt.key, until: now + step.lookWithinMs } });
    return;
  }
  if (needsLook && now < (attempt.lookUntil as Instant)) return;
  if (isStillNeeded(work, 'claim', nextWaiting(work))) claim(work, attempt, 'deadline', needsLook);
};

/**
 * Escalation: a definite failure of the newest attempt claims the next step at once, its deadline claims it where the step's
 * `escalate_when` permits. Steps are claimed at most once, for a started step never waits again.
 */
export const escalate = (work: Work): void => {
  const attempt = currentAttempt(work.state);
  const mayClaim = attempt !== null && work.state.strategy === 'escalate' && failedFirsthand(attempt);
  if (mayClaim && (wasBarred(attempt) || work.stepFor(attempt).escalateWhen.includes('failed')) && nextToStart(work) !== -1 && isStillNeeded(work, 'claim', nextWaiting(work))) {
    claim(work, attempt, 'attempt_failed', false);
  }
  if (attempt && work.state.strategy === 'escalate' && isStranded(work, attempt) && nextToStart(work) !== -1 && isStillNeeded(work, 'claim', nextWaiting(work))) claim(work, attempt, 'provider_unavailable', false);
  passDeadlines(work);
};

/**
 * Waits for a provider that refuses us, with nothing at it and a later step that could start now, whose provider does not: waiting for the deadline would
 * bring no news. A policy that escalates on *pending* or on *failed* means this too.
 */
const isStranded = (work: Work, attempt: AttemptState): boolean => {
  if (attempt.providerWaitAt === null || mayBeSent(attempt)) return false;
  const { escalateWhen } = work.stepFor(attempt);
  if (!escalateWhen.includes('pending') && !escalateWhen.includes('failed')) return false;
  const next = work.state.steps[nextWaiting(work)];
  return next !== undefined && work.provider(work.input.carriers[next.channel].name).state === 'closed' && opening(work, next.channel) === work.input.now;
};

const passDeadlines = (work: Work): void => {
  for (const { key } of work.state.attempts) {
    const attempt = work.attempt(key);
    if (isDeadlineDue(attempt, work.input.now)) atDeadline(work, attempt);
  }
};

/** Whether an attempt's deadline has come and was not dealt with. */
const isDeadlineDue = (attempt: AttemptState, now: Instant): boolean => awaitsDeadline(attempt) && attempt.decisionDeadlineAt <= now;

/** Whether an attempt's deadline still means something: not in shadow, not ended for good, not superseded, not passed. */
export const awaitsDeadline = (attempt: AttemptState): boolean =>
  !attempt.shadow && !attempt.superseded && !attempt.deadlinePassed && !hasFailed(attempt)
  && attempt.state !== 'delivered' && attempt.state !== 'cancelled' && attempt.state !== 'expired';
