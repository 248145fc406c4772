import type { Channel, Instant } from './words.ts';
import type { PolicyStep } from './policy.ts';
import type { AttemptState, NotificationState } from './state.ts';
import type { Work } from './work.ts';
import type { OffsetAt } from './quiet-hours.ts';
import { opensAt } from './quiet-hours.ts';

/**
 * When a channel may be used next, not before `at`: that very instant where it is not quiet then; null where no opening is in sight.
 * @throws where quiet hours were bound and nobody knows the time zones: a broken invariant.
 */
export const openingOf = ({ quietHours }: Pick<NotificationState, 'quietHours'>, channel: Channel, at: Instant, offsetAt: OffsetAt | undefined): Instant | null => {
  const terms = quietHours?.[channel];
  if (terms === undefined) return at;
  if (offsetAt === undefined) throw new Error('quiet hours cannot be told without time zones');
  return opensAt(terms, offsetAt, at);
};

/** As `openingOf`, from now on or from a later instant. */
export const opening = (work: Work, channel: Channel, at: Instant = work.input.now): Instant | null => openingOf(work.state, channel, at, work.input.offsetAt);

/** The steps that can still be claimed after that one, as far as anyone can tell now. */
export const laterSteps = (work: Work, index: number): PolicyStep[] =>
  (work.state.strategy === 'all' ? [] : work.input.policy.steps.filter(({ channel }, at) => at > index && work.state.steps[at]?.phase === 'waiting' && work.input.eligibility(channel) === null));

/** Before that instant a step must be able to start: later, its deadline would be past by then, or the notification expired. */
const lastStart = (work: Work, index: number): Instant => work.state.expiresAt - laterSteps(work, index).reduce((sum, { reserveMs }) => sum + reserveMs, 0);

/** What an opening that comes too late means for a step that would be planned now: when it is (null: never); undefined where it can be planned. */
export const opensTooLate = (work: Work, index: number, channel: Channel): Instant | null | undefined => {
  const at = opening(work, channel);
  return at !== work.input.now && (at === null || at >= lastStart(work, index)) ? at : undefined;
};

/** As `lastStart`, for an attempt whose deadline was fixed before: where a later step waits for it, it does not wait past it. */
export const lastStartOf = (work: Work, attempt: AttemptState): Instant => {
  const awaited = attempt.origin === 'policy' && !attempt.deadlinePassed && laterSteps(work, attempt.step).length > 0;
  return awaited ? Math.min(attempt.decisionDeadlineAt, work.state.expiresAt) : work.state.expiresAt;
};
