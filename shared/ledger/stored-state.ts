import type { AttemptState, NotificationState, StepState } from '../domain/state.ts';

type Optional<Shape, Left> = Omit<Shape, keyof Left> & Partial<Shape>;

/** What most attempts have most of the time. */
const ATTEMPT = {
  reconcile: 'none', replayWithinMs: null, visibleAfterMs: null, providerMessageId: null, renderHash: null, deadlinePassed: false, superseded: false, queuedAt: null,
  generation: 0, retryAt: null, requeueAt: null, requeues: 0, providerWaitAt: null, accountRefusals: 0, submissions: 0, firstSubmissionAt: null, submissionStartedAt: null,
  outcomeDueAt: null, submittedAt: null, polls: 0, pollsAfterDeadline: 0, failedReads: 0, nextPollAt: null, evidence: null, lookUntil: null, absentLookUps: 0,
  resubmitAt: null, resubmitUntil: null, held: false, corrected: false, settledAt: null, reason: null,
} as const satisfies Partial<AttemptState>;
const NOTIFICATION = { rejected: null, closed: null, paused: null, expired: false, precondition: null, settledAt: null } as const satisfies Partial<NotificationState>;
const STEP = { reason: null } as const satisfies Partial<StepState>;

/**
 * A state as it is stored: without what says nothing, which was two thirds of it, and is written with every append. One from before that
 * has it all, and reads the same.
 */
export interface StoredState extends Optional<Omit<NotificationState, 'attempts' | 'steps'>, typeof NOTIFICATION> {
  attempts: (Optional<Omit<AttemptState, 'unknownSubmissions'>, typeof ATTEMPT> & Partial<Pick<AttemptState, 'unknownSubmissions'>>)[];
  steps: Optional<StepState, typeof STEP>[];
}

/** What is not there, JSON leaves out. Spelt out and not a loop over names: this is done for every attempt in every append. */
const none = <Value>(value: Value | null): Value => (value ?? undefined) as Value;
const no = <Value>(value: Value): Value => (value || undefined) as Value;

const packAttempt = (a: AttemptState): StoredState['attempts'][number] => ({
  ...a,
  reconcile: (a.reconcile === 'none' ? undefined : a.reconcile) as AttemptState['reconcile'], replayWithinMs: none(a.replayWithinMs), visibleAfterMs: none(a.visibleAfterMs),
  providerMessageId: none(a.providerMessageId), renderHash: none(a.renderHash), deadlinePassed: no(a.deadlinePassed), superseded: no(a.superseded), queuedAt: none(a.queuedAt),
  generation: no(a.generation), retryAt: none(a.retryAt), requeueAt: none(a.requeueAt), requeues: no(a.requeues), providerWaitAt: none(a.providerWaitAt),
  accountRefusals: no(a.accountRefusals), submissions: no(a.submissions), firstSubmissionAt: none(a.firstSubmissionAt), submissionStartedAt: none(a.submissionStartedAt),
  outcomeDueAt: none(a.outcomeDueAt), submittedAt: none(a.submittedAt), polls: no(a.polls), pollsAfterDeadline: no(a.pollsAfterDeadline), failedReads: no(a.failedReads),
  nextPollAt: none(a.nextPollAt), evidence: none(a.evidence), lookUntil: none(a.lookUntil), absentLookUps: no(a.absentLookUps), resubmitAt: none(a.resubmitAt),
  resubmitUntil: none(a.resubmitUntil), held: no(a.held), corrected: no(a.corrected), settledAt: none(a.settledAt), reason: none(a.reason),
  unknownSubmissions: (a.unknownSubmissions.length === 0 ? undefined : a.unknownSubmissions) as AttemptState['unknownSubmissions'],
});

/** What is stored of a state, once it is JSON. */
export const packState = (state: NotificationState): StoredState => ({
  ...state, rejected: none(state.rejected), closed: none(state.closed), paused: none(state.paused), expired: no(state.expired), precondition: none(state.precondition),
  settledAt: none(state.settledAt), attempts: state.attempts.map(packAttempt), steps: state.steps.map((step) => (step.reason === null ? { ...step, reason: undefined as never } : step)),
});

/** The state that was stored so, whether packed or whole. */
export const unpackState = (stored: StoredState): NotificationState =>
  ({ ...NOTIFICATION, ...stored, attempts: stored.attempts.map((attempt) => ({ ...ATTEMPT, unknownSubmissions: [], ...attempt })), steps: stored.steps.map((step) => ({ ...STEP, ...step })) });
