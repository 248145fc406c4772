import type { Instant } from './words.ts';
import type { AttemptState } from './state.ts';
import type { Policy, PolicyStep } from './policy.ts';

/** A number in [0, 1), an input like time. */
export type Random = () => number;

const spread = (value: number, share: number, random: Random): number => Math.round(value * (1 + share * (2 * random() - 1)));

/**
 * The decision deadline of a step: `min(starts_at + decide_within, expires_at - the reserves of the later eligible steps)`.
 * `later` are the steps that can still be claimed after it: none of those skipped, and none at all where all start at once.
 * Source: the delivery and decision clocks of the design.
 */
export const decisionDeadline = (step: PolicyStep, later: readonly PolicyStep[], startsAt: Instant, expiresAt: Instant): Instant =>
  Math.min(startsAt + step.decideWithinMs, expiresAt - later.reduce((sum, next) => sum + next.reserveMs, 0));

/** The earliest of some instants, those that are null left out; null where that leaves none. */
export const earliest = (...instants: (Instant | null)[]): Instant | null => {
  let first: Instant | null = null;
  for (const at of instants) if (at !== null && (first === null || at < first)) first = at;
  return first;
};

/** The step at that index. Throws where the policy has none: a broken invariant. */
export const stepOf = (policy: Policy, index: number): PolicyStep => {
  const step = policy.steps[index];
  if (!step) throw new Error(`policy ${policy.purpose} ${policy.version} has no step ${index}`);
  return step;
};

/**
 * When the transport clock tries a deferred submission again: exponential from the step's base, half of it jittered, never
 * before the provider's Retry-After. Milliseconds since the epoch.
 */
export const retryInstant = (step: PolicyStep, submissions: number, now: Instant, wish: { retryAfterMs: number | null; random: Random }): Instant => {
  const { baseMs, capMs } = step.transportRetry;
  const wait = Math.min(capMs, baseMs * 2 ** Math.min(20, Math.max(0, submissions - 1)));
  return now + Math.max(wish.retryAfterMs ?? 0, Math.round(wait / 2 + (wait / 2) * wish.random()), 1);
};

/** When a queued attempt without a started submission is enqueued again: doubling, at most a minute apart. */
export const requeueInstant = (step: PolicyStep, from: Instant, requeues: number): Instant =>
  from + Math.max(1, Math.min(60_000, step.requeueAfterMs * 2 ** Math.min(10, requeues)));

/** Whether an answer is recorded long after it came or was asked for. It is as soon as it is there, unless the database was away. */
export const isRecordedLate = (from: Instant, now: Instant): boolean => now - from > 1_000;

interface PollClock { attempt: AttemptState; step: PolicyStep; policy: Policy; reconcileUntil: Instant; now: Instant; random: Random }

/** The first offset still ahead; one counts as served once its earliest jittered instant is past. */
const nextOffset = ({ step, now, random }: PollClock, origin: Instant): Instant | null => {
  const ahead = step.pollOffsetsMs.find((offset) => origin + offset * (1 - step.pollJitter) > now);
  return ahead === undefined ? null : Math.max(now + 1, origin + spread(ahead, step.pollJitter, random));
};

const reconcilePoll = ({ attempt, policy, now, random, step }: PollClock): Instant => {
  const wait = Math.min(policy.reconcileCapMs, policy.reconcileEveryMs * 2 ** Math.min(20, attempt.pollsAfterDeadline));
  return Math.max(now, attempt.decisionDeadlineAt) + Math.max(1, spread(wait, step.pollJitter, random));
};

/**
 * The next poll (of an accepted attempt) or look-up (of an unknown one): the next offset of the delivery clock; the final poll
 * shortly before the decision deadline; after the deadline, reconciling polls ever further apart until the grace ends. Null
 * where there is nothing to read or nothing more to wait for.
 */
export const nextPoll = (clock: PollClock): Instant | null => {
  const { attempt, step, now, reconcileUntil } = clock;
  const origin = attempt.submittedAt ?? attempt.submissionStartedAt ?? now;
  const final = attempt.decisionDeadlineAt - step.finalPollLeadMs;
  const before = [nextOffset(clock, origin), final > now ? final : null].filter((at): at is Instant => at !== null && at <= final);
  const at = before.length > 0 && !attempt.superseded ? Math.min(...before) : nextOffset(clock, origin) ?? reconcilePoll(clock);
  return at < reconcileUntil ? at : null;
};

/** After a failed read: sooner than the schedule, but not before the provider's Retry-After. */
export const nextPollAfterFailure = (clock: PollClock, retryAfterMs: number | null): Instant | null => {
  const scheduled = nextPoll(clock);
  const soon = clock.now + Math.max(retryAfterMs ?? 0, Math.min(30_000, 1_000 * 2 ** Math.min(5, clock.attempt.failedReads)));
  const at = retryAfterMs !== null || scheduled === null ? soon : Math.min(scheduled, soon);
  return at < clock.reconcileUntil ? at : null;
};
