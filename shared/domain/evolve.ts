import type { AttemptKey, ErasedPerson, Instant } from './words.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { emptyState } from './state.ts';
import type { PayloadBound, Stamped, Transition } from './transitions.ts';
import type { ReasonCode } from './reasons.ts';
import type { AttemptTransition, Patch } from './evolve-attempt.ts';
import { evolveAttempt, leavesQueue, plannedAttempt, setFree } from './evolve-attempt.ts';

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

const payloadOf = (bound: PayloadBound | undefined): Pick<NotificationState, 'payload'> => (bound === undefined ? {} : {
  payload: {
    parts: bound.parts, variables: bound.variables, addresses: bound.addresses, retryWindowMs: bound.retry_window_ms, retentionUntil: bound.retention_until, destroyed: {},
    ...(bound.after_settling === undefined ? {} : { afterSettling: bound.after_settling }),
  },
});
const withErased = (at: Instant, erasure: { of: ErasedPerson } | undefined, state: NotificationState): NotificationState =>
  (erasure === undefined ? state : { ...state, erased: { ...state.erased, [erasure.of]: at } });
/** What was turned away at its submission for want of an answer is enqueued anew, unless the answer holds it. */
const answered = (state: NotificationState, at: Instant, { answer, valid_until: validUntil }: { answer: 'needed' | 'not_needed' | 'error'; valid_until: Instant }): NotificationState => {
  const { precondition } = state;
  if (precondition === null) return state;
  const goesOn = answer === 'needed' || (answer === 'error' && precondition.onError === 'send');
  return {
    ...state,
    precondition: { ...precondition, askedUntil: null, answer, validUntil, errors: answer === 'error' ? precondition.errors + 1 : 0 },
    attempts: goesOn ? state.attempts.map((attempt) => (attempt.state === 'queued' && attempt.providerWaitAt === null ? { ...attempt, ...setFree(attempt, at) } : attempt)) : state.attempts,
  };
};

const evolveNotification = (state: NotificationState, at: Instant, t: Transition): NotificationState | null => {
  switch (t.kind) {
    case 'NotificationAccepted':
      return {
        ...state, purpose: t.details.purpose, policyVersion: t.details.policy_version, strategy: t.details.strategy,
        requestedAt: t.details.requested_at, expiresAt: t.details.expires_at, reconcileUntil: t.details.reconcile_until,
        precondition: t.details.on_precondition_error === undefined ? null : {
          onError: t.details.on_precondition_error, ...(t.details.precondition_steps ? { steps: t.details.precondition_steps } : {}), askedUntil: null, answer: null, validUntil: null, errors: 0,
        },
        steps: t.details.steps.map((channel, index) => ({ channel, phase: 'waiting', reason: null, ...(t.details.shadow_steps?.includes(index) ? { shadow: true } : {}) })), ...payloadOf(t.details.payload),
        ...(t.details.quiet_hours ? { quietHours: t.details.quiet_hours } : {}),
      };
    case 'PolicyRejected':
      return {
        ...state, purpose: t.details.purpose, policyVersion: t.details.policy_version, requestedAt: t.details.requested_at,
        expiresAt: t.details.expires_at, reconcileUntil: t.details.expires_at, rejected: t.details.reason, settledAt: at, ...payloadOf(t.details.payload),
      };
    case 'StepSkipped':
      return { ...state, steps: state.steps.map((step, index) => (index === t.details.step ? { ...step, phase: 'skipped', reason: t.details.reason } : step)) };
    case 'FallbackClaimed':
      return {
        ...state,
        attempts: state.attempts.map((attempt) => (attempt.superseded || attempt.shadow ? attempt : { ...attempt, superseded: true, lookUntil: null })),
      };
    case 'AttemptPlanned':
    case 'AttemptRenderFailed':
      return startStep({ ...state, attempts: [...state.attempts, plannedAttempt(at, t)] }, t.details.step);
    case 'NotificationClosed':
      return dropWaiting({ ...state, closed: { reason: t.details.reason, at }, paused: null }, 'closed');
    case 'PreconditionAsked':
      return { ...state, precondition: state.precondition && { ...state.precondition, askedUntil: t.details.until, answer: null, validUntil: null } };
    case 'PreconditionAnswered':
      return answered(state, at, t.details);
    case 'PreconditionLapsed':
      return { ...state, precondition: state.precondition && { ...state.precondition, answer: null, validUntil: null } };
    case 'NotificationPaused':
      // A pause holds by itself: what waited for its provider is looked at anew once it is resumed.
      return { ...state, paused: { reason: t.details.reason, at }, attempts: state.attempts.map((attempt) => (attempt.providerWaitAt === null ? attempt : { ...attempt, providerWaitAt: null })) };
    case 'NotificationResumed':
      return { ...state, paused: null, attempts: state.attempts.map((attempt) => (attempt.state === 'queued' ? { ...attempt, ...setFree(attempt, at) } : attempt)) };
    case 'OperatorRetried':
      if (t.details.means === 'new_attempt') return { ...state, settledAt: null };
      return patchAttempt(state, t.details.attempt, (attempt) => ({
        held: false, ...(t.details.means === 'look_up' ? { nextPollAt: Math.min(attempt.nextPollAt ?? at, at) } : {}),
      }));
    case 'NotificationExpired':
      return dropWaiting({ ...state, expired: true }, 'expired');
    case 'NotificationSettled':
      return dropWaiting({ ...state, settledAt: at }, 'superseded');
    case 'PayloadDestroyed':
      return withErased(at, t.details.erasure, state.payload ? { ...state, payload: { ...state.payload, destroyed: { ...state.payload.destroyed, ...Object.fromEntries(t.details.parts.map((part) => [part, at])) } } } : state);
    default:
      return null;
  }
};

/** The next state: pure, and complete in the entry alone. Throws where the ledger contradicts itself. */
export const evolve = (state: NotificationState, { at, transition }: Stamped): NotificationState => {
  const next = evolveNotification(state, at, transition)
    ?? patchAttempt(state, (transition as AttemptTransition).details.attempt, (attempt) => leavesQueue(evolveAttempt(attempt, at, transition as AttemptTransition)));
  return { ...next, version: state.version + 1 };
};

/** The state of a notification from its entries alone (invariant 4). */
export const fold = (eventId: string, entries: readonly Stamped[]): NotificationState => entries.reduce(evolve, emptyState(eventId));
