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

const without = <Shape extends object>(whole: Shape, usual: Readonly<Record<string, unknown>>): Shape => {
  const told: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(whole)) if (!Object.hasOwn(usual, name) || usual[name] !== value) told[name] = value;
  return told as Shape;
};

const packAttempt = (attempt: AttemptState): StoredState['attempts'][number] => {
  const { unknownSubmissions, ...told } = without(attempt, ATTEMPT);
  return unknownSubmissions.length === 0 ? told : { ...told, unknownSubmissions };
};

/** What is stored of a state. */
export const packState = (state: NotificationState): StoredState =>
  ({ ...without(state, NOTIFICATION), attempts: state.attempts.map(packAttempt), steps: state.steps.map((step) => without(step, STEP)) });

/** The state that was stored so, whether packed or whole. */
export const unpackState = (stored: StoredState): NotificationState =>
  ({ ...NOTIFICATION, ...stored, attempts: stored.attempts.map((attempt) => ({ ...ATTEMPT, unknownSubmissions: [], ...attempt })), steps: stored.steps.map((step) => ({ ...STEP, ...step })) });
