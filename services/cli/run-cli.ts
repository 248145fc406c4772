import type { Command } from './command.ts';
import { parseInput } from './command.ts';
import { loadCommand, loadCommands } from './commands.ts';
import type { Io } from './io.ts';
import { Refusal, UsageError } from './refusal.ts';
import type { RefusalFacts } from './refusal.ts';
import { groupOf, unknownCommand } from './unknown-command.ts';
import { commandHelp, programHelp } from './usage.ts';
import { readVersion } from './version.ts';

const DONE = 0;
const REFUSED = 1;
const USAGE = 2;

/** The command that the first one or two words name. */
const findCommand = async (argv: string[]): Promise<{ command: Command; rest: string[] } | null> => {
  for (const words of [2, 1]) {
    const command = await loadCommand(argv.slice(0, words).join(' '));
    if (command) return { command, rest: argv.slice(words) };
  }
  return null;
};

const NOT_MIGRATED = new Set(['42P01', '3F000', 'P2021', 'P2022']);
// A cluster that no database of was ever migrated lacks the role too.
const NO_ROLE = /role "tocsin_app" does not exist/;
const isNotMigrated = (error: Error): boolean => NOT_MIGRATED.has((error as { code?: string }).code ?? '') || NO_ROLE.test(error.message);

/** What went wrong, in words of the command line. */
const factsOf = async (error: unknown): Promise<RefusalFacts & { message: string }> => {
  if (error instanceof Refusal) return { message: error.message, ...error.facts };
  // Loaded only now: a command that needs no database should not wait for its client.
  const { isDatabaseAway } = await import('../../shared/ledger/database.ts');
  if (isDatabaseAway(error)) return { message: 'the database does not answer', code: 'database_away', cure: 'start it or correct DATABASE_URL; `npx tocsin doctor` tells more' };
  if (!(error instanceof Error)) return { message: 'something failed that gave no reason', code: 'internal' };
  if (isNotMigrated(error)) return { message: 'the database has no tables of Tocsin', code: 'not_migrated', cure: 'run `npx tocsin migrate` with the owner\'s DATABASE_URL' };
  if (error.name === 'WrongKeysError') return { message: error.message, code: 'wrong_keys', field: 'TOCSIN_KEYS' };
  if (error.name === 'ConfigurationError') return { message: error.message, code: 'configuration' };
  // The message of a library may quote a URL or an address.
  const { redactText } = await import('../../shared/security/redact.ts');
  return { message: redactText(error.message), code: error.name === 'Error' ? 'failed' : error.name };
};

const report = async (error: unknown, io: Io, json: boolean): Promise<void> => {
  const { message, ...facts } = await factsOf(error);
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

/** Runs one command line, without the program's own name. Never throws. Exit code: 0 done, 1 refused or found a fault, 2 usage. */
export const runCli = async (argv: string[], io: Io): Promise<number> => {
  const json = argv.includes('--json');
  const [first] = argv;
  if (first === undefined || first === 'help' || first === '--help' || first === '-h') {
    (first === undefined ? io.err : io.out).write(programHelp(await loadCommands()));
    return first === undefined ? USAGE : DONE;
  }
  if (first === '--version' || first === '-v') {
    const version = readVersion();
    io.out.write(json ? `${JSON.stringify({ version })}\n` : `tocsin ${version}\n`);
    return DONE;
  }
  const found = await findCommand(argv);
  if (!found) {
    const group = groupOf(argv);
    if (group.length > 0 && (argv.includes('--help') || argv.includes('-h'))) {
      io.out.write((await loadCommands(group)).map(commandHelp).join('\n'));
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
    await report(error, io, json);
    return REFUSED;
  }
};
