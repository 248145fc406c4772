import { z } from 'zod';
import type { QuietHours } from '../domain/policy.ts';
import { isTimeZone } from './time-zones.ts';

/** A daily span, in minutes after midnight, in which a channel stays silent; it may pass midnight. */
export interface QuietHoursSource { from: string; to: string; time_zone: string; if_unknown?: string[] | undefined; except?: ('urgent' | 'routine')[] | undefined }

const MINUTES_A_DAY = 1_440;
/** With less than this left open, a step whose clocks run for minutes is never sent. */
const LEAST_OPEN_MINUTES = 15;

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

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
  const silent = ((minutesOf(hours.to) - minutesOf(hours.from)) % MINUTES_A_DAY + MINUTES_A_DAY) % MINUTES_A_DAY || MINUTES_A_DAY;
  if (MINUTES_A_DAY - silent < LEAST_OPEN_MINUTES) {
    refuse('from', ['and to cover the whole day, so that nothing is ever sent; leave some of it open, such as "21:00" to "08:00"', 'quiet_all_day']);
  }
});

/** Quiet hours as the policy keeps them. What the file leaves out stays out. */
export const quietHoursOf = ({ from, to, time_zone: timeZone, if_unknown: ifUnknown, except }: QuietHoursSource): QuietHours =>
  ({ from, to, timeZone, ...(ifUnknown ? { ifUnknown } : {}), ...(except ? { except } : {}) });
