import type { AttemptState, NotificationState } from './state.ts';

// A state is copied for every entry, and an attempt with it. Spreading them gave a hidden class to each place that spread: whatever reads attempts then met
// dozens of classes, made anew all the time, and took the slowest way. So they are copied here and nowhere else, each by one literal in one order.

/** What is there only where it says something: plain JSON has no undefined. */
type SeldomOfAttempt = 'reportsByMail' | 'foundMeanwhile' | 'shadow';
type SeldomOfState = 'quietHours' | 'payload' | 'erased';

/** An attempt of the members of that one, of those that are known here alone. */
export const knownAttempt = (a: AttemptState): AttemptState => {
  const copy: AttemptState = {
    key: a.key, step: a.step, channel: a.channel, sequence: a.sequence, origin: a.origin, state: a.state, provider: a.provider, statusByPoll: a.statusByPoll,
    canLookUp: a.canLookUp, reconcile: a.reconcile, replayWithinMs: a.replayWithinMs, visibleAfterMs: a.visibleAfterMs, providerMessageId: a.providerMessageId,
    renderHash: a.renderHash, plannedAt: a.plannedAt, startsAt: a.startsAt, decisionDeadlineAt: a.decisionDeadlineAt, deadlinePassed: a.deadlinePassed,
    superseded: a.superseded, queuedAt: a.queuedAt, generation: a.generation, retryAt: a.retryAt, requeueAt: a.requeueAt, requeues: a.requeues,
    providerWaitAt: a.providerWaitAt, accountRefusals: a.accountRefusals, submissions: a.submissions, firstSubmissionAt: a.firstSubmissionAt,
    submissionStartedAt: a.submissionStartedAt, outcomeDueAt: a.outcomeDueAt, submittedAt: a.submittedAt, polls: a.polls, pollsAfterDeadline: a.pollsAfterDeadline,
    failedReads: a.failedReads, nextPollAt: a.nextPollAt, evidence: a.evidence, lookUntil: a.lookUntil, unknownSubmissions: a.unknownSubmissions,
    absentLookUps: a.absentLookUps, resubmitAt: a.resubmitAt, resubmitUntil: a.resubmitUntil, held: a.held, corrected: a.corrected, settledAt: a.settledAt, reason: a.reason,
  } satisfies Omit<Required<AttemptState>, SeldomOfAttempt>;
  if (a.reportsByMail !== undefined) copy.reportsByMail = a.reportsByMail;
  if (a.foundMeanwhile !== undefined) copy.foundMeanwhile = a.foundMeanwhile;
  if (a.shadow !== undefined) copy.shadow = a.shadow;
  return copy;
};

const ATTEMPT_MEMBERS = Object.keys(knownAttempt({} as AttemptState)).length;

/** It has members that are not known here: services are replaced one by one, and one of a later release may have written them. They are passed on. */
export const attemptHasMore = (a: AttemptState): boolean =>
  Object.keys(a).length > ATTEMPT_MEMBERS + (a.reportsByMail === undefined ? 0 : 1) + (a.foundMeanwhile === undefined ? 0 : 1) + (a.shadow === undefined ? 0 : 1);

/** A copy of an attempt that may be changed until it is handed out. */
export const copyAttempt = (attempt: AttemptState): AttemptState => (attemptHasMore(attempt) ? { ...attempt } : knownAttempt(attempt));

/** An attempt with some of it changed. */
export const amended = (attempt: AttemptState, change: Partial<AttemptState>): AttemptState => Object.assign(copyAttempt(attempt), change);

/** As `knownAttempt`. */
export const knownState = (s: NotificationState): NotificationState => {
  const copy: NotificationState = {
    eventId: s.eventId, version: s.version, purpose: s.purpose, policyVersion: s.policyVersion, strategy: s.strategy, requestedAt: s.requestedAt, expiresAt: s.expiresAt,
    reconcileUntil: s.reconcileUntil, rejected: s.rejected, closed: s.closed, paused: s.paused, expired: s.expired, precondition: s.precondition, steps: s.steps,
    attempts: s.attempts, settledAt: s.settledAt,
  } satisfies Omit<Required<NotificationState>, SeldomOfState>;
  if (s.quietHours !== undefined) copy.quietHours = s.quietHours;
  if (s.payload !== undefined) copy.payload = s.payload;
  if (s.erased !== undefined) copy.erased = s.erased;
  return copy;
};

const STATE_MEMBERS = Object.keys(knownState({} as NotificationState)).length;

/** As `attemptHasMore`. */
export const stateHasMore = (s: NotificationState): boolean =>
  Object.keys(s).length > STATE_MEMBERS + (s.quietHours === undefined ? 0 : 1) + (s.payload === undefined ? 0 : 1) + (s.erased === undefined ? 0 : 1);

/** A copy of a state, attempts and steps shared with it, that may be changed until it is handed out. */
export const copyState = (state: NotificationState): NotificationState => (stateHasMore(state) ? { ...state } : knownState(state));
