import type { AttemptKey, AttemptStateName, Channel, EventId, Instant, Outcome } from './words.ts';
import type { ProviderName } from './provider-answers.ts';
import type { ReasonCode } from './reasons.ts';

/** One channel of the policy, as far as this notification has come with it. */
export interface StepState {
  channel: Channel;
  phase: 'waiting' | 'started' | 'skipped' | 'dropped';
  /** Why it was skipped or dropped. */
  reason: ReasonCode | null;
}

/** The newest evidence about an attempt; a failed read is none. */
export interface Evidence { outcome: Outcome; at: Instant; source: 'submit' | 'poll' | 'look_up' }

export interface AttemptState {
  key: AttemptKey;
  step: number;
  channel: Channel;
  sequence: number;
  origin: 'policy' | 'operator';
  state: AttemptStateName;
  provider: ProviderName;
  /** Whether anything more can be heard after acceptance. */
  statusByPoll: boolean;
  /** Whether an unknown submission can be looked for. */
  canLookUp: boolean;
  providerMessageId: string | null;
  renderHash: string | null;
  plannedAt: Instant;
  startsAt: Instant;
  decisionDeadlineAt: Instant;
  /** The deadline came and no claim followed, or none was possible. */
  deadlinePassed: boolean;
  /** A later step was claimed. */
  superseded: boolean;
  queuedAt: Instant | null;
  generation: number;
  /** Not before this instant may the next submission start. */
  retryAt: Instant | null;
  requeueAt: Instant | null;
  requeues: number;
  submissions: number;
  submissionStartedAt: Instant | null;
  outcomeDueAt: Instant | null;
  submittedAt: Instant | null;
  polls: number;
  pollsAfterDeadline: number;
  failedReads: number;
  nextPollAt: Instant | null;
  evidence: Evidence | null;
  /** A look asked for at the deadline is waited for until then. */
  lookUntil: Instant | null;
  settledAt: Instant | null;
  reason: ReasonCode | null;
}

/** The fold of a notification's ledger. Plain JSON. */
export interface NotificationState {
  eventId: EventId;
  version: number;
  purpose: string;
  policyVersion: number;
  strategy: 'escalate' | 'all';
  requestedAt: Instant;
  expiresAt: Instant;
  reconcileUntil: Instant;
  rejected: ReasonCode | null;
  closed: { reason: string; at: Instant } | null;
  expired: boolean;
  steps: StepState[];
  attempts: AttemptState[];
  settledAt: Instant | null;
}

/** The state before the first entry. */
export const emptyState = (eventId: EventId): NotificationState => ({
  eventId, version: 0, purpose: '', policyVersion: 0, strategy: 'escalate', requestedAt: 0, expiresAt: 0, reconcileUntil: 0,
  rejected: null, closed: null, expired: false, steps: [], attempts: [], settledAt: null,
});

const NEVER_SUBMITTED: ReadonlySet<AttemptStateName> = new Set(['planned', 'queued']);
const FAILED: ReadonlySet<AttemptStateName> = new Set(['rejected', 'undelivered', 'suppressed', 'render_failed', 'dead_lettered']);

/** Planned or queued: nothing is at the provider, and nothing is on its way there. */
export const isUnsubmitted = (attempt: AttemptState): boolean => NEVER_SUBMITTED.has(attempt.state);
/** Ended in a definite failure. */
export const hasFailed = (attempt: AttemptState): boolean => FAILED.has(attempt.state);
/** Submitted or unknown, with the possibility that more is heard of it. */
export const isReconciling = (attempt: AttemptState): boolean =>
  (attempt.state === 'submitted' || attempt.state === 'submitted_unknown') && attempt.settledAt === null;
/** Where asking the provider can bring news: by its id once it is known, by our own reference while it is not. */
export const canBeRead = (attempt: AttemptState): boolean =>
  isReconciling(attempt) && (attempt.state === 'submitted' ? attempt.statusByPoll : attempt.canLookUp);
/** May still change by itself. */
export const isLive = (attempt: AttemptState): boolean =>
  isUnsubmitted(attempt) || attempt.state === 'submitting' || isReconciling(attempt);

/** The attempt whose deadline decides about the next step: the newest one of an escalation. */
export const currentAttempt = (state: NotificationState): AttemptState | null => state.attempts.at(-1) ?? null;

/** The attempt with that key; null where there is none. */
export const findAttempt = (state: NotificationState, key: AttemptKey): AttemptState | null =>
  state.attempts.find((attempt) => attempt.key === key) ?? null;
