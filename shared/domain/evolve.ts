import type { AttemptKey, Instant } from './words.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { emptyState } from './state.ts';
import type { Stamped, Transition } from './transitions.ts';
import type { ReasonCode } from './reasons.ts';

type Patch = Partial<AttemptState>;

const patchAttempt = (state: NotificationState, key: AttemptKey, patch: (attempt: AttemptState) => Patch): NotificationState => {
  if (!state.attempts.some((attempt) => attempt.key === key)) throw new Error(`the ledger speaks of an attempt it never planned: ${key}`);
  return { ...state, attempts: state.attempts.map((attempt) => (attempt.key === key ? { ...attempt, ...patch(attempt) } : attempt)) };
};

const dropWaiting = (state: NotificationState, reason: ReasonCode): NotificationState => ({
  ...state,
  steps: state.steps.map((step) => (step.phase === 'waiting' ? { ...step, phase: 'dropped', reason } : step)),
});

const startStep = (state: NotificationState, index: number): NotificationState => ({
  ...state, steps: state.steps.map((step, at) => (at === index ? { ...step, phase: 'started', reason: null } : step)),
});

const ended = (name: AttemptState['state'], at: Instant, reason: ReasonCode | null): Patch => ({
  state: name, settledAt: at, reason, nextPollAt: null, requeueAt: null, outcomeDueAt: null, lookUntil: null, retryAt: null,
});

/** Counts one read, whether it brought evidence or not. */
const read = (attempt: AttemptState, nextPollAt: Instant | null, failed: boolean): Patch => ({
  nextPollAt,
  polls: attempt.polls + (failed ? 0 : 1),
  failedReads: failed ? attempt.failedReads + 1 : 0,
  pollsAfterDeadline: attempt.pollsAfterDeadline + (attempt.deadlinePassed || attempt.superseded ? 1 : 0),
});

const queued = (at: Instant, details: { generation: number; requeue_at: Instant }, retryAt: Instant | null): Patch => ({
  state: 'queued', queuedAt: at, generation: details.generation, retryAt, requeueAt: details.requeue_at, requeues: 0,
  submissionStartedAt: null, outcomeDueAt: null, nextPollAt: null,
});

const plannedAttempt = (at: Instant, t: Extract<Transition, { kind: 'AttemptPlanned' | 'AttemptRenderFailed' }>): AttemptState => {
  const { details: d } = t;
  const rendered = t.kind === 'AttemptPlanned';
  return {
    key: d.attempt, step: d.step, channel: d.channel, sequence: d.sequence, origin: d.origin, provider: d.provider,
    state: rendered ? 'planned' : 'render_failed',
    statusByPoll: rendered && t.details.status_by_poll, canLookUp: rendered && t.details.can_look_up,
    providerMessageId: null, renderHash: rendered ? t.details.render_hash : null, plannedAt: at,
    startsAt: rendered ? t.details.starts_at : at, decisionDeadlineAt: d.decision_deadline_at, deadlinePassed: false,
    superseded: false, queuedAt: null, generation: 0, retryAt: null, requeueAt: null, requeues: 0, submissions: 0,
    submissionStartedAt: null, outcomeDueAt: null, submittedAt: null, polls: 0, pollsAfterDeadline: 0, failedReads: 0,
    nextPollAt: null, evidence: null, lookUntil: null, settledAt: rendered ? null : at, reason: rendered ? null : t.details.reason,
  };
};

const evolveNotification = (state: NotificationState, at: Instant, t: Transition): NotificationState | null => {
  switch (t.kind) {
    case 'NotificationAccepted':
      return {
        ...state, purpose: t.details.purpose, policyVersion: t.details.policy_version, strategy: t.details.strategy,
        requestedAt: t.details.requested_at, expiresAt: t.details.expires_at, reconcileUntil: t.details.reconcile_until,
        steps: t.details.steps.map((channel) => ({ channel, phase: 'waiting', reason: null })),
      };
    case 'PolicyRejected':
      return {
        ...state, purpose: t.details.purpose, policyVersion: t.details.policy_version, requestedAt: t.details.requested_at,
        expiresAt: t.details.expires_at, reconcileUntil: t.details.expires_at, rejected: t.details.reason, settledAt: at,
      };
    case 'StepSkipped':
      return { ...state, steps: state.steps.map((step, index) => (index === t.details.step ? { ...step, phase: 'skipped', reason: t.details.reason } : step)) };
    case 'FallbackClaimed':
      return {
        ...state,
        attempts: state.attempts.map((attempt) => (attempt.superseded ? attempt : { ...attempt, superseded: true, lookUntil: null })),
      };
    case 'AttemptPlanned':
    case 'AttemptRenderFailed':
      return startStep({ ...state, attempts: [...state.attempts, plannedAttempt(at, t)] }, t.details.step);
    case 'NotificationClosed':
      return dropWaiting({ ...state, closed: { reason: t.details.reason, at } }, 'closed');
    case 'NotificationExpired':
      return dropWaiting({ ...state, expired: true }, 'expired');
    case 'NotificationSettled':
      return dropWaiting({ ...state, settledAt: at }, 'superseded');
    default:
      return null;
  }
};

type AttemptTransition = Exclude<Transition, { kind:
  'NotificationAccepted' | 'PolicyRejected' | 'StepSkipped' | 'FallbackClaimed' | 'AttemptPlanned' | 'AttemptRenderFailed'
  | 'NotificationClosed' | 'NotificationExpired' | 'NotificationSettled' }>;

const evolveAttempt = (attempt: AttemptState, at: Instant, t: AttemptTransition): Patch => {
  switch (t.kind) {
    case 'AttemptQueued': return queued(at, t.details, null);
    case 'AttemptRequeued': return { generation: t.details.generation, requeueAt: t.details.requeue_at, requeues: attempt.requeues + 1 };
    case 'AttemptCancelled': return ended('cancelled', at, t.details.reason);
    case 'AttemptExpired': return ended('expired', at, t.details.reason);
    case 'AttemptDeadLettered': return ended('dead_lettered', at, t.details.reason);
    case 'SubmissionStarted':
      return { state: 'submitting', submissions: t.details.submission, submissionStartedAt: at, outcomeDueAt: t.details.outcome_due_at, requeueAt: null, retryAt: null };
    case 'SubmissionAccepted':
      return {
        state: 'submitted', providerMessageId: t.details.provider_message_id, submittedAt: at, outcomeDueAt: null, reason: null,
        evidence: { outcome: t.details.outcome, at, source: 'submit' }, nextPollAt: t.details.next_poll_at, settledAt: t.details.final ? at : null,
      };
    case 'SubmissionDeferred':
    case 'SubmissionAbandoned':
      return { ...queued(at, t.details, t.details.retry_at), reason: t.details.reason };
    case 'SubmissionOutcomeUnknown':
      return { state: 'submitted_unknown', outcomeDueAt: null, reason: t.details.reason, nextPollAt: t.details.next_poll_at };
    case 'AttemptAdopted':
      return {
        ...read(attempt, t.details.next_poll_at, false), state: 'submitted', providerMessageId: t.details.provider_message_id,
        submittedAt: attempt.submissionStartedAt, reason: 'adopted', evidence: { outcome: t.details.outcome, at, source: 'look_up' },
      };
    case 'StatusObserved': return {
      ...(t.details.source === 'submit' ? {} : read(attempt, t.details.next_poll_at, false)),
      ...(t.details.counts ? { evidence: { outcome: higher(attempt.evidence?.outcome, t.details.outcome), at, source: t.details.source } } : {}),
    };
    case 'StatusReadFailed': return read(attempt, t.details.next_poll_at, true);
    case 'LookRequested': return { lookUntil: t.details.until, nextPollAt: attempt.nextPollAt === null ? at : Math.min(attempt.nextPollAt, at) };
    case 'AttemptDelivered': return ended('delivered', at, t.details.reason);
    case 'AttemptUndelivered': return ended('undelivered', at, t.details.reason);
    case 'AttemptRejected': return ended('rejected', at, t.details.reason);
    case 'AttemptSuppressed': return ended('suppressed', at, t.details.reason);
    case 'DeadlinePassed': return { deadlinePassed: true, lookUntil: null };
    case 'ReconciliationEnded': return { settledAt: at, nextPollAt: null, reason: attempt.reason ?? t.details.reason };
  }
};

type Evidenced = NonNullable<AttemptState['evidence']>['outcome'];
const RANK: Record<Evidenced, number> = { unknown: 0, pending: 1, accepted: 2, undelivered: 3, rejected: 3, suppressed: 3, delivered: 4 };

/** A status never falls: a provider that says *queued* after *sent* is ignored (and kept as an entry). */
const higher = (before: Evidenced | undefined, heard: Evidenced | 'not_found' | 'several'): Evidenced => {
  const now = heard === 'not_found' || heard === 'several' ? 'unknown' : heard;
  return before !== undefined && RANK[before] > RANK[now] ? before : now;
};

/** The next state: pure, and complete in the entry alone. Throws where the ledger contradicts itself. */
export const evolve = (state: NotificationState, { at, transition }: Stamped): NotificationState => {
  const next = evolveNotification(state, at, transition)
    ?? patchAttempt(state, (transition as AttemptTransition).details.attempt, (attempt) => evolveAttempt(attempt, at, transition as AttemptTransition));
  return { ...next, version: state.version + 1 };
};

/** The state of a notification from its entries alone (invariant 4). */
export const fold = (eventId: string, entries: readonly Stamped[]): NotificationState => entries.reduce(evolve, emptyState(eventId));
