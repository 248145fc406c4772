import type { PayloadPart } from '../../shared/domain/words.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import type { MemoryNotification } from './memory-ledger.ts';
import type { Told } from './watch.ts';

const FAILED = new Set(['rejected', 'undelivered', 'suppressed', 'render_failed', 'dead_lettered']);
const ON_ITS_WAY = new Set(['planned', 'queued', 'submitting']);
const SUBMITS = new Set(['SubmissionStarted', 'AttemptPlanned', 'AttemptQueued', 'ResubmissionPlanned', 'SubmissionDeferred', 'SubmissionAbandoned']);

const isNewest = (state: NotificationState, index: number): boolean =>
  !state.attempts.some((other, at) => at > index && other.channel === state.attempts[index]?.channel);

const isAsked = (state: NotificationState): boolean => state.closed === null
  && state.attempts.some((attempt, index) => !attempt.shadow && !state.attempts.some((one) => one.state === 'delivered' && (state.strategy === 'escalate' || one.channel === attempt.channel)) && (attempt.state === 'dead_lettered' || attempt.state === 'render_failed') && isNewest(state, index));

/** Said anew, without the product's rule: whether anything that may still happen could start a submission at `at` or later. */
export const couldSubmit = (state: NotificationState, at: number): boolean => {
  if (state.rejected !== null || state.closed !== null) return false;
  if (state.attempts.some((attempt) => ON_ITS_WAY.has(attempt.state))) return true;
  // What has begun to go was destroyed by a clock that had expiry behind it, perhaps a little ahead of this one; nothing is submitted without it.
  if (at >= state.expiresAt || Object.keys(state.payload?.destroyed ?? {}).length > 0) return false;
  if (state.payload?.afterSettling === 'nothing' && state.settledAt !== null && !isAsked(state)) return false;
  return state.steps.some((step) => step.phase === 'waiting') || state.attempts.some((attempt, index) =>
    ((attempt.state === 'submitted' || attempt.state === 'submitted_unknown') && attempt.settledAt === null)
    || attempt.state === 'delivered' || (!attempt.shadow && FAILED.has(attempt.state) && isNewest(state, index)));
};

/** From when on no submission is possible, as the state stands; null while something is on its way. */
const lastSubmission = (state: NotificationState): number | null => {
  if (!couldSubmit(state, state.requestedAt)) return state.requestedAt;
  return couldSubmit(state, state.expiresAt) ? null : state.expiresAt;
};

const termOf = (state: NotificationState, part: PayloadPart): number | null => {
  const { payload } = state;
  if (!payload) return null;
  if (part === 'secrets' || part === 'precondition') return 0;
  if (part === 'variables') return { submitted: 0, settled: state.settledAt, retention: payload.retentionUntil }[payload.variables];
  if (state.settledAt === null || state.rejected !== null) return state.settledAt;
  if (payload.addresses === 'retention') return payload.retentionUntil;
  return Math.min(payload.retentionUntil, (isAsked(state) ? Math.max(state.settledAt, state.expiresAt) : state.settledAt) + payload.retryWindowMs);
};

/** When each part that is still there has to go, as the state stands. */
export const goneBy = (state: NotificationState): { part: PayloadPart; at: number }[] => {
  const last = lastSubmission(state);
  const left = (state.payload?.parts ?? []).filter((part) => state.payload?.destroyed[part] === undefined);
  return left.flatMap((part) => {
    const term = termOf(state, part);
    return last === null || term === null ? [] : [{ part, at: Math.max(last, term, state.requestedAt) }];
  });
};

export interface PayloadChecks {
  /** Sees each entry, with the state before it. */
  onEntry: (told: Told, from: NotificationState) => void;
  onCommit: (notification: MemoryNotification) => void;
  /** Since when a part should be gone, or from when on; null where none waits for its time. */
  dueAt: (eventId: string) => number | null;
}

const BOX = { secrets: 'secrets', variables: 'variables', addresses: 'recipient', precondition: 'precondition' } as const;

/** The promises about destruction: never too early, in the same append as its entry, and in time. */
export const openPayloadChecks = (report: (invariant: string, about: string) => void): PayloadChecks => {
  const due = new Map<string, number | null>();
  return {
    onEntry: ({ transition: { kind, details }, at }, from) => {
      const lost = Object.keys(from.payload?.destroyed ?? {}).length > 0;
      if (kind === 'PayloadDestroyed' ? couldSubmit(from, at) : lost && SUBMITS.has(kind)) report('a payload is destroyed only once no further submission is possible', `${from.eventId} ${kind}`);
      if (kind !== 'PayloadDestroyed') return;
      const early = (details['parts'] as PayloadPart[]).filter((part) => !goneBy(from).some((one) => one.part === part && one.at <= at));
      if (early.length > 0) report('a part is destroyed once, and not before its time', `${from.eventId} ${early.join()}`);
    },
    onCommit: (notification) => {
      const { eventId, state, erased } = notification;
      for (const part of state.payload?.parts ?? []) {
        const gone = state.payload?.destroyed[part] !== undefined;
        if (!erased && gone !== (notification[BOX[part]] === null)) report('a box is destroyed with its entry', `${eventId} ${part}`);
      }
      const instants = goneBy(state).map((one) => one.at);
      due.set(eventId, instants.length > 0 ? Math.min(...instants) : null);
    },
    dueAt: (eventId) => due.get(eventId) ?? null,
  };
};
