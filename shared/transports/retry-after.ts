import type { Instant } from '../domain/words.ts';

/** The longest wait a provider may ask for; a longer wish is cut to it. */
export const RETRY_AFTER_CAP_MS = 3_600_000;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH = `(${MONTHS.join('|')})`;
const CLOCK = '(\\d{2}):(\\d{2}):(\\d{2})';
const IMF_FIXDATE = new RegExp(`^(?:mon|tue|wed|thu|fri|sat|sun), (\\d{2}) ${MONTH} (\\d{4}) ${CLOCK} gmt$`);
const RFC_850 = new RegExp(`^(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday), (\\d{2})-${MONTH}-(\\d{2}) ${CLOCK} gmt$`);
const ASCTIME = new RegExp(`^(?:mon|tue|wed|thu|fri|sat|sun) ${MONTH} ([ \\d]\\d) ${CLOCK} (\\d{4})$`);

interface DateParts { year: number; month: string; day: number; clock: [string, string, string] }

/** RFC 9110, 5.6.7: a two-digit year is the latest year with those digits that is at most 50 years ahead. */
const fullYear = (digits: number, now: Instant): number => {
  const latest = new Date(now).getUTCFullYear() + 50;
  return latest - ((latest - digits) % 100);
};

const partsOf = (text: string, now: Instant): DateParts | null => {
  const fixdate = IMF_FIXDATE.exec(text);
  if (fixdate) {
    const [, day, month, year, h, m, s] = fixdate as unknown as string[];
    return { year: Number(year), month: month as string, day: Number(day), clock: [h as string, m as string, s as string] };
  }
  const rfc850 = RFC_850.exec(text);
  if (rfc850) {
    const [, day, month, year, h, m, s] = rfc850 as unknown as string[];
    return { year: fullYear(Number(year), now), month: month as string, day: Number(day), clock: [h as string, m as string, s as string] };
  }
  const asctime = ASCTIME.exec(text);
  if (asctime) {
    const [, month, day, h, m, s, year] = asctime as unknown as string[];
    return { year: Number(year), month: month as string, day: Number(day), clock: [h as string, m as string, s as string] };
  }
  return null;
};

const httpDate = (text: string, now: Instant): Instant | null => {
  const parts = partsOf(text.toLowerCase(), now);
  if (!parts) return null;
  const [hour, minute, second] = parts.clock.map(Number) as [number, number, number];
  // 60 is a leap second
  if (hour > 23 || minute > 59 || second > 60) return null;
  const day = new Date(Date.UTC(parts.year, MONTHS.indexOf(parts.month), parts.day));
  // a day its month does not have would silently roll over into the next month
  if (day.getUTCDate() !== parts.day) return null;
  return day.getTime() + ((hour * 60 + minute) * 60 + second) * 1000;
};

/**
 * Reads a Retry-After header (RFC 9110, 10.2.3): whole seconds, or any of the three forms of an HTTP date.
 *
 * @param header the raw field value, undefined where there is none
 * @param now the instant an HTTP date is measured from
 * @returns milliseconds to wait, from 0 (now, or a date in the past) to one hour; null where the provider has no wish that
 *   can be understood, so that the caller's own backoff applies
 */
export const retryAfterMs = (header: string | undefined, now: Instant): number | null => {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, RETRY_AFTER_CAP_MS);
  const at = httpDate(text, now);
  if (at === null) return null;
  return Math.min(Math.max(at - now, 0), RETRY_AFTER_CAP_MS);
};
