import type { NotificationState } from './state.ts';
import type { Work } from './work.ts';

/** Whether there is anything left that a pause could hold or a resume set free. */
export const canPause = (state: NotificationState): boolean =>
  state.version > 0 && !state.rejected && !state.closed && state.settledAt === null;

/**
 * Pauses the workflow: nothing is queued, claimed or started until it is resumed, while polls, expiry, rescue and grace go on.
 * A call under way at that instant is named as such.
 */
export const pause = (work: Work, reason: string): void => {
  if (!canPause(work.state) || work.state.paused) return;
  work.emit({ kind: 'NotificationPaused', details: { reason, in_flight: work.state.attempts.some((attempt) => attempt.state === 'submitting') } });
};

/** Resumes a paused workflow; what fell due meanwhile is decided in the same append. */
export const resume = (work: Work, reason: string): void => {
  if (work.state.paused) work.emit({ kind: 'NotificationResumed', details: { reason } });
};
