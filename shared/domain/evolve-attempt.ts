import type { Instant } from './words.ts';
import type { AttemptState } from './state.ts';
import { submissionStart } from './state.ts';
import { knownAttempt } from './copies.ts';
import type { Transition } from './transitions.ts';
import type { ReasonCode } from './reasons.ts';
import { isAccountRefusal } from './provider-state.ts';
import { isPastDeadline } from './polling.ts';

/** What a transition changes in its attempt. */
export type Patch = Partial<AttemptState>;

const ended = (name: AttemptState['state'], at: Instant, reason: ReasonCode | null): Patch => ({
  state: name, settledAt: at, reason, nextPollAt: null, requeueAt: null, outcomeDueAt: null, lookUntil: null, retryAt: null,
  unknownSubmissions: [], resubmitAt: null, resubmitUntil: null,
});

/** Counts one read, whether it brought evidence or not. */
const read = (attempt: AttemptState, at: Instant, nextPollAt: Instant | null, failed: boolean): Patch => ({
  nextPollAt,
  polls: attempt.polls + (failed ? 0 : 1),
  failedReads: failed ? attempt.failedReads + 1 : 0,
  pollsAfterDeadline: attempt.pollsAfterDeadline + (isPastDeadline(attempt, at) ? 1 : 0),
});

const queued = (at: Instant, details: { generation: number; requeue_at: Instant }, retryAt: Instant | null): Patch => ({
  state: 'queued', queuedAt: at, generation: details.generation, retryAt, requeueAt: details.requeue_at, requeues: 0,
  submissionStartedAt: null, outcomeDueAt: null, nextPollAt: null, providerWaitAt: null,
});

/** Whatever leaves the queue waits for no provider any more. */
export const leavesQueue = (patch: Patch): Patch => {
  if (patch.state !== undefined && patch.state !== 'queued') patch.providerWaitAt = null;
  return patch;
};

/** Resuming puts it into its queue anew, under a new job id: a job may be in hand that has already been turned away. */
export const setFree = (attempt: AttemptState, at: Instant): Patch => ({ requeueAt: Math.max(at, attempt.retryAt ?? at), requeues: Math.max(1, attempt.requeues) });

/** It is known where the message is: nothing waits to be submitted any more. */
const KNOWN: Patch = { unknownSubmissions: [], resubmitAt: null, resubmitUntil: null, requeueAt: null, retryAt: null, absentLookUps: 0 };
const nowKnown = (patch: Patch): Patch => Object.assign(patch, KNOWN);

/** Look-ups in a row that found nothing, asked for when the message would have to be visible. */
const absences = (attempt: AttemptState, askedAt: Instant, seen: { source: string; outcome: string; counts: boolean }): number => {
  if (seen.source !== 'look_up' || !seen.counts) return attempt.absentLookUps;
  const booked = attempt.unknownSubmissions.at(-1)?.bookedAt;
  if (seen.outcome !== 'not_found' || booked === undefined || attempt.visibleAfterMs === null) return 0;
  return askedAt >= booked + attempt.visibleAfterMs ? attempt.absentLookUps + 1 : 0;
};

/** The attempt that an entry plans, or that could not be rendered. */
export const plannedAttempt = (at: Instant, t: Extract<Transition, { kind: 'AttemptPlanned' | 'AttemptRenderFailed' }>): AttemptState => {
  const { details: d } = t;
  const rendered = t.kind === 'AttemptPlanned';
  return knownAttempt({
    key: d.attempt, step: d.step, channel: d.channel, sequence: d.sequence, origin: d.origin, provider: d.provider,
    state: rendered ? 'planned' : 'render_failed',
    statusByPoll: rendered && t.details.status_by_poll, canLookUp: rendered && t.details.can_look_up,
    reportsByMail: rendered && t.details.reports_by_mail ? true : undefined,
    // Entries from before these were recorded promise nothing of a provider.
    reconcile: (rendered ? t.details.reconcile : null) ?? 'none', replayWithinMs: (rendered ? t.details.replay_within_ms : null) ?? null,
    visibleAfterMs: (rendered ? t.details.visible_after_ms : null) ?? null,
    providerMessageId: null, renderHash: rendered ? t.details.render_hash : null, plannedAt: at,
    startsAt: rendered ? t.details.starts_at : at, decisionDeadlineAt: d.decision_deadline_at, deadlinePassed: false,
    superseded: false, queuedAt: null, generation: 0, retryAt: null, requeueAt: null, requeues: 0, providerWaitAt: null, accountRefusals: 0, submissions: 0,
    firstSubmissionAt: null, unknownSubmissions: [], absentLookUps: 0, resubmitAt: null, resubmitUntil: null, held: false, corrected: false,
    submissionStartedAt: null, outcomeDueAt: null, submittedAt: null, polls: 0, pollsAfterDeadline: 0, failedReads: 0,
    nextPollAt: null, evidence: null, lookUntil: null, settledAt: rendered ? null : at, reason: rendered ? null : t.details.reason, shadow: d.shadow,
  });
};

type Evidenced = NonNullable<AttemptState['evidence']>['outcome'];
const RANK: Record<Evidenced, number> = { unknown: 0, pending: 1, accepted: 2, undelivered: 3, rejected: 3, suppressed: 3, delivered: 4 };

/** A status never falls: a provider that says *queued* after *sent* is ignored (and kept as an entry). */
const higher = (before: Evidenced | undefined, heard: Evidenced | 'not_found' | 'several'): Evidenced => {
  const now = heard === 'not_found' || heard === 'several' ? 'unknown' : heard;
  return before !== undefined && RANK[before] > RANK[now] ? before : now;
};

type Seen = Extract<Transition, { kind: 'StatusObserved' }>['details'];

const observed = (attempt: AttemptState, at: Instant, seen: Seen): Patch => {
  const patch: Patch = seen.source === 'submit' || seen.source === 'mailbox' ? {} : read(attempt, at, seen.next_poll_at, false);
  const askedAt = seen.asked_at ?? at;
  patch.absentLookUps = absences(attempt, askedAt, seen);
  if (seen.counts) patch.evidence = { outcome: higher(attempt.evidence?.outcome, seen.outcome), at: askedAt, source: seen.source };
  if (seen.found_meanwhile) patch.foundMeanwhile = true;
  return patch;
};

/** The transitions that change one attempt, and nothing else of its notification. */
export type AttemptTransition = Exclude<Transition, { kind:
  'NotificationAccepted' | 'PolicyRejected' | 'StepSkipped' | 'FallbackClaimed' | 'AttemptPlanned' | 'AttemptRenderFailed'
  | 'PreconditionAsked' | 'PreconditionAnswered' | 'PreconditionLapsed' | 'NotificationPaused' | 'NotificationResumed' | 'OperatorRetried' | 'NotificationClosed' | 'NotificationExpired' | 'NotificationSettled'
  | 'PayloadDestroyed' }>;

/** What a transition changes in the attempt that it is about. */
export const evolveAttempt = (attempt: AttemptState, at: Instant, t: AttemptTransition): Patch => {
  switch (t.kind) {
    case 'AttemptQueued': return queued(at, t.details, null);
    case 'AttemptPostponed': return { state: 'planned', startsAt: t.details.starts_at, retryAt: null, requeueAt: null, requeues: 0 };
    case 'AttemptRequeued': return { generation: t.details.generation, requeueAt: t.details.requeue_at, requeues: attempt.requeues + 1 };
    case 'AttemptHeld': return { providerWaitAt: at, requeueAt: null };
    case 'AttemptReleased': return { providerWaitAt: null, generation: t.details.generation, requeueAt: t.details.requeue_at, requeues: 0 };
    case 'AttemptCancelled': return ended('cancelled', at, t.details.reason);
    case 'AttemptExpired': return ended('expired', at, t.details.reason);
    case 'AttemptDeadLettered': return ended('dead_lettered', at, t.details.reason);
    case 'AttemptShadowed': return ended('shadowed', at, t.details.reason);
    case 'SubmissionStarted':
      return { state: 'submitting', submissions: t.details.submission, submissionStartedAt: at, outcomeDueAt: t.details.outcome_due_at, requeueAt: null, retryAt: null, firstSubmissionAt: attempt.firstSubmissionAt ?? at };
    case 'SubmissionAccepted':
      return nowKnown({
        state: 'submitted', providerMessageId: t.details.provider_message_id, submittedAt: t.details.answered_at ?? at, outcomeDueAt: null, reason: null,
        evidence: { outcome: t.details.outcome, at: t.details.answered_at ?? at, source: 'submit' }, nextPollAt: t.details.next_poll_at, settledAt: t.details.final ? at : null,
      });
    case 'SubmissionDeferred':
    case 'SubmissionAbandoned':
      return {
        ...queued(at, t.details, t.details.retry_at), reason: t.details.reason, accountRefusals: attempt.accountRefusals + (isAccountRefusal(t.details.reason) ? 1 : 0),
        unknownSubmissions: attempt.unknownSubmissions.filter(({ submission }) => submission !== t.details.submission),
      };
    case 'SubmissionOutcomeUnknown':
      return {
        state: 'submitted_unknown', outcomeDueAt: null, reason: t.details.reason, nextPollAt: t.details.next_poll_at, absentLookUps: 0,
        resubmitAt: t.details.resubmit_at ?? null, resubmitUntil: null,
        unknownSubmissions: [...attempt.unknownSubmissions, { submission: t.details.submission, startedAt: attempt.submissionStartedAt ?? at, bookedAt: at, reason: t.details.reason }],
      };
    case 'ResubmissionPlanned':
      return { ...queued(at, t.details, null), resubmitAt: null, resubmitUntil: t.details.until, absentLookUps: 0 };
    case 'ResubmissionWithdrawn':
      return {
        state: 'submitted_unknown', nextPollAt: t.details.next_poll_at, reason: attempt.unknownSubmissions.at(-1)?.reason ?? attempt.reason,
        submissionStartedAt: submissionStart(attempt), held: attempt.held || t.details.hold, absentLookUps: 0,
        outcomeDueAt: null, requeueAt: null, retryAt: null, resubmitAt: null, resubmitUntil: null,
      };
    case 'AttemptAdopted':
      return nowKnown({
        ...read(attempt, at, t.details.next_poll_at, false), state: 'submitted', providerMessageId: t.details.provider_message_id,
        submittedAt: submissionStart(attempt), reason: 'adopted', evidence: { outcome: t.details.outcome, at: t.details.asked_at ?? at, source: 'look_up' },
      });
    case 'StatusObserved': return observed(attempt, at, t.details);
    case 'StatusReadFailed': return read(attempt, at, t.details.next_poll_at, true);
    case 'LookRequested': return { lookUntil: t.details.until, nextPollAt: attempt.nextPollAt === null ? at : Math.min(attempt.nextPollAt, at) };
    case 'AttemptDelivered': return ended('delivered', at, t.details.reason);
    case 'AttemptUndelivered': return ended('undelivered', at, t.details.reason);
    case 'AttemptRejected': return ended('rejected', at, t.details.reason);
    case 'AttemptSuppressed': return ended('suppressed', at, t.details.reason);
    // Everything else of it stands, also when it ended: nothing follows from a correction.
    case 'DeliveryCorrected': return { state: 'undelivered', reason: t.details.reason, corrected: true };
    case 'DeadlinePassed': return { deadlinePassed: true, lookUntil: null };
    case 'ReconciliationEnded': return { settledAt: at, nextPollAt: null, reason: attempt.reason ?? t.details.reason };
  }
};
