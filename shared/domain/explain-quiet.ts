import type { Channel, Instant } from './words.ts';
import type { NotificationState } from './state.ts';
import type { ReasonCode } from './reasons.ts';
import type { DetailsOf, Moment } from './explain-words.ts';
import { attemptIn, attemptName, BARRED, channelName, instant, listed, policyName, tellThrottled } from './explain-words.ts';

/** `quiet hours of SMS from 21:00 to 08:00 in Europe/Berlin (policy p/1)`. */
const hoursOf = (state: NotificationState, channel: Channel): string => {
  const terms = state.quietHours?.[channel];
  if (!terms) return `quiet hours of ${channelName(channel)}`;
  // A recipient has one zone: several were always assumed, also where that was not yet recorded.
  const guess = terms.assumed || terms.zones.length > 1 ? `, assumed since the recipient's time zone is unknown` : '';
  const where = terms.zones.length > 0 ? `in ${listed(terms.zones)}${guess}` : 'in a time zone that nobody knows';
  return `quiet hours of ${channelName(channel)} from ${terms.from} to ${terms.to} ${where} (policy ${policyName(state)})`;
};

/** Why quiet hours end too late; null where they have nothing to do with it. */
const tellTooLate = (state: NotificationState, channel: Channel, opensAt: Instant | null | undefined): string | null => {
  if (opensAt === undefined) return null;
  return opensAt === null
    ? `the ${hoursOf(state, channel)} have no end in sight, so it was not waited for`
    : `the ${hoursOf(state, channel)} end only at ${instant(opensAt)}, which is too late for it`;
};

/** A step that could not be used, or not any more: its reason, and when its quiet hours end where that was it. */
export interface Barred { step: number; channel: Channel; reason: ReasonCode | null; opensAt: Instant | null | undefined }

/** Why a step was passed over: its throttle, quiet hours that end too late, or its reason in words; undefined where there are none for it. */
export const tellBarred = ({ step, channel, reason, opensAt }: Barred, moment: Pick<Moment, 'after' | 'end' | 'policy'>): string | undefined =>
  (reason === 'throttled' ? tellThrottled(step, moment) : null) ?? tellTooLate(moment.after, channel, opensAt) ?? (reason === null ? undefined : BARRED[reason]);

/** What a planned attempt waits for; empty where it does not. */
export const tellWaitsFor = (state: NotificationState, { channel, starts_at: startsAt }: DetailsOf<'AttemptPlanned'>, at: Instant): string =>
  (startsAt > at ? `. It waits until ${instant(startsAt)}, when the ${hoursOf(state, channel)} end, and its deadline counts from there` : '');

/** Taken out of its queue, for the hours had begun by then. */
export const tellPostponed = (d: DetailsOf<'AttemptPostponed'>, { at, before }: Moment): string => {
  const { channel, submissions } = attemptIn(before, d.attempt);
  const tries = submissions > 0 ? `, whose ${submissions} submission(s) were definitely not processed,` : '';
  return `${attemptName(d.attempt)}${tries} was not submitted at ${instant(at)} (${d.reason}): it waits until ${instant(d.starts_at)}, when the ${hoursOf(before, channel)} end`;
};

/** Quiet hours that hold nothing back, since the policy says so; empty where there are none. */
export const tellExempt = (state: NotificationState): string => {
  const exempt = Object.entries(state.quietHours ?? {}).filter(([, terms]) => terms.exempt !== undefined);
  return exempt.map(([channel, { exempt: urgency }]) => `; the ${hoursOf(state, channel as Channel)} do not hold it, for that policy lets ${urgency} notifications through`).join('');
};
