import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Coverage } from './coverage.ts';
import type { FocusName } from './focus.ts';
import type { Mutant } from './mutants.ts';
import { focusOf } from './mutants.ts';
import type { StatementDatabases } from './statement-server.ts';
import type { RoundsResult } from './statements/rounds.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = [
  'shared', 'services/coordinator', 'prisma', 'test/simulation', 'test/audit', 'test/ledger', 'test/support', 'policies', 'templates', 'package.json', 'tsconfig.json',
];
const LONGEST_MS = 300_000;

export type Verdict =
  | { kind: 'caught'; invariant: string; seed: number; runs: number }
  | { kind: 'survived'; runs: number }
  /** The text to be changed is no longer there: the mutant must follow the product. */
  | { kind: 'does_not_fit'; file: string }
  | { kind: 'crashed'; error: string };

/** Changes a copy of the sources; the name of the file whose text does not fit, or null. */
export const plant = (tree: string, mutant: Pick<Mutant, 'patches'>): string | null => {
  for (const { file, find, put } of mutant.patches) {
    const text = readFileSync(join(tree, file), 'utf8');
    if (!text.includes(find)) return file;
    writeFileSync(join(tree, file), text.replaceAll(find, () => put));
  }
  return null;
};

const run = async (tree: string, args: readonly string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, ['--import', 'tsx', ...args], { cwd: tree, maxBuffer: 1 << 26, timeout: LONGEST_MS })).stdout;

export interface Hunt { runs: number; seed: number; on?: Mutant['on'] | undefined; focus?: FocusName | undefined; server?: StatementDatabases | undefined }

/** Simulates in a tree of sources until a promise breaks, or all seeds are through. */
const huntInSimulation = async (tree: string, { runs, seed, focus }: Hunt): Promise<Verdict> => {
  const args = ['test/simulation/simulate-main.ts', '--part', '1', '--until-broken', '--runs', String(runs), '--seed', String(seed), ...(focus ? ['--focus', focus] : [])];
  const coverage = JSON.parse(await run(tree, args)) as Coverage;
  const [broken] = coverage.broken;
  return broken ? { kind: 'caught', invariant: broken.invariant, seed: broken.seed, runs: coverage.runs } : { kind: 'survived', runs: coverage.runs };
};

/** The same on a real Postgres, with the migrations and the statements of the tree. */
const huntInStatements = async (tree: string, { runs, seed, server }: Hunt): Promise<Verdict> => {
  if (!server) throw new Error('the statement rounds need a server');
  const args = ['test/simulation/statements/rounds-main.ts', '--url', await server.freshDatabase(), '--runs', String(runs), '--seed', String(seed)];
  const { runs: done, broken } = JSON.parse(await run(tree, args)) as RoundsResult;
  return broken ? { kind: 'caught', invariant: broken.invariant, seed: broken.seed, runs: done } : { kind: 'survived', runs: done };
};

const huntIn = async (tree: string, hunt: Hunt): Promise<Verdict> => {
  try {
    return await (hunt.on === 'statements' ? huntInStatements : huntInSimulation)(tree, hunt);
  } catch (error) {
    return { kind: 'crashed', error: (error as Error).message.slice(0, 2_000) };
  }
};

/** The same seeds on the product as it is: nothing may be caught there. */
export const trySound = (hunt: Hunt): Promise<Verdict> => huntIn(ROOT, hunt);

/** Plants one mistake into a copy of the product's sources and runs there until a promise breaks. */
export const tryMutant = async (mutant: Mutant, runs: number, seed: number, server?: StatementDatabases): Promise<Verdict> => {
  const tree = mkdtempSync(join(tmpdir(), 'tocsin-mutant-'));
  try {
    for (const part of COPIED) {
      mkdirSync(dirname(join(tree, part)), { recursive: true });
      cpSync(join(ROOT, part), join(tree, part), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
    const unfit = plant(tree, mutant);
    return unfit === null ? await huntIn(tree, { runs, seed, on: mutant.on, focus: focusOf(mutant), server }) : { kind: 'does_not_fit', file: unfit };
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
};
