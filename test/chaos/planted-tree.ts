import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../audit/options.ts';
import type { Mutant } from '../simulation/mutants.ts';
import { MUTANTS } from '../simulation/mutants.ts';
import { plant } from '../simulation/mutate.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = ['shared', 'services', 'prisma', 'policies', 'templates', 'bin', 'package.json', 'tsconfig.json'];

/** The mistakes that a run can plant: 1 in the statement itself, and 3 as the simulation plants it. */
export const PLANTS: readonly Mutant[] = [
  {
    number: 1, name: 'append-without-version-check',
    patches: [{ file: 'shared/ledger/append-group.ts', find: ' AND s.version = i.expected', put: '' }],
  },
  ...MUTANTS.filter((mutant) => mutant.number === 3),
];

/** The mistake of that number. @throws UsageError. */
export const plantOf = (text: string): Mutant => {
  const found = PLANTS.find((mutant) => String(mutant.number) === text);
  if (!found) throw new UsageError(`--plant must be one of ${PLANTS.map((mutant) => mutant.number).join(', ')}`);
  return found;
};

/** Copies the product's sources into `folder` and plants the mistake there. Returns where the services are to be started from. */
export const plantTree = (folder: string, mutant: Mutant): string => {
  const tree = join(folder, 'sources');
  mkdirSync(tree);
  for (const part of COPIED) cpSync(join(ROOT, part), join(tree, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  const unfit = plant(tree, mutant);
  if (unfit !== null) throw new Error(`${mutant.name} no longer fits ${unfit}`);
  return tree;
};
