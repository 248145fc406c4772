import type { Command, OptionSpec } from './command.ts';
import { GLOBAL_OPTIONS } from './command.ts';

const PROGRAM = 'npx tocsin';

const columns = (rows: [string, string][]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd()).join('\n');
};

const optionRow = ([name, spec]: [string, OptionSpec]): [string, string] =>
  [`--${name}${spec.value ? ` ${spec.value}` : ''}`, `${spec.help}${spec.repeatable ? ' (repeatable)' : ''}`];

const argName = (arg: Command['args'][number]): string => (arg.optional ? `[${arg.name}]` : arg.name);

const examplesText = (examples: Command['examples']): string =>
  examples.map(([line, meaning]) => `  # ${meaning}\n  ${line.includes('|') ? line : `${PROGRAM} ${line}`}`).join('\n');

const EXITS = 'Exit codes: 0 done, 1 refused or a fault was found, 2 the command was not understood.';

/** Help of the whole program. */
export const programHelp = (commands: readonly Command[]): string => `Tocsin: urgent notices by SMS and email that can be proved afterwards.

Usage: ${PROGRAM} COMMAND [options]

Commands:
${columns(commands.map((one): [string, string] => [[one.name, ...one.args.map(argName)].join(' '), one.summary]))}

Every command takes:
${columns(Object.entries(GLOBAL_OPTIONS).map(optionRow))}

Alone, --version prints the version of Tocsin.

Examples:
${examplesText([
  ['send --ticket --category payment_lockout --message "charged twice" --player p-1001', 'post the support form to the running Tocsin'],
  ['watch evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'see what becomes of it, live'],
  ['explain evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'why each channel was or was not used'],
  ['doctor', 'find what is wrong with this installation'],
])}

The database is found by DATABASE_URL, else by standalone.json in TOCSIN_DATA_DIR (.tocsin); \`${PROGRAM} COMMAND --help\` tells more.
${EXITS}
`;

/** Help of one command. */
export const commandHelp = (command: Command): string => {
  const usage = [PROGRAM, command.name, ...command.args.map(argName), '[options]'].join(' ');
  const args = command.args.length > 0 ? `\n${columns(command.args.map((arg): [string, string] => [arg.name, arg.help]))}\n` : '';
  return `${command.summary}

Usage: ${usage}
${args}
Options:
${columns(Object.entries({ ...command.options, ...GLOBAL_OPTIONS }).map(optionRow))}

Examples:
${examplesText(command.examples)}

${EXITS}
`;
};
