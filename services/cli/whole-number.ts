import type { Input } from './command.ts';
import { UsageError } from './refusal.ts';

/** The whole number that an option gives, from 1 on; null where it was not given. @throws UsageError naming the option and its bounds. */
export const wholeNumber = (input: Input, name: string, most = 999_999_999): number | null => {
  const text = input.text(name);
  if (text === undefined) return null;
  if (!/^[1-9]\d{0,15}$/.test(text) || Number(text) > most) throw new UsageError(`--${name} must be a whole number from 1 to ${most}`, `--${name}`);
  return Number(text);
};
