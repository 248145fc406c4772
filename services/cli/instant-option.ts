import type { Input } from './command.ts';
import { UsageError } from './refusal.ts';

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The instant that an option names: a span back from now, or a date; null where it was not given. @throws UsageError naming the option. */
export const instantOption = (input: Input, name: string, now: number): number | null => {
  const text = input.text(name);
  if (text === undefined) return null;
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined && unit !== undefined) return now - Number(count) * (UNITS[unit] as number);
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) throw new UsageError(`--${name} is neither a span (30m, 2h, 7d) nor a date (2026-11-29T08:00Z)`, `--${name}`);
  return at;
};
