import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { offsetAt } from '../../shared/content/time-zones.ts';
import type { QuietTerms } from '../../shared/domain/quiet-hours.ts';
import { isQuiet, opensAt, quietHoursFor } from '../../shared/domain/quiet-hours.ts';
import { examplePolicy } from './policies.ts';

const MINUTE = 60_000;
const terms = (span: string, ...zones: string[]): QuietTerms => ({ from: span.slice(0, 5), to: span.slice(6), zones });
const opens = (one: QuietTerms, at: string): string | null => {
  const found = opensAt(one, offsetAt, Date.parse(at));
  return found === null ? null : new Date(found).toISOString().replace('.000Z', 'Z');
};

describe('an hour of the day at which a channel is silent', () => {
  it.each([
    ['over midnight', terms('21:00-08:00', 'Europe/Berlin'), '2026-01-10T22:30:00Z', '2026-01-11T07:00:00Z'],
    ['after midnight', terms('21:00-08:00', 'Europe/Berlin'), '2026-01-10T02:30:00Z', '2026-01-10T07:00:00Z'],
    ['within a day', terms('12:00-14:00', 'Europe/Berlin'), '2026-01-10T11:30:00Z', '2026-01-10T13:00:00Z'],
    ['to the end of the day', terms('20:00-24:00', 'Europe/Berlin'), '2026-01-10T21:00:00Z', '2026-01-10T23:00:00Z'],
    ['begins to the second', terms('21:00-08:00', 'America/New_York'), '2026-01-11T02:00:00Z', '2026-01-11T13:00:00Z'],
    ['has not begun a millisecond before', terms('21:00-08:00', 'America/New_York'), '2026-01-11T01:59:59.999Z', '2026-01-11T01:59:59.999Z'],
    ['is over at its end', terms('21:00-08:00', 'America/New_York'), '2026-01-11T13:00:00Z', '2026-01-11T13:00:00Z'],
    ['by a quarter of an hour', terms('21:00-08:00', 'Asia/Kathmandu'), '2026-01-10T16:00:00Z', '2026-01-11T02:15:00Z'],
  ])('%s opens when the clock there says so', (_, one, at, expected) => { expect(opens(one, at)).toBe(expected); });

  it.each([
    // Spring: the clocks of New York go from 02:00 to 03:00 on 8 March 2026, at 07:00 UTC; of Berlin on 29 March, at 01:00 UTC.
    ['the night that is an hour shorter', terms('21:00-08:00', 'America/New_York'), '2026-03-08T02:00:00Z', '2026-03-08T12:00:00Z'],
    ['the night that is an hour shorter, in Berlin', terms('21:00-08:00', 'Europe/Berlin'), '2026-03-28T22:00:00Z', '2026-03-29T06:00:00Z'],
    ['an end that does not exist: at the jump over it', terms('21:00-02:30', 'America/New_York'), '2026-03-08T06:00:00Z', '2026-03-08T07:00:00Z'],
    ['a beginning that does not exist: from the jump over it', terms('02:30-06:00', 'America/New_York'), '2026-03-08T07:00:00Z', '2026-03-08T10:00:00Z'],
    ['a span that does not exist at all', terms('02:10-02:50', 'America/New_York'), '2026-03-08T06:59:59.999Z', '2026-03-08T06:59:59.999Z'],
    // Autumn: from 02:00 back to 01:00 on 1 November 2026, at 06:00 UTC; in Berlin from 03:00 back to 02:00 on 25 October, at 01:00 UTC.
    ['the night that is an hour longer', terms('21:00-08:00', 'America/New_York'), '2026-11-01T01:00:00Z', '2026-11-01T13:00:00Z'],
    ['the night that is an hour longer, in Berlin', terms('21:00-08:00', 'Europe/Berlin'), '2026-10-24T20:00:00Z', '2026-10-25T07:00:00Z'],
    ['an end that comes twice: at the first of them', terms('21:00-01:30', 'America/New_York'), '2026-11-01T04:00:00Z', '2026-11-01T05:30:00Z'],
    ['the part of an hour that comes twice: quiet again', terms('21:00-01:30', 'America/New_York'), '2026-11-01T06:10:00Z', '2026-11-01T06:30:00Z'],
    ['an end at the very change', terms('21:00-02:00', 'America/New_York'), '2026-11-01T04:00:00Z', '2026-11-01T07:00:00Z'],
    // Half an hour only: Lord Howe goes from 02:00 to 02:30 on 4 October 2026 (3 October 15:30 UTC), and back on 5 April (4 April 15:00 UTC).
    ['half an hour less, on Lord Howe', terms('21:00-08:00', 'Australia/Lord_Howe'), '2026-10-03T12:00:00Z', '2026-10-03T21:00:00Z'],
    ['half an hour more, on Lord Howe', terms('21:00-08:00', 'Australia/Lord_Howe'), '2026-04-04T12:00:00Z', '2026-04-04T21:30:00Z'],
    ['an end inside the half hour that is left out', terms('21:00-02:15', 'Australia/Lord_Howe'), '2026-10-03T12:00:00Z', '2026-10-03T15:30:00Z'],
  ])('is right over a change of the clocks: %s', (_, one, at, expected) => { expect(opens(one, at)).toBe(expected); });

  it('is the strictest of several zones together', () => {
    const both = terms('21:00-08:00', 'America/New_York', 'America/Los_Angeles');
    expect(opens(both, '2026-01-11T01:59:00Z')).toBe('2026-01-11T01:59:00Z');
    expect(opens(both, '2026-01-11T02:00:00Z')).toBe('2026-01-11T16:00:00Z');
  });
  it('never ends where no zone is known, nor where several leave no opening', () => {
    expect(opens(terms('21:00-08:00'), '2026-01-11T12:00:00Z')).toBeNull();
    expect(opens(terms('20:00-09:00', 'America/New_York', 'Europe/Berlin', 'Asia/Tokyo', 'Pacific/Auckland'), '2026-01-11T12:00:00Z')).toBeNull();
  });
  it('holds nothing that is exempt', () => {
    expect(opens({ ...terms('21:00-08:00', 'Europe/Berlin'), exempt: 'urgent' }, '2026-01-11T23:00:00Z')).toBe('2026-01-11T23:00:00Z');
  });

  it('opens at the first minute that is not quiet by the wall, wherever and whenever', () => {
    const zone = fc.constantFrom('America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Africa/Casablanca', 'America/Santiago', 'Pacific/Apia', 'UTC');
    const time = fc.integer({ min: 0, max: 95 }).map((quarter) => `${String(Math.floor(quarter / 4)).padStart(2, '0')}:${String((quarter % 4) * 15).padStart(2, '0')}`);
    // Around the changes of 2026 as often as elsewhere.
    const day = fc.oneof(fc.constantFrom('2026-03-08', '2026-03-28', '2026-04-04', '2026-10-03', '2026-10-24', '2026-10-31').map(Date.parse), fc.integer({ min: 0, max: 364 }).map((days) => Date.UTC(2026, 0, 1) + days * 86_400_000));
    fc.assert(fc.property(fc.record({ timeZone: zone, from: time, to: time, start: day, minutes: fc.integer({ min: 0, max: 2_879 }) }), ({ timeZone, from, to, start, minutes }) => {
      fc.pre(from !== to);
      const one = { from, to, zones: [timeZone] };
      const wall = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
      const silent = (at: number): boolean => {
        const shown = wall.format(at);
        return from < to ? shown >= from && shown < to : shown >= from || shown < to;
      };
      const at = start + minutes * MINUTE;
      let expected = at;
      while (silent(expected)) expected += MINUTE;
      expect(opensAt(one, offsetAt, at)).toBe(expected);
      expect(isQuiet(one, offsetAt, at)).toBe(silent(at));
    }), { numRuns: 300, seed: 26 });
  });
});

describe('the quiet hours of a recipient', () => {
  const policy = (timeZone: string, more: object = {}) =>
    examplePolicy({ policy: { regions: { US: { consent: {}, quietHours: { sms: { from: '21:00', to: '08:00', timeZone, ...more } } } } } });
  it.each([
    ['their own zone', policy('recipient'), 'Europe/Berlin', ['Europe/Berlin']],
    ['the policy\'s zone, wherever they are', policy('Europe/Paris'), 'Europe/Berlin', ['Europe/Paris']],
    ['the zones for who has none', policy('recipient', { ifUnknown: ['America/New_York', 'America/Denver'] }), null, ['America/New_York', 'America/Denver']],
    ['no zone, where nobody knows one', policy('recipient'), null, []],
  ])('go by %s', (_, one, zone, zones) => {
    expect(quietHoursFor(one, 'US', zone)).toEqual({ sms: { from: '21:00', to: '08:00', zones, ...(zone === null && zones.length > 0 ? { assumed: true } : {}) } });
  });
  it('say where the policy lets its urgency through, and are none in another region', () => {
    expect(quietHoursFor(policy('recipient', { except: ['urgent'] }), 'US', 'Europe/Berlin')?.sms?.exempt).toBe('urgent');
    expect(quietHoursFor(policy('recipient', { except: ['routine'] }), 'US', 'Europe/Berlin')?.sms).not.toHaveProperty('exempt');
    expect(quietHoursFor(policy('recipient'), 'EU', null)).toBeUndefined();
    expect(quietHoursFor(examplePolicy(), 'US', null)).toBeUndefined();
  });
});
