import type { Instant } from './words.ts';
import { amended } from './copies.ts';
import type { AttemptState } from './state.ts';
import { canBeRead } from './state.ts';
import type { Work } from './work.ts';
import { nextPoll } from './clocks.ts';

/** What the delivery clock needs to know of an attempt. */
export const clockOf = (work: Work, attempt: AttemptState) => ({
  attempt, step: work.stepFor(attempt), policy: work.input.policy, reconcileUntil: work.state.reconcileUntil,
  now: work.input.now, random: work.input.random,
});

/** The first instant at which an accepted attempt is polled, or an unknown one looked for; null where nothing can be read. */
export const firstPoll = (work: Work, attempt: AttemptState): Instant | null =>
  (canBeRead(attempt) ? nextPoll(clockOf(work, attempt)) : null);

/** The schedule as it stands after one more read of this attempt. */
export const scheduled = (work: Work, attempt: AttemptState): Instant | null =>
  firstPoll(work, isPastDeadline(attempt, work.input.now) ? amended(attempt, { pollsAfterDeadline: attempt.pollsAfterDeadline + 1 }) : attempt);

/** Past its deadline reads come ever further apart, whatever became of the deadline: while paused it is not dealt with. */
export const isPastDeadline = (attempt: AttemptState, now: Instant): boolean =>
  attempt.deadlinePassed || attempt.superseded || now >= attempt.decisionDeadlineAt;
