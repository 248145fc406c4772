import { EVENT_ID } from '../../shared/domain/words.ts';
import type { Io } from './io.ts';
import { readArguments } from './parse-arguments.ts';
import { UsageError } from './refusal.ts';

export interface OptionSpec {
  /** Name of the value in the help; a flag has none. */
  value?: string;
  repeatable?: boolean;
  help: string;
}

/** What a command was called with. */
export interface Input {
  args: string[];
  json: boolean;
  /** Value of an option; undefined where it was not given. */
  text: (name: string) => string | undefined;
  /** @throws UsageError where it was not given. */
  required: (name: string) => string;
  list: (name: string) => string[];
  flag: (name: string) => boolean;
}

export interface Command {
  /** One or two words, e.g. `key create`. */
  name: string;
  summary: string;
  /** Only the last ones may be optional. */
  args: { name: string; help: string; optional?: boolean }[];
  options: Record<string, OptionSpec>;
  /** Options that somebody may expect here, and what to say instead; the help leaves them out. */
  instead?: Record<string, string>;
  /** Command line without the program's name, and what it does. */
  examples: [line: string, meaning: string][];
  /** Returns the exit code: 0 done, 1 refused or found a fault. Throws Refusal and UsageError. */
  run: (input: Input, io: Io) => Promise<number>;
}

/** Options of every command. */
export const GLOBAL_OPTIONS: Record<string, OptionSpec> = {
  json: { help: 'print JSON for programs, also when refused' },
  help: { help: 'print this help' },
};

/** Reads the arguments of a command. @throws UsageError naming the option or argument at fault. */
export const parseInput = (command: Command, argv: string[]): Input & { help: boolean } => {
  const { values, positionals } = readArguments(command, { ...command.options, ...GLOBAL_OPTIONS }, argv);
  const given = values as Record<string, string | boolean | (string | boolean)[] | undefined>;
  const text = (name: string): string | undefined => (typeof given[name] === 'string' ? given[name] : undefined);
  const help = given['help'] === true;
  const missing = command.args[positionals.length]?.optional ? undefined : command.args[positionals.length]?.name;
  if (!help && missing !== undefined) {
    throw new UsageError(`${missing} is missing`, missing);
  }
  if (!help && positionals.length > command.args.length) throw new UsageError(`"${positionals[command.args.length]}" is one argument too many`);
  return {
    args: positionals, json: given['json'] === true, help, text,
    required: (name) => {
      const value = text(name);
      if (value === undefined || value.trim() === '') throw new UsageError(`--${name} is missing`, `--${name}`);
      return value;
    },
    list: (name) => (Array.isArray(given[name]) ? given[name].map(String) : []),
    flag: (name) => given[name] === true,
  };
};

/** The event id a command was called with. @throws UsageError where it is none. */
export const eventIdOf = (input: Input): string => {
  const eventId = input.args[0] ?? '';
  if (!EVENT_ID.test(eventId)) throw new UsageError('EVENT is not an event id: it looks like evt_ and 26 letters and digits, as the receipt says', 'EVENT');
  return eventId;
};
