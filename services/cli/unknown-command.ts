import { COMMAND_NAMES } from './commands.ts';
import { UsageError } from './refusal.ts';

const within = (group: string): string[] => COMMAND_NAMES.filter((name) => name.startsWith(`${group} `));

/** Names of the commands that begin with that word, e.g. with `key`. */
export const groupOf = (argv: readonly string[]): string[] => within(argv[0] ?? '');

/** How many letters have to be put in, taken out, changed, or exchanged with the next one, to make one word of another. */
const distance = (one: string, other: string): number => {
  const rows = [Array.from({ length: other.length + 1 }, (_none, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= one.length; row += 1) {
    const made = [row];
    rows.push(made);
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1] ? 0 : 1;
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1] ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY;
      made.push(Math.min(at(row - 1, column) + 1, (made[column - 1] as number) + 1, at(row - 1, column - 1) + same, swapped));
    }
  }
  return at(one.length, other.length);
};

const LONGEST = 40;

/** The one of these names that was probably meant; null where none is near. */
const nearest = (argv: readonly string[], names: readonly string[]): string | null => {
  const scored = names.map((name) => ({ name, off: distance(argv.slice(0, name.split(' ').length).join(' ').slice(0, LONGEST), name) }));
  const fitting = scored.filter(({ name, off }) => off <= Math.max(1, Math.floor(name.length / 4)));
  return fitting.sort((one, other) => one.off - other.off)[0]?.name ?? null;
};

const oneOf = (group: string): string => within(group).map((name) => name.split(' ')[1]).join(', ');

/** What to say of a command that there is not: the nearest one, where one is near. */
export const unknownCommand = (argv: readonly string[]): UsageError => {
  const [first = '', second] = argv;
  if (within(first).length > 0) {
    const meant = second === undefined ? null : nearest(argv, within(first));
    return new UsageError(`"${first}" needs one of: ${oneOf(first)}${meant === null ? '' : `; the nearest is "${meant}"`}`);
  }
  const meant = nearest(argv, [...COMMAND_NAMES, ...COMMAND_NAMES.map((name) => name.split(' ')[0] as string)]);
  if (meant === null) return new UsageError(`there is no command "${first}"; there are: ${COMMAND_NAMES.join(', ')}`);
  return new UsageError(`there is no command "${first}"; the nearest is "${meant}"${within(meant).length > 0 ? `, with one of: ${oneOf(meant)}` : ''}`);
};
