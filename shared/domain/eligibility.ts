import type { AttemptKey, Channel, Instant } from './words.ts';
import type { LookUpResult, StatusReading, SubmitResult } from './provider-answers.ts';
import type { ReasonCode } from './reasons.ts';
import { reasonBy } from './reasons.ts';
import type { AttemptState, NotificationState } from './state.ts';
import { isUnsubmitted, mayBeSent } from './state.ts';
import type { Work } from './work.ts';
import { withdraw } from './resubmission.ts';
import { lastStartOf, opening, opensTooLate } from './windows.ts';

/**
 * Whether a channel may be used for this recipient, as it stands at this very decision: null where it may, else why not. It is
 * read afresh for every decision, so that what bars a channel holds from the next submission or claim on. `begun` where a submission of
 * the attempt in question was started before, so that a throttle has counted it.
 */
export type Eligibility = (channel: Channel, begun?: boolean) => ReasonCode | null;

/**
 * Ended by Tocsin itself because its channel was barred by then. Nothing of it was sent, so its step counts as one that was
 * skipped: the next one starts whatever the policy escalates on.
 */
export const wasBarred = (attempt: AttemptState): boolean =>
  attempt.state === 'suppressed' && attempt.reason !== null && reasonBy(attempt.reason) === 'tocsin';

/** Whether a step was skipped, or came to nothing else than being barred. */
export const wasPassedOver = (state: NotificationState, index: number): boolean => {
  const attempts = state.attempts.filter((attempt) => attempt.step === index);
  return state.steps[index]?.phase === 'skipped' || (attempts.length > 0 && attempts.every(wasBarred));
};

/** Skips a step whose channel is barred, or whose quiet hours end too late; true where it was. */
export const skipBarred = (work: Work, step: number): boolean => {
  const channel = work.state.steps[step]?.channel;
  if (channel === undefined) return false;
  const reason = work.input.eligibility(channel);
  const opensAt = reason === null ? opensTooLate(work, step, channel) : undefined;
  if (reason !== null) work.emit({ kind: 'StepSkipped', details: { step, channel, reason } });
  else if (opensAt !== undefined) work.emit({ kind: 'StepSkipped', details: { step, channel, reason: 'quiet_hours', opens_at: opensAt } });
  return reason !== null || opensAt !== undefined;
};

/** The next step to start, -1 where there is none. Those before it whose channel is barred now are skipped, each with its reason. */
export const nextToStart = (work: Work): number => {
  for (;;) {
    const step = work.state.steps.findIndex(({ phase }) => phase === 'waiting');
    if (step === -1 || !skipBarred(work, step)) return step;
  }
};

/** Definitely not sent, and so a failure that starts the next step; or as unknown as before, and held, where an earlier submission may be at the provider. */
const end = (work: Work, attempt: AttemptState, why: { reason: ReasonCode; opens_at?: Instant | null }): void => {
  if (mayBeSent(attempt)) withdraw(work, attempt, why.reason, true);
  else work.emit({ kind: 'AttemptSuppressed', details: { attempt: attempt.key, source: 'eligibility', ...why } });
};

/** What would be submitted in quiet hours waits for their end, or comes to its own where that is too late. */
const heedQuietHours = (work: Work, attempt: AttemptState): void => {
  const { now } = work.input;
  if (attempt.state === 'planned' && attempt.startsAt > now) return;
  const wanted = Math.max(now, attempt.retryAt ?? now);
  const opensAt = opening(work, attempt.channel, wanted);
  if (opensAt === wanted) return;
  if (opensAt === null || opensAt >= lastStartOf(work, attempt) || mayBeSent(attempt)) end(work, attempt, { reason: 'quiet_hours', opens_at: opensAt });
  else work.emit({ kind: 'AttemptPostponed', details: { attempt: attempt.key, reason: 'quiet_hours', starts_at: opensAt } });
};

/** Ends what waits to be submitted on a channel that is barred by now, and has wait what would be submitted in its quiet hours. */
export const endBarred = (work: Work): void => {
  for (const { key } of work.state.attempts.filter(isUnsubmitted)) {
    const attempt = work.attempt(key);
    const reason = work.input.eligibility(attempt.channel, attempt.firstSubmissionAt !== null);
    if (reason !== null) end(work, attempt, { reason });
    else if (work.state.quietHours?.[attempt.channel]) heedQuietHours(work, attempt);
  }
};

/**
 * Has the destination put on the suppression list where a provider's answer says that the recipient opted out, whatever else
 * becomes of the attempt: it is a fact about the person, and holds for every notification.
 */
export const noteOptOut = (work: Work, key: AttemptKey, answer: SubmitResult | StatusReading | LookUpResult): void => {
  const outcome = 'outcome' in answer ? answer.outcome : null;
  const reason = 'reason' in answer ? answer.reason : null;
  if (outcome !== 'suppressed' && reason !== 'opted_out') return;
  const { channel, providerMessageId } = work.attempt(key);
  // A listing that found another message speaks of another message.
  if (answer.kind === 'found' && answer.providerMessageId !== providerMessageId) return;
  work.request({ kind: 'suppress', attempt: key, channel, reason: reason ?? 'opted_out' });
};
