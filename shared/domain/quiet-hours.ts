import type { Channel, Instant } from './words.ts';
import type { Policy } from './policy.ts';

/** How far local time is ahead of UTC in a time zone (IANA name) at an instant, in milliseconds. Pure; given from outside, for it rests on a table that changes. */
export type OffsetAt = (timeZone: string, at: Instant) => number;

/**
 * The quiet hours of a channel as they were bound at acceptance: times of day such as `21:00`, and the zones whose clocks count. It is silent
 * while it is quiet in any of them; with none of them it is silent for good, for nobody knows what time it is there.
 */
export interface QuietTerms { from: string; to: string; zones: string[]; /** Why they hold nothing: the policy lets notifications of that urgency through. */ exempt?: 'urgent' | 'routine'; /** The recipient's zone is unknown, and the policy says to go by these. */ assumed?: true }
export type QuietHoursBound = Partial<Record<Channel, QuietTerms>>;

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
/** Where several zones leave no common opening within that time, there is none. */
const FARTHEST = 8 * DAY;

const timeOf = (text: string): number => ((Number(text.slice(0, 2)) * 60 + Number(text.slice(3))) * MINUTE) % DAY;
const modulo = (value: number, by: number): number => ((value % by) + by) % by;

const isQuietIn = ({ from, to }: QuietTerms, localMs: number): boolean => {
  const time = modulo(localMs, DAY);
  const [begin, end] = [timeOf(from), timeOf(to)];
  return begin < end ? time >= begin && time < end : time >= begin || time < end;
};

/** The first instant in (`from`, `to`] at which the clocks of a zone show another offset; `to` does. To the millisecond. */
const changeOf = (offset: (at: Instant) => number, from: Instant, to: Instant): Instant => {
  const before = offset(from);
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offset(middle) === before) low = middle;
    else high = middle;
  }
  return high;
};

/**
 * When it stops being quiet in one zone. By what the clocks on the wall show: where they jump forward across the end, it ends at the jump, and an
 * hour that comes twice is quiet both times.
 */
const endsIn = (terms: QuietTerms, offset: (at: Instant) => number, at: Instant): Instant => {
  let from = at;
  for (;;) {
    const local = from + offset(from);
    if (!isQuietIn(terms, local)) return from;
    const end = from + modulo(timeOf(terms.to) - local, DAY);
    if (offset(end) === offset(from)) return end;
    from = changeOf(offset, from, end);
  }
};

/** The first instant, not before `at`, at which it is quiet in none of the zones; null where none is in sight. */
export const opensAt = (terms: QuietTerms, offsetAt: OffsetAt, at: Instant): Instant | null => {
  if (terms.exempt !== undefined) return at;
  if (terms.zones.length === 0) return null;
  for (let from = at; from <= at + FARTHEST;) {
    const next = terms.zones.reduce((latest, zone) => Math.max(latest, endsIn(terms, (when) => offsetAt(zone, when), from)), from);
    if (next === from) return from;
    from = next;
  }
  return null;
};

/** Whether it is quiet at that instant. */
export const isQuiet = (terms: QuietTerms, offsetAt: OffsetAt, at: Instant): boolean => opensAt(terms, offsetAt, at) !== at;

/**
 * The quiet hours that a policy has for a recipient: by their own time zone, else by those that the policy names for that case, the strictest of
 * them together. Undefined where it has none for any of its channels.
 */
export const quietHoursFor = (policy: Policy, region: string, timeZone: string | null): QuietHoursBound | undefined => {
  const rules = policy.regions[region]?.quietHours;
  const bound: QuietHoursBound = {};
  for (const { channel } of policy.steps) {
    const hours = rules?.[channel];
    if (hours === undefined) continue;
    const zones = hours.timeZone !== 'recipient' ? [hours.timeZone] : timeZone === null ? hours.ifUnknown ?? [] : [timeZone];
    bound[channel] = { from: hours.from, to: hours.to, zones, ...(hours.except?.includes(policy.urgency) ? { exempt: policy.urgency } : {}), ...(hours.timeZone === 'recipient' && timeZone === null && zones.length > 0 ? { assumed: true } : {}) };
  }
  return Object.keys(bound).length === 0 ? undefined : bound;
};
