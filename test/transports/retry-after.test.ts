import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { RETRY_AFTER_CAP_MS, retryAfterMs } from '../../shared/transports/retry-after.ts';

const NOW = Date.UTC(1994, 10, 6, 8, 49, 7);

const asFixdate = (at: number) => new Date(at).toUTCString();
const asRfc850 = (at: number) => {
  const date = new Date(at);
  const day = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'][date.getUTCDay()] as string;
  const [, dayOfMonth, month, year, clock] = date.toUTCString().split(' ') as [string, string, string, string, string];
  return `${day}, ${dayOfMonth}-${month}-${year.slice(2)} ${clock} GMT`;
};
const asAsctime = (at: number) => {
  const [weekday, day, month, year, clock] = new Date(at).toUTCString().split(' ') as [string, string, string, string, string];
  return `${weekday.slice(0, 3)} ${month} ${String(Number(day)).padStart(2, ' ')} ${clock} ${year}`;
};

describe('Retry-After', () => {
  test.each([
    ['0', 0],
    ['30', 30_000],
    [' 120 ', 120_000],
    ['3600', RETRY_AFTER_CAP_MS],
    ['99999999999999999999999999', RETRY_AFTER_CAP_MS],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 30_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 30_000],
    ['Sun Nov  6 08:49:37 1994', 30_000],
    ['Sun, 06 Nov 1994 08:49:07 GMT', 0],
    ['Sun, 06 Nov 1984 08:49:37 GMT', 0],
    ['Sun, 06 Nov 2044 08:49:37 GMT', RETRY_AFTER_CAP_MS],
    // 44 is fifty years ahead of 1994; 45 would be more, so it is 1945
    ['Sunday, 06-Nov-44 08:49:37 GMT', RETRY_AFTER_CAP_MS],
    ['Sunday, 06-Nov-45 08:49:37 GMT', 0],
  ])('%j is %d ms', (header, expected) => {
    expect(retryAfterMs(header, NOW)).toBe(expected);
  });

  test.each([
    [undefined], [''], ['soon'], ['-1'], ['+5'], ['1.5'], ['1e3'], ['0x10'], ['NaN'], ['Infinity'], ['30 seconds'], ['30, 60'],
    ['Sun, 31 Feb 1994 08:49:37 GMT'], ['Sun, 06 Nov 1994 24:00:00 GMT'], ['Sun, 06 Nov 1994 08:60:00 GMT'],
    ['Sun, 06 Nov 1994 08:49:37 CET'], ['06 Nov 1994'], ['1994-11-06T08:49:37Z'], ['Sun Nov 00 08:49:37 1994'],
  ])('%j is no wish at all', (header) => {
    expect(retryAfterMs(header, NOW)).toBeNull();
  });

  it('never is NaN, negative or above the cap, whatever the header says', () => {
    const headers = fc.oneof(fc.string(), fc.double().map(String), fc.bigInt().map(String), fc.date({ noInvalidDate: true }).map((at) => at.toUTCString()));
    fc.assert(fc.property(headers, fc.integer({ min: 0, max: 4e12 }), (header, now) => {
      const waitMs = retryAfterMs(header, now);
      return waitMs === null || (Number.isFinite(waitMs) && waitMs >= 0 && waitMs <= RETRY_AFTER_CAP_MS);
    }));
  });

  it('reads the three date forms of one instant alike', () => {
    // within the fifty years for which a two-digit year is unambiguous
    const instants = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2075, 0, 1) }).map((at) => Math.floor(at / 1000) * 1000);
    fc.assert(fc.property(instants, fc.integer({ min: 0, max: 7_200_000 }), (at, ahead) => {
      const now = at - ahead;
      const expected = Math.min(ahead, RETRY_AFTER_CAP_MS);
      expect([asFixdate(at), asRfc850(at), asAsctime(at)].map((header) => retryAfterMs(header, now))).toEqual([expected, expected, expected]);
    }));
  });
});
