import type { OffsetAt } from '../domain/quiet-hours.ts';

/** By the name in lower case: a runtime knows some hundred zones, and each in any spelling. */
const formats = new Map<string, Intl.DateTimeFormat>();

const formatOf = (timeZone: string): Intl.DateTimeFormat => {
  const key = timeZone.toLowerCase();
  const known = formats.get(key);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric',
  });
  formats.set(key, format);
  return format;
};

/** Whether the runtime knows a time zone by this name (IANA). */
export const isTimeZone = (name: string): boolean => {
  try {
    return Boolean(formatOf(name));
  } catch {
    return false;
  }
};

/**
 * How far the clocks of a time zone are ahead of UTC, in milliseconds, by the runtime's own table of zones.
 * @throws RangeError where it knows no such zone.
 */
export const offsetAt: OffsetAt = (timeZone, at) => {
  const shown: Record<string, number> = {};
  for (const { type, value } of formatOf(timeZone).formatToParts(at)) shown[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown as Record<'year' | 'month' | 'day' | 'hour' | 'minute' | 'second', number | undefined>;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1_000) * 1_000;
};
