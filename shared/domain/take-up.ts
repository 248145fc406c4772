import type { AttemptState } from './state.ts';
import type { Work } from './work.ts';
import { startRefusal, startSubmission } from './submissions.ts';

/** Only the plain case: whatever must be asked, counted, probed or merely looked at before a submission is left to its worker. */
const isPlain = (work: Work, attempt: AttemptState): boolean => {
  const { now } = work.input;
  return attempt.state === 'queued' && attempt.queuedAt === now && attempt.submissions === 0 && attempt.requeues === 0 && !attempt.shadow
    && work.state.precondition === null && work.stepFor(attempt).throttle === undefined
    && work.input.providers !== undefined && work.provider(attempt.provider).state === 'closed'
    && startRefusal(work.state, attempt.key, now) === null;
};

/**
 * Starts in the same append what this decision has just queued, where a worker of the deciding process takes it: its start would be the
 * next append, decided on nothing but this one. It needs no outbox row then, for nothing waits; where its process dies the rescue finds it like any other
 * submission without an outcome.
 */
export const takeUp = (work: Work): void => {
  const { takes } = work.input;
  if (takes === undefined) return;
  for (const { key } of work.state.attempts) {
    const attempt = work.attempt(key);
    if (!isPlain(work, attempt) || !takes(attempt)) continue;
    work.dropEnqueue(key);
    startSubmission(work, key);
  }
};
