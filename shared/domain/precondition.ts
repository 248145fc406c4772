import type { Instant } from './words.ts';
import type { Policy } from './policy.ts';
import type { NotificationState, PreconditionState } from './state.ts';
import type { PreconditionFault } from './reasons.ts';
import type { Work } from './work.ts';

/** What the origin system said to "still needs action?"; `error` where it said nothing that can be understood, or nothing in time. */
export type PreconditionAnswer = 'needed' | 'not_needed' | 'error';

/** What a policy says to a question that brings no answer; null where it asks nothing. The steps that ask all say the same (policy-check). */
export const preconditionRule = (policy: Policy): 'send' | 'hold' | null => policy.steps.find((step) => step.precondition !== undefined)?.precondition ?? null;

/** How long a question is waited for, with the journey and the append: longer than its call may take. */
const ANSWER_WITHIN_MS = 5_000;
/** An answer stands that long, so that a reload does not ask again. Source: the design. */
const VALID_MS = 10_000;
const LONGEST_HOLD_MS = 60_000;

/** Until when claims and submissions are held for want of an answer; null where they are not. */
export const blockedUntil = ({ precondition, closed, expired }: NotificationState): Instant | null => {
  if (precondition === null || closed || expired) return null;
  return precondition.askedUntil ?? (precondition.answer === 'error' && precondition.onError === 'hold' ? precondition.validUntil : null);
};

/** Whether the origin system is asked before that step. */
const asksBefore = ({ precondition }: NotificationState, step: number): boolean => precondition !== null && (precondition.steps?.includes(step) ?? true);

/** As `blockedUntil`, for a claim of the next step that waits. */
export const claimBlockedUntil = (state: NotificationState): Instant | null =>
  (asksBefore(state, state.steps.findIndex((step) => step.phase === 'waiting')) ? blockedUntil(state) : null);

const stands = ({ validUntil }: PreconditionState, now: Instant): boolean => validUntil !== null && now < validUntil;

/** Whether a claim or a submission of that step may be made now; where no answer stands, the origin system is asked, and it may not. */
export const isStillNeeded = (work: Work, wanted: 'claim' | 'submission', step: number): boolean => {
  const { precondition } = work.state;
  if (precondition === null || !asksBefore(work.state, step)) return true;
  if (blockedUntil(work.state) !== null) return false;
  if (stands(precondition, work.input.now)) return true;
  work.emit({ kind: 'PreconditionAsked', details: { wanted, until: work.input.now + ANSWER_WITHIN_MS } });
  return false;
};

const validUntil = ({ onError, errors }: PreconditionState, answer: PreconditionAnswer, now: Instant): Instant =>
  now + (answer === 'error' && onError === 'hold' ? Math.min(LONGEST_HOLD_MS, VALID_MS * 2 ** Math.min(10, errors)) : VALID_MS);

/**
 * Records the answer to a question; one to another question counts for nothing, and so does one that was waited for in vain by then: it
 * is too old to stand for another ten seconds. *Not needed* closes the notification, as the origin system itself could have done, also
 * late: that does not grow old.
 */
export const recordPrecondition = (work: Work, { answer, askedUntil, fault }: { answer: PreconditionAnswer; askedUntil: Instant; fault?: PreconditionFault | undefined }): void => {
  const { precondition } = work.state;
  if (precondition === null || precondition.askedUntil !== askedUntil || work.state.closed || work.state.settledAt !== null) return;
  if (work.input.now >= askedUntil && answer !== 'not_needed') return;
  work.emit({ kind: 'PreconditionAnswered', details: { answer, valid_until: validUntil(precondition, answer, work.input.now), lapsed: false, ...(fault === undefined ? {} : { reason: fault }) } });
};

/** A question that nobody answered in time counts as an error; an error under *hold* ends by being asked anew, where it is wanted. */
export const lapsePrecondition = (work: Work): void => {
  const { precondition } = work.state;
  const until = blockedUntil(work.state);
  if (precondition === null || until === null || work.input.now < until) return;
  if (precondition.askedUntil === null) return work.emit({ kind: 'PreconditionLapsed', details: { errors: precondition.errors } });
  work.emit({ kind: 'PreconditionAnswered', details: { answer: 'error', valid_until: validUntil(precondition, 'error', work.input.now), lapsed: true } });
};
