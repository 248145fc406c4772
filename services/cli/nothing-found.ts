import type { Input } from './command.ts';

/**
 * What an empty list says: that all is well only where nothing narrowed it down; else which filters did, by name alone, since an address or a
 * reference is not repeated. `found` is what the list is of.
 */
export const nothingFound = (input: Input, filters: readonly string[], { none, found }: { none: string; found: string }): string => {
  const given = filters.filter((name) => input.text(name) !== undefined).map((name) => `--${name}`);
  return given.length === 0 ? `${none}\n` : `No ${found} matches ${given.join(', ')}; without ${given.length === 1 ? 'it' : 'them'} there may be some.\n`;
};
