import { z } from 'zod';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads a duration with its unit (`500ms`, `30s`, `15m`, `24h`, `30d`) as milliseconds; null where it is none. */
export const parseDuration = (text: string): number | null => {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text);
  if (!match) return null;
  const ms = Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
  return Number.isSafeInteger(ms) ? ms : null;
};

/** Schema of a duration in a file; its value is milliseconds. A bare number is refused, since nobody can see its unit. */
export const durationField = z.unknown().transform((value, context): number => {
  const ms = typeof value === 'string' ? parseDuration(value) : null;
  if (ms !== null) return ms;
  const message =
    value === undefined ? 'is missing; add a duration such as 30s'
    : typeof value === 'number' ? `has no unit; write ${value}s, ${value}m or whatever is meant`
    : 'is not a duration; write a number and ms, s, m, h or d, such as 30s';
  context.addIssue({ code: 'custom', message, params: { code: typeof value === 'number' ? 'unit_missing' : 'not_a_duration' } });
  return z.NEVER;
}).meta({ type: 'string', pattern: '^\\d{1,9}(\\.\\d{1,3})?(ms|s|m|h|d)$' });

/** Schema of a share in a file, `10%`; its value is a fraction. */
export const percentField = z.unknown().transform((value, context): number => {
  const match = typeof value === 'string' ? /^(\d{1,2}(?:\.\d{1,2})?)%$/.exec(value) : null;
  if (match) return Number(match[1]) / 100;
  context.addIssue({ code: 'custom', message: 'is not a share below 100 %; write it with its sign, such as 10%', params: { code: 'not_a_share' } });
  return z.NEVER;
}).meta({ type: 'string', pattern: '^\\d{1,2}(\\.\\d{1,2})?%$' });
