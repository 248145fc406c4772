import type { AttemptKey, Instant } from './words.ts';
import type { AttemptState, NotificationState, StepState } from './state.ts';
import { emptyState } from './state.ts';
import { amended, copyState } from './copies.ts';
import type { PayloadBound, Stamped, Transition } from './transitions.ts';
import type { ReasonCode } from './reasons.ts';
import type { AttemptTransition, Patch } from './evolve-attempt.ts';
import { evolveAttempt, leavesQueue, plannedAttempt, setFree } from './evolve-attempt.ts';

/** What an entry changes in its notification. */
type StatePatch = Partial<NotificationState>;

/** The attempts with one of them changed. */
const patchAttempt = (state: NotificationState, key: AttemptKey, patch: (attempt: AttemptState) => Patch): StatePatch => {
  const index = state.attempts.findIndex((attempt) => attempt.key === key);
  const attempt = state.attempts[index];
  if (attempt === undefined) throw new Error(`the ledger speaks of an attempt it never planned: ${key}`);
  const attempts = state.attempts.slice();
  attempts[index] = amended(attempt, patch(attempt));
  return { attempts };
};

const changeStep = ({ steps }: NotificationState, index: number, phase: StepState['phase'], reason: ReasonCode | null): StepState[] =>
  steps.map((step, at) => (at === index ? { ...step, phase, reason } : step));

const dropWaiting = ({ steps }: NotificationState, reason: ReasonCode): StepState[] => steps.map((step) => (step.phase === 'waiting' ? { ...step, phase: 'dropped', reason } : step));

const payloadOf = (bound: PayloadBound | undefined): StatePatch => (bound === undefined ? {} : {
  payload: {
    parts: bound.parts, variables: bound.variables, addresses: bound.addresses, retryWindowMs: bound.retry_window_ms, retentionUntil: bound.retention_until, destroyed: {},
    ...(bound.after_settling === undefined ? {} : { afterSettling: bound.after_settling }),
  },
});

const destroyed = ({ payload, erased }: NotificationState, at: Instant, { parts, erasure }: Extract<Transition, { kind: 'PayloadDestroyed' }>['details']): StatePatch => ({
  ...(payload ? { payload: { ...payload, destroyed: { ...payload.destroyed, ...Object.fromEntries(parts.map((part) => [part, at])) } } } : {}),
  ...(erasure ? { erased: { ...erased, [erasure.of]: at } } : {}),
});

/** What was turned away at its submission for want of an answer is enqueued anew, unless the answer holds it. */
const answered = ({ precondition, attempts }: NotificationState, at: Instant, { answer, valid_until: validUntil }: { answer: 'needed' | 'not_needed' | 'error'; valid_until: Instant }): StatePatch => {
  if (precondition === null) return {};
  const goesOn = answer === 'needed' || (answer === 'error' && precondition.onError === 'send');
  return {
    precondition: { ...precondition, askedUntil: null, answer, validUntil, errors: answer === 'error' ? precondition.errors + 1 : 0 },
    attempts: goesOn ? attempts.map((attempt) => (attempt.state === 'queued' && attempt.providerWaitAt === null ? amended(attempt, setFree(attempt, at)) : attempt)) : attempts,
  };
};

const acceptedAs = ({ details: d }: Extract<Transition, { kind: 'NotificationAccepted' }>): StatePatch => ({
  purpose: d.purpose, policyVersion: d.policy_version, strategy: d.strategy, requestedAt: d.requested_at, expiresAt: d.expires_at, reconcileUntil: d.reconcile_until,
  precondition: d.on_precondition_error === undefined ? null : {
    onError: d.on_precondition_error, ...(d.precondition_steps ? { steps: d.precondition_steps } : {}), askedUntil: null, answer: null, validUntil: null, errors: 0,
  },
  steps: d.steps.map((channel, index) => (d.shadow_steps?.includes(index) ? { channel, phase: 'waiting', reason: null, shadow: true } : { channel, phase: 'waiting', reason: null })),
  ...payloadOf(d.payload),
  ...(d.quiet_hours ? { quietHours: d.quiet_hours } : {}),
});

const evolveNotification = (state: NotificationState, at: Instant, t: Transition): StatePatch | null => {
  switch (t.kind) {
    case 'NotificationAccepted':
      return acceptedAs(t);
    case 'PolicyRejected':
      return {
        purpose: t.details.purpose, policyVersion: t.details.policy_version, requestedAt: t.details.requested_at,
        expiresAt: t.details.expires_at, reconcileUntil: t.details.expires_at, rejected: t.details.reason, settledAt: at, ...payloadOf(t.details.payload),
      };
    case 'StepSkipped':
      return { steps: changeStep(state, t.details.step, 'skipped', t.details.reason) };
    case 'FallbackClaimed':
      return { attempts: state.attempts.map((attempt) => (attempt.superseded || attempt.shadow ? attempt : amended(attempt, { superseded: true, lookUntil: null }))) };
    case 'AttemptPlanned':
    case 'AttemptRenderFailed':
      return { attempts: [...state.attempts, plannedAttempt(at, t)], steps: changeStep(state, t.details.step, 'started', null) };
    case 'NotificationClosed':
      return { steps: dropWaiting(state, 'closed'), closed: { reason: t.details.reason, at }, paused: null };
    case 'PreconditionAsked':
      return { precondition: state.precondition && { ...state.precondition, askedUntil: t.details.until, answer: null, validUntil: null } };
    case 'PreconditionAnswered':
      return answered(state, at, t.details);
    case 'PreconditionLapsed':
      return { precondition: state.precondition && { ...state.precondition, answer: null, validUntil: null } };
    case 'NotificationPaused':
      // A pause holds by itself: what waited for its provider is looked at anew once it is resumed.
      return { paused: { reason: t.details.reason, at }, attempts: state.attempts.map((attempt) => (attempt.providerWaitAt === null ? attempt : amended(attempt, { providerWaitAt: null }))) };
    case 'NotificationResumed':
      return { paused: null, attempts: state.attempts.map((attempt) => (attempt.state === 'queued' ? amended(attempt, setFree(attempt, at)) : attempt)) };
    case 'OperatorRetried':
      if (t.details.means === 'new_attempt') return { settledAt: null };
      return patchAttempt(state, t.details.attempt, (attempt) => ({
        held: false, ...(t.details.means === 'look_up' ? { nextPollAt: Math.min(attempt.nextPollAt ?? at, at) } : {}),
      }));
    case 'NotificationExpired':
      return { steps: dropWaiting(state, 'expired'), expired: true };
    case 'NotificationSettled':
      return { steps: dropWaiting(state, 'superseded'), settledAt: at };
    case 'PayloadDestroyed':
      return destroyed(state, at, t.details);
    default:
      return null;
  }
};

/** The next state: pure, and complete in the entry alone. Throws where the ledger contradicts itself. */
export const evolve = (state: NotificationState, { at, transition }: Stamped): NotificationState => {
  const patch = evolveNotification(state, at, transition)
    ?? patchAttempt(state, (transition as AttemptTransition).details.attempt, (attempt) => leavesQueue(evolveAttempt(attempt, at, transition as AttemptTransition)));
  const next = Object.assign(copyState(state), patch);
  next.version = state.version + 1;
  return next;
};

/** The state of a notification from its entries alone (invariant 4). */
export const fold = (eventId: string, entries: readonly Stamped[]): NotificationState => entries.reduce(evolve, emptyState(eventId));
