import { isDatabaseAway } from '../../shared/ledger/database.ts';
import { redactText } from '../../shared/security/redact.ts';
import type { Command } from './command.ts';
import { parseInput } from './command.ts';
import { COMMANDS } from './commands.ts';
import type { Io } from './io.ts';
import { Refusal, UsageError } from './refusal.ts';
import type { RefusalFacts } from './refusal.ts';
import { commandHelp, programHelp } from './usage.ts';

const DONE = 0;
const REFUSED = 1;
const USAGE = 2;

/** The command that the first one or two words name. */
const findCommand = (argv: string[]): { command: Command; rest: string[] } | null => {
  for (const words of [2, 1]) {
    const command = COMMANDS.find((one) => one.name === argv.slice(0, words).join(' '));
    if (command) return { command, rest: argv.slice(words) };
  }
  return null;
};

const NOT_MIGRATED = new Set(['42P01', '3F000', 'P2021', 'P2022']);
const codeOf = (error: Error): string | undefined => (error as { code?: string }).code;

/** What went wrong, in words of the command line. */
const factsOf = (error: unknown): RefusalFacts & { message: string } => {
  if (error instanceof Refusal) return { message: error.message, ...error.facts };
  if (isDatabaseAway(error)) return { message: 'the database does not answer', code: 'database_away', cure: 'start it or correct DATABASE_URL; `npx tocsin doctor` tells more' };
  if (!(error instanceof Error)) return { message: 'something failed that gave no reason', code: 'internal' };
  if (NOT_MIGRATED.has(codeOf(error) ?? '')) return { message: 'the database has no tables of Tocsin', code: 'not_migrated', cure: 'run `npx tocsin migrate` with the owner\'s DATABASE_URL' };
  if (error.name === 'ConfigurationError') return { message: error.message, code: 'configuration' };
  // The message of a library may quote a URL or an address.
  return { message: redactText(error.message), code: error.name === 'Error' ? 'failed' : error.name };
};

const report = (error: unknown, io: Io, json: boolean): void => {
  const { message, ...facts } = factsOf(error);
  if (json) return io.out.write(`${JSON.stringify({ error: { ...facts, message } })}\n`);
  io.err.write(`tocsin: ${message}\n`);
  if (facts.cure) io.err.write(`  what to do: ${facts.cure}\n`);
};

const misused = (error: UsageError, io: Io, command: Command | null, json: boolean): number => {
  const help = `npx tocsin ${command ? `${command.name} ` : ''}--help`;
  if (json) io.out.write(`${JSON.stringify({ error: { code: 'usage', field: error.field, message: error.message, cure: help } })}\n`);
  else io.err.write(`tocsin${command ? ` ${command.name}` : ''}: ${error.message}\n  what to do: see \`${help}\`\n`);
  return USAGE;
};

const unknownCommand = (argv: string[]): UsageError => {
  const group = COMMANDS.filter((one) => one.name.startsWith(`${argv[0]} `)).map((one) => one.name.split(' ')[1]);
  return group.length > 0 ? new UsageError(`"${argv[0]}" needs one of: ${group.join(', ')}`) : new UsageError(`there is no command "${argv[0]}"; there are: ${COMMANDS.map((one) => one.name).join(', ')}`);
};

/** Runs one command line, without the program's own name. Never throws. Exit code: 0 done, 1 refused or found a fault, 2 usage. */
export const runCli = async (argv: string[], io: Io): Promise<number> => {
  const json = argv.includes('--json');
  const [first] = argv;
  if (first === undefined || first === 'help' || first === '--help' || first === '-h') {
    (first === undefined ? io.err : io.out).write(programHelp(COMMANDS));
    return first === undefined ? USAGE : DONE;
  }
  const found = findCommand(argv);
  if (!found) {
    const group = COMMANDS.filter((one) => one.name.startsWith(`${first} `));
    if (group.length > 0 && (argv.includes('--help') || argv.includes('-h'))) {
      io.out.write(group.map(commandHelp).join('\n'));
      return DONE;
    }
    return misused(unknownCommand(argv), io, null, json);
  }
  try {
    const input = parseInput(found.command, found.rest);
    if (input.help) {
      io.out.write(commandHelp(found.command));
      return DONE;
    }
    return await found.command.run(input, io);
  } catch (error) {
    if (error instanceof UsageError) return misused(error, io, found.command, json);
    report(error, io, json);
    return REFUSED;
  }
};
