import type { Instant, PayloadPart } from './words.ts';
import type { AttemptState, NotificationState, PayloadState } from './state.ts';
import { isDeadLetter, isReached, isReconciling, isUnsubmitted } from './state.ts';
import { earliest } from './clocks.ts';
import type { Work } from './work.ts';
import { retryRefusal } from './retry.ts';

/** In the order in which an entry names them. */
const PARTS: readonly PayloadPart[] = ['secrets', 'variables', 'addresses', 'precondition'];

/** An operator could retry it now or, once it is resumed, later, whatever he takes upon himself. */
const mayBeRetried = (state: NotificationState, attempt: AttemptState): boolean =>
  retryRefusal(state.paused ? { ...state, paused: null } : state, attempt.key, state.requestedAt, { evenIfDelivered: true, acceptDuplicate: true }) === null;

/** Something may yet lead to another submission: a later step, a resubmission, a failure that is retried, a bounce that takes a delivery back. */
const mayStillSubmit = (state: NotificationState): boolean =>
  state.steps.some((step) => step.phase === 'waiting')
  || state.attempts.some((attempt) => isReconciling(attempt) || attempt.state === 'delivered' || mayBeRetried(state, attempt));

/**
 * A dead letter that may still ask for an operator, as far as the state tells: not once the workflow was closed, another channel was
 * delivered, or a retry took its place. One that is merely held is none: nothing can be sent for it.
 */
export const hasOpenDeadLetter = (state: NotificationState): boolean => !state.closed
  && state.attempts.some((attempt) => isDeadLetter(attempt) && !isReached(state, attempt.channel)
    && !state.attempts.some((other) => other.channel === attempt.channel && other.sequence > attempt.sequence));

/**
 * From when on no submission can be started, whatever is heard and whoever acts: an instant that may be past, or null where time
 * alone does not bring it. Nothing starts after a close, also not in place of a call that is under way: that one has its bytes, and
 * its answer ends the attempt. Short of a close, a call under way may still have to be repeated, and its answer is waited for, past
 * expiry too: another process's clock may be behind this one.
 */
export const submissionsEndAt = (state: NotificationState): Instant | null => {
  if (state.rejected || state.closed) return state.requestedAt;
  if (state.attempts.some((attempt) => isUnsubmitted(attempt) || attempt.state === 'submitting')) return null;
  if (state.payload?.afterSettling === 'nothing' && state.settledAt !== null && !hasOpenDeadLetter(state)) return state.requestedAt;
  return state.expired || !mayStillSubmit(state) ? state.requestedAt : state.expiresAt;
};

const addressesKeptUntil = (state: NotificationState, payload: PayloadState): Instant | null => {
  if (state.settledAt === null) return null;
  if (state.rejected) return state.settledAt;
  if (payload.addresses === 'retention') return payload.retentionUntil;
  // A dead letter can be retried until expiry; after that there is nothing more to do about it, whoever looked at it or not.
  const from = hasOpenDeadLetter(state) ? Math.max(state.settledAt, state.expiresAt) : state.settledAt;
  return Math.min(from + payload.retryWindowMs, payload.retentionUntil);
};

/** Until when its own terms keep a part; null where something else has to happen first. */
const keptUntil = (state: NotificationState, payload: PayloadState, part: PayloadPart): Instant | null => {
  if (part === 'addresses') return addressesKeptUntil(state, payload);
  if (part === 'secrets' || part === 'precondition' || payload.variables === 'submitted') return state.requestedAt;
  return payload.variables === 'settled' ? state.settledAt : payload.retentionUntil;
};

/** When the parts that are there are to be destroyed, each told once; nothing where that waits for more than time. */
const eachDestruction = (state: NotificationState, tell: (part: PayloadPart, at: Instant) => void): void => {
  const { payload } = state;
  const end = payload ? submissionsEndAt(state) : null;
  if (!payload || end === null) return;
  for (const part of PARTS) {
    if (!payload.parts.includes(part) || payload.destroyed[part] !== undefined) continue;
    const kept = keptUntil(state, payload, part);
    if (kept !== null) tell(part, Math.max(kept, end));
  }
};

/**
 * When a part is to be destroyed if nothing else happens: never before the last submission that is possible. Null where it is gone,
 * was never there, or waits for more than time.
 */
export const destructionAt = (state: NotificationState, wanted: PayloadPart): Instant | null => {
  let found: Instant | null = null;
  eachDestruction(state, (part, at) => { if (part === wanted) found = at; });
  return found;
};

/** The parts to be destroyed at `now`. */
export const partsToDestroy = (state: NotificationState, now: Instant): PayloadPart[] => {
  const due: PayloadPart[] = [];
  eachDestruction(state, (part, at) => { if (at <= now) due.push(part); });
  return due;
};

/** The next instant at which a part is to be destroyed; null where none is by time alone. */
export const nextDestructionAt = (state: NotificationState): Instant | null => {
  let next: Instant | null = null;
  eachDestruction(state, (_part, at) => { next = earliest(next, at); });
  return next;
};

/** Destroys what nothing needs any more, as an entry; its append destroys the boxes. */
export const destroyDue = (work: Work): void => {
  const parts = partsToDestroy(work.state, work.input.now);
  if (parts.length > 0) work.emit({ kind: 'PayloadDestroyed', details: { parts } });
};
