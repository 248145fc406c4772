import { z } from 'zod';
import type { QuietHours } from '../domain/policy.ts';
import { isTimeZone, offsetAt } from './time-zones.ts';

/** A daily span, in minutes after midnight, in which a channel stays silent; it may pass midnight. */
export interface QuietHoursSource { from: string; to: string; time_zone: string; if_unknown?: string[] | undefined; except?: ('urgent' | 'routine')[] | undefined }

const MINUTES_A_DAY = 1_440;
/** With less than this left open, a step whose clocks run for minutes is never sent. */
const LEAST_OPEN_MINUTES = 15;

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

const silentFor = (from: string, to: string): number => ((minutesOf(to) - minutesOf(from)) % MINUTES_A_DAY + MINUTES_A_DAY) % MINUTES_A_DAY || MINUTES_A_DAY;

/** One that lies ahead, so that the table of zones answers by its newest rules, and always the same: a file must not begin to be wrong as time goes by. */
const REFERENCE_YEAR = 2030;

/** The longest span of a day, in minutes, in which it is quiet in none of the zones, at that instant's offsets. */
const openTogether = (hours: Pick<QuietHoursSource, 'from' | 'to'>, zones: readonly string[], at: number): number => {
  const silent = silentFor(hours.from, hours.to);
  const spans = zones.map((zone) => (((minutesOf(hours.from) - Math.round(offsetAt(zone, at) / 60_000)) % MINUTES_A_DAY) + MINUTES_A_DAY) % MINUTES_A_DAY).sort((one, other) => one - other);
  let longest = 0;
  // Spans of one length end in the order in which they begin, so that what is open lies between the end of one and the begin of the next.
  spans.forEach((begin, index) => { longest = Math.max(longest, (spans[index + 1] ?? (spans[0] as number) + MINUTES_A_DAY) - begin - silent); });
  return longest;
};

/** The first month in which these zones together leave too little of the day open; null where none does. Clocks are put forward and back, so that each month is looked at. */
const silentMonth = (hours: Pick<QuietHoursSource, 'from' | 'to'>, zones: readonly string[]): string | null => {
  const months = Array.from({ length: 12 }, (_one, month) => Date.UTC(REFERENCE_YEAR, month, 15));
  const found = months.find((at) => openTogether(hours, zones, at) < LEAST_OPEN_MINUTES);
  return found === undefined ? null : new Date(found).toLocaleString('en', { month: 'long', timeZone: 'UTC' });
};

const time = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'must be a time of day in quotes, such as "21:00"');

/** Schema of quiet hours in a policy. */
export const quietHoursField = z.strictObject({
  from: time.describe('Time of day at which silence begins'),
  to: time.describe('Time of day at which it ends; may be on the next day'),
  time_zone: z.string().describe('`recipient`, or an IANA name such as Europe/Berlin'),
  if_unknown: z.array(z.string()).min(1, 'must name at least one time zone').optional()
    .describe('Where the time zone is the recipient\'s and nobody knows it: silent while it is quiet in any of these'),
  except: z.array(z.enum(['urgent', 'routine'])).min(1, 'must name an urgency').optional().describe('Policies of that urgency are not held by it'),
}).superRefine((hours, context) => {
  const refuse = (field: string, [message, code]: [string, string]): void => context.addIssue({ code: 'custom', path: [field], message, params: { code } });
  if (hours.time_zone !== 'recipient' && !isTimeZone(hours.time_zone)) {
    refuse('time_zone', ['is not a known time zone; write recipient, or an IANA name such as Europe/Berlin', 'unknown_time_zone']);
  }
  for (const zone of hours.if_unknown ?? []) {
    if (!isTimeZone(zone)) refuse('if_unknown', ['names a time zone that is not known; write IANA names such as America/New_York', 'unknown_time_zone']);
  }
  if (hours.if_unknown && hours.time_zone !== 'recipient') refuse('if_unknown', ['is never used, since time_zone is not recipient; leave it out', 'unknown_time_zone']);
  if (MINUTES_A_DAY - silentFor(hours.from, hours.to) < LEAST_OPEN_MINUTES) {
    refuse('from', ['and to cover the whole day, so that nothing is ever sent; leave some of it open, such as "21:00" to "08:00"', 'quiet_all_day']);
    return;
  }
  const zones = (hours.if_unknown ?? []).filter(isTimeZone);
  const month = zones.length === 0 ? null : silentMonth(hours, zones);
  if (month !== null) {
    refuse('if_unknown', [`together are quiet the whole day (in ${month}), so that nothing is sent where the recipient's zone is not known; name zones that lie closer together, or fewer quiet hours`, 'quiet_all_day']);
  }
});

/** Quiet hours as the policy keeps them. What the file leaves out stays out. */
export const quietHoursOf = ({ from, to, time_zone: timeZone, if_unknown: ifUnknown, except }: QuietHoursSource): QuietHours =>
  ({ from, to, timeZone, ...(ifUnknown ? { ifUnknown } : {}), ...(except ? { except } : {}) });
