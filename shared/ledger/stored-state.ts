import type { AttemptState, NotificationState, StepState } from '../domain/state.ts';
import { attemptHasMore, knownAttempt, stateHasMore, knownState } from '../domain/copies.ts';

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

/** What is not there, JSON leaves out. Every member named, in one order: this is done for every attempt in every append, and all of them share a hidden class. */
const none = <Value>(value: Value | null): Value => (value ?? undefined) as Value;
const no = <Value>(value: Value): Value => (value || undefined) as Value;

const packKnown = (a: AttemptState): StoredState['attempts'][number] => ({
  key: a.key, step: a.step, channel: a.channel, sequence: a.sequence, origin: a.origin, state: a.state, provider: a.provider, statusByPoll: a.statusByPoll, canLookUp: a.canLookUp,
  plannedAt: a.plannedAt, startsAt: a.startsAt, decisionDeadlineAt: a.decisionDeadlineAt,
  reconcile: (a.reconcile === 'none' ? undefined : a.reconcile) as AttemptState['reconcile'], replayWithinMs: none(a.replayWithinMs), visibleAfterMs: none(a.visibleAfterMs),
  providerMessageId: none(a.providerMessageId), renderHash: none(a.renderHash), deadlinePassed: no(a.deadlinePassed), superseded: no(a.superseded), queuedAt: none(a.queuedAt),
  generation: no(a.generation), retryAt: none(a.retryAt), requeueAt: none(a.requeueAt), requeues: no(a.requeues), providerWaitAt: none(a.providerWaitAt),
  accountRefusals: no(a.accountRefusals), submissions: no(a.submissions), firstSubmissionAt: none(a.firstSubmissionAt), submissionStartedAt: none(a.submissionStartedAt),
  outcomeDueAt: none(a.outcomeDueAt), submittedAt: none(a.submittedAt), polls: no(a.polls), pollsAfterDeadline: no(a.pollsAfterDeadline), failedReads: no(a.failedReads),
  nextPollAt: none(a.nextPollAt), evidence: none(a.evidence), lookUntil: none(a.lookUntil), absentLookUps: no(a.absentLookUps), resubmitAt: none(a.resubmitAt),
  resubmitUntil: none(a.resubmitUntil), held: no(a.held), corrected: no(a.corrected), settledAt: none(a.settledAt), reason: none(a.reason),
  unknownSubmissions: (a.unknownSubmissions.length === 0 ? undefined : a.unknownSubmissions) as AttemptState['unknownSubmissions'],
  reportsByMail: a.reportsByMail, foundMeanwhile: a.foundMeanwhile, shadow: a.shadow,
} satisfies Record<keyof Required<AttemptState>, unknown>);

const packAttempt = (a: AttemptState): StoredState['attempts'][number] => (attemptHasMore(a) ? { ...a, ...packKnown(a) } : packKnown(a));

const packKnownState = (state: NotificationState): StoredState => ({
  eventId: state.eventId, version: state.version, purpose: state.purpose, policyVersion: state.policyVersion, strategy: state.strategy, requestedAt: state.requestedAt,
  expiresAt: state.expiresAt, reconcileUntil: state.reconcileUntil, rejected: none(state.rejected), closed: none(state.closed), paused: none(state.paused),
  expired: no(state.expired), precondition: none(state.precondition), attempts: state.attempts.map(packAttempt), settledAt: none(state.settledAt),
  steps: state.steps.map((step) => (step.reason === null ? { ...step, reason: undefined as never } : step)), quietHours: state.quietHours, payload: state.payload, erased: state.erased,
} satisfies Record<keyof Required<NotificationState>, unknown>);

/** What is stored of a state, once it is JSON. */
export const packState = (state: NotificationState): StoredState => (stateHasMore(state) ? { ...state, ...packKnownState(state) } : packKnownState(state));

// What is stored tells the rest. Whatever it tells is taken over, also what is not known here: a later release may have written it, and verify is to see what was tampered with.
const BLANK_ATTEMPT = { ...ATTEMPT, unknownSubmissions: [] as AttemptState['unknownSubmissions'] } as AttemptState;
const BLANK_STATE: Partial<NotificationState> = NOTIFICATION;

/** A member that is named like the prototype must stay a member. */
const takeOver = <Shape extends object>(blank: Shape, stored: Partial<Shape>): Shape => (Object.hasOwn(stored, '__proto__') ? { ...blank, ...stored } : Object.assign(blank, stored));

const unpackAttempt = (stored: StoredState['attempts'][number]): AttemptState => takeOver(knownAttempt(BLANK_ATTEMPT), stored);
const unpackStep = (stored: StoredState['steps'][number]): StepState => takeOver<StepState>({ channel: stored.channel, phase: stored.phase, reason: STEP.reason }, stored);

/** The state that was stored so, whether packed or whole. */
export const unpackState = (stored: StoredState): NotificationState => {
  const state = takeOver<Partial<NotificationState>>(knownState(BLANK_STATE as NotificationState), stored as Partial<NotificationState>);
  return Object.assign(state as NotificationState, { attempts: stored.attempts.map(unpackAttempt), steps: stored.steps.map(unpackStep) });
};
