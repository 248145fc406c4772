import { z } from 'zod';

const MINUTES_A_DAY = 1_440;
/** With less than this left open, a step whose clocks run for minutes is never sent. */
const LEAST_OPEN_MINUTES = 15;

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** Whether the runtime knows a time zone by this name (IANA). */
export const isTimeZone = (name: string): boolean => {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
};

const time = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'must be a time of day in quotes, such as "21:00"');

/** Schema of quiet hours in a policy. */
export const quietHoursField = z.strictObject({
  from: time.describe('Time of day at which silence begins'),
  to: time.describe('Time of day at which it ends; may be on the next day'),
  time_zone: z.string().describe('`recipient`, or an IANA name such as Europe/Berlin'),
}).superRefine((hours, context) => {
  const refuse = (field: string, [message, code]: [string, string]): void => context.addIssue({ code: 'custom', path: [field], message, params: { code } });
  if (hours.time_zone !== 'recipient' && !isTimeZone(hours.time_zone)) {
    refuse('time_zone', ['is not a known time zone; write recipient, or an IANA name such as Europe/Berlin', 'unknown_time_zone']);
  }
  const silent = ((minutesOf(hours.to) - minutesOf(hours.from)) % MINUTES_A_DAY + MINUTES_A_DAY) % MINUTES_A_DAY || MINUTES_A_DAY;
  if (MINUTES_A_DAY - silent < LEAST_OPEN_MINUTES) {
    refuse('from', ['and to cover the whole day, so that nothing is ever sent; leave some of it open, such as "21:00" to "08:00"', 'quiet_all_day']);
  }
});
