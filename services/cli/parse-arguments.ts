import { parseArgs } from 'node:util';
import type { Command, OptionSpec } from './command.ts';
import { UsageError } from './refusal.ts';

type Types = Record<string, { type: 'boolean' | 'string'; multiple: boolean; short?: string }>;

const typesOf = (options: Record<string, OptionSpec>): Types => Object.fromEntries(Object.entries(options).map(([name, spec]) => [
  name, { type: spec.value === undefined ? 'boolean' : 'string', multiple: spec.repeatable === true, ...(name === 'help' ? { short: 'h' } : {}) },
]));

/** Joins `--limit -1` to `--limit=-1`: no option begins with a digit, so it is a value, and the command says what it thinks of it. */
const joinNegatives = (argv: readonly string[], types: Types): string[] => {
  const joined: string[] = [];
  for (const word of argv) {
    const before = joined.at(-1);
    const takesValue = before !== undefined && before.startsWith('--') && types[before.slice(2)]?.type === 'string' && !joined.includes('--');
    if (takesValue && /^-\d/.test(word)) joined[joined.length - 1] = `${before}=${word}`;
    else joined.push(word);
  }
  return joined;
};

/** Of two values given to one option the parser would take the last, and nothing would say that the first was lost. */
const refuseRepeated = (tokens: readonly { kind: string; name?: string }[], types: Types): void => {
  const seen = new Set<string>();
  for (const { kind, name } of tokens) {
    if (kind !== 'option' || name === undefined || types[name]?.type !== 'string' || types[name].multiple) continue;
    if (seen.has(name)) throw new UsageError(`--${name} is given twice; give it once`, `--${name}`);
    seen.add(name);
  }
};

/** What the parser found wrong, in words of the command line. */
const misuseOf = (command: Command, { code, message }: NodeJS.ErrnoException): UsageError => {
  const option = /'(--?[\w-]+)/.exec(message)?.[1];
  const instead = code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? command.instead?.[option?.slice(2) ?? ''] : undefined;
  if (instead !== undefined) return new UsageError(`${option} ${instead}`, option);
  if (message.includes('is ambiguous')) return new UsageError(`${option} has no value, since what follows it begins with a dash; write ${option}=VALUE where that is the value`, option);
  // The first sentence says what is wrong; the rest is about writing `--`.
  return new UsageError(message.split('. ')[0] as string, option);
};

/** Options and arguments as they were written. @throws UsageError naming the one at fault. */
export const readArguments = (command: Command, options: Record<string, OptionSpec>, argv: readonly string[]) => {
  const types = typesOf(options);
  try {
    const read = parseArgs({ args: joinNegatives(argv, types), options: types, allowPositionals: true, strict: true, tokens: true });
    refuseRepeated(read.tokens, types);
    return read;
  } catch (error) {
    if (!(error as NodeJS.ErrnoException).code?.startsWith('ERR_PARSE_ARGS')) throw error;
    throw misuseOf(command, error as NodeJS.ErrnoException);
  }
};
