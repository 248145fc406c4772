import type { AttemptKey, AttemptStateName, Channel, ErasedPerson, EventId, Instant, Outcome, PayloadPart } from './words.ts';
import type { PayloadTerms } from './policy.ts';
import type { Capabilities, ProviderName } from './provider-answers.ts';
import type { QuietHoursBound } from './quiet-hours.ts';
import type { ReasonCode } from './reasons.ts';

/** One channel of the policy, as far as this notification has come with it. */
export interface StepState {
  channel: Channel;
  phase: 'waiting' | 'started' | 'skipped' | 'dropped';
  /** Why it was skipped or dropped. */
  reason: ReasonCode | null;
  /** Runs in shadow. */
  shadow?: true;
}

/** The newest evidence about an attempt; a failed read is none. */
export interface Evidence { outcome: Outcome; at: Instant; source: 'submit' | 'poll' | 'look_up' | 'mailbox' }

/** A submission of which nobody can tell whether it was processed. */
export interface UnknownSubmission { submission: number; startedAt: Instant; bookedAt: Instant; reason: ReasonCode }

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
  /** Whether a report about it may still come by mail; absent where none is read. */
  reportsByMail?: true;
  /** Whether an unknown submission can be looked for. */
  canLookUp: boolean;
  /** What the provider it was planned for permits where the outcome is unknown; another carrier later changes nothing of it. */
  reconcile: Capabilities['reconcile'];
  /** How long after its first submission the provider drops a duplicate; null where it never does. */
  replayWithinMs: number | null;
  /** From how long after an unknown outcome on a look-up that finds nothing proves something; null where none ever does. */
  visibleAfterMs: number | null;
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
  /** Since when it waits, queued, for its provider to take us again. */
  providerWaitAt: Instant | null;
  /** Submissions that were refused for our account's sake: the message had no part in it. */
  accountRefusals: number;
  submissions: number;
  /** When its first submission was started; never reset. */
  firstSubmissionAt: Instant | null;
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
  /** Submissions that may or may not have been processed. While there is one, the attempt is never cancelled and never called failed. */
  unknownSubmissions: UnknownSubmission[];
  /** Look-ups in a row, past the visibility lag, that found nothing. */
  absentLookUps: number;
  /** When an unknown outcome is replayed. */
  resubmitAt: Instant | null;
  /** Until when a planned resubmission may start: its basis lapses then. */
  resubmitUntil: Instant | null;
  /** Nothing more is submitted by policy: a resubmission was taken back for good. */
  held: boolean;
  /** An earlier submission of it was heard of while another one was under way: nothing tells an absence any more. */
  foundMeanwhile?: true;
  /** Its delivery was taken back by a later bounce. */
  corrected: boolean;
  /** Runs in shadow: never submitted, and nothing follows from how it ends. */
  shadow?: true;
  settledAt: Instant | null;
  reason: ReasonCode | null;
}

/** The sealed parts of a notification, how long each is kept, and which are gone since when. */
export interface PayloadState extends PayloadTerms { parts: PayloadPart[]; retentionUntil: Instant; destroyed: Partial<Record<PayloadPart, Instant>> }
/** The question to the origin system whether anything still needs to be done. */
export interface PreconditionState {
  onError: 'send' | 'hold';
  /** The steps before which it is put; absent: before every one. */
  steps?: number[];
  /** Asked and not answered; until then the answer is waited for. */
  askedUntil: Instant | null;
  answer: 'needed' | 'not_needed' | 'error' | null;
  validUntil: Instant | null;
  /** Errors in a row. */
  errors: number;
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
  /** Nothing is queued, claimed or started, while polls and expiry go on. */
  paused: { reason: string; at: Instant } | null;
  expired: boolean;
  /** Null where nothing is to be asked. */
  precondition: PreconditionState | null;
  steps: StepState[];
  attempts: AttemptState[];
  settledAt: Instant | null;
  /** Absent where no channel has any. */
  quietHours?: QuietHoursBound;
  /** Absent where the acceptance named no parts. */
  payload?: PayloadState;
  /** Who was erased, and when; absent where nobody was. */
  erased?: Partial<Record<ErasedPerson, Instant>>;
}

/** The state before the first entry. */
export const emptyState = (eventId: EventId): NotificationState => ({
  eventId, version: 0, purpose: '', policyVersion: 0, strategy: 'escalate', requestedAt: 0, expiresAt: 0, reconcileUntil: 0,
  rejected: null, closed: null, paused: null, expired: false, precondition: null, steps: [], attempts: [], settledAt: null,
});

/** Planned or queued: nothing is at the provider, and nothing is on its way there. */
export const isUnsubmitted = ({ state }: AttemptState): boolean => state === 'planned' || state === 'queued';
/**
 * The same without what runs in shadow: nothing follows from that, so whatever alarms or counts looks at the rest alone. Steps keep their numbers, and
 * one in shadow never waits.
 */
export const withoutShadows = (state: NotificationState): NotificationState =>
  (state.attempts.some((attempt) => attempt.shadow) ? { ...state, attempts: state.attempts.filter((attempt) => !attempt.shadow) } : state);
/** Nothing of it is more than a shadow. */
export const isOnlyShadow = (state: NotificationState): boolean => state.steps.length > 0 && state.steps.every((step) => step.shadow);
/** Ended in a definite failure. */
export const hasFailed = ({ state }: AttemptState): boolean =>
  state === 'rejected' || state === 'undelivered' || state === 'suppressed' || state === 'render_failed' || state === 'dead_lettered';
/** A submission of it may have been processed, and nobody can tell: it must not be called unsubmitted, cancelled or failed. */
export const mayBeSent = (attempt: AttemptState): boolean => attempt.unknownSubmissions.length > 0;
/** When the earliest submission that may have reached the provider was started; where there is none, the newest one. */
export const submissionStart = (attempt: AttemptState): Instant | null => attempt.unknownSubmissions[0]?.startedAt ?? attempt.submissionStartedAt;
/** Submitted or unknown, with the possibility that more is heard of it. */
export const isReconciling = (attempt: AttemptState): boolean =>
  (attempt.state === 'submitted' || attempt.state === 'submitted_unknown') && attempt.settledAt === null;
/** Whether that attempt ended as work for an operator; one in shadow never does. */
export const isDeadLetter = (attempt: AttemptState): boolean => !attempt.shadow && (attempt.state === 'dead_lettered' || attempt.state === 'render_failed');
/** Whether work on that attempt stopped for want of an operator: it has, or had, a dead letter. */
export const awaitsOperator = (attempt: AttemptState): boolean => isDeadLetter(attempt) || attempt.held;
/**
 * Whether what that channel is for has reached its recipient: by any channel where one stands in for the other, and by itself alone where the policy
 * uses all of them.
 */
export const isReached = (state: NotificationState, channel: Channel): boolean =>
  state.attempts.some((attempt) => attempt.state === 'delivered' && (state.strategy === 'escalate' || attempt.channel === channel));
/** Where asking the provider can bring news: by its id once it is known, by our own reference while it is not. */
export const canBeRead = (attempt: AttemptState): boolean =>
  isReconciling(attempt) && (attempt.state === 'submitted' ? attempt.statusByPoll : attempt.canLookUp);
/** May still change by itself. */
export const isLive = (attempt: AttemptState): boolean =>
  isUnsubmitted(attempt) || attempt.state === 'submitting' || isReconciling(attempt);

/** The attempt whose deadline decides about the next step: the newest one that the policy planned; neither an operator's retry nor one in shadow decides anything. */
export const currentAttempt = (state: NotificationState): AttemptState | null => state.attempts.findLast((attempt) => attempt.origin === 'policy' && !attempt.shadow) ?? null;

/** Whether that attempt ended in a way that lets the next step start at once; a delivery corrected later re-triggers nothing. */
export const failedFirsthand = (attempt: AttemptState): boolean => hasFailed(attempt) && !attempt.corrected;

/** A part of the payload was destroyed, or a person erased: no message can be counted on to be rendered any more. */
export const hasLostPayload = (state: NotificationState): boolean => state.erased !== undefined || (state.payload !== undefined && Object.keys(state.payload.destroyed).length > 0);

/**
 * Whether expiry is past: by this clock, or by the ledger's own word. What was destroyed at expiry was destroyed by a clock that may
 * have been a little ahead of this one, and nothing can be sent from then on.
 */
export const isPastExpiry = (state: NotificationState, now: Instant): boolean =>
  now >= state.expiresAt || Object.values(state.payload?.destroyed ?? {}).some((at) => at >= state.expiresAt);

/** The attempt with that key; null where there is none. */
export const findAttempt = (state: NotificationState, key: AttemptKey): AttemptState | null =>
  state.attempts.find((attempt) => attempt.key === key) ?? null;
