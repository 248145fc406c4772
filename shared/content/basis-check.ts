import type { Person } from './roster.ts';
import type { ReadPolicy } from './policy-file.ts';
import type { FileProblem } from './yaml-file.ts';

/** Shorter words are too near to each other by nature. */
const LONG_ENOUGH = 6;
/** Letters by which a slip of the fingers differs from what was meant. */
const SLIP = 2;

/** How many letters must be put in, taken out or changed to make one word of the other. */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let column = 1; column < row.length; column += 1) next.push(Math.min((row[column] as number) + 1, (next[column - 1] as number) + 1, (row[column - 1] as number) + (letter === other[column - 1] ? 0 : 1)));
    row = next;
  }
  return row.at(-1) as number;
};

interface Use { basis: string; place: (problem: string) => FileProblem }

const usesOf = (policies: readonly ReadPolicy[]): Use[] => policies.flatMap(({ policy, at }) => Object.entries(policy.regions).flatMap(([region, { consent }]) => Object.entries(consent).flatMap(([channel, bases]) => bases.map((basis, index) =>
  ({ basis, place: (problem: string): FileProblem => ({ ...at(['regions', region, 'consent', channel, index], problem, 'basis_misspelt'), level: 'warning' }) })))));

/**
 * Bases of the consent rules that nearly are one that is used more often, by other rules and by the roster: nobody would have given consent by such a name, and the
 * channel would never be used. Any word may be a basis, so it is no more than a warning.
 */
export const checkBases = (policies: readonly ReadPolicy[], people: readonly Person[]): FileProblem[] => {
  const uses = usesOf(policies);
  const count = new Map<string, number>();
  for (const basis of [...uses.map((use) => use.basis), ...people.flatMap(({ consent }) => Object.values(consent).flat().map((one) => one.basis))]) count.set(basis, (count.get(basis) ?? 0) + 1);
  const meant = (basis: string): string | undefined => [...count.keys()].find((other) => other !== basis && Math.min(other.length, basis.length) >= LONG_ENOUGH && (count.get(other) ?? 0) > (count.get(basis) ?? 0) && distance(basis, other) <= SLIP);
  return uses.flatMap(({ basis, place }) => {
    const other = meant(basis);
    return other === undefined ? [] : [place(`is ${basis}, and ${other} is what is used elsewhere; correct it, or leave it if it is another basis`)];
  });
};
