import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Coverage } from './coverage.ts';
import type { Mutant } from './mutants.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = ['shared', 'services/coordinator', 'test/simulation', 'test/audit', 'policies', 'templates', 'package.json', 'tsconfig.json'];

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

/** Plants one mistake into a copy of the product's sources and simulates there until a promise breaks. */
export const tryMutant = async (mutant: Mutant, runs: number, seed: number): Promise<Verdict> => {
  const tree = mkdtempSync(join(tmpdir(), 'tocsin-mutant-'));
  try {
    mkdirSync(join(tree, 'services'), { recursive: true });
    mkdirSync(join(tree, 'test'), { recursive: true });
    for (const part of COPIED) cpSync(join(ROOT, part), join(tree, part), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
    const unfit = plant(tree, mutant);
    if (unfit !== null) return { kind: 'does_not_fit', file: unfit };
    const args = ['--import', 'tsx', 'test/simulation/simulate-main.ts', '--part', '1', '--until-broken', '--runs', String(runs), '--seed', String(seed)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: tree, maxBuffer: 1 << 26 });
    const coverage = JSON.parse(stdout) as Coverage;
    const [broken] = coverage.broken;
    return broken ? { kind: 'caught', invariant: broken.invariant, seed: broken.seed, runs: coverage.runs } : { kind: 'survived', runs: coverage.runs };
  } catch (error) {
    return { kind: 'crashed', error: (error as Error).message.slice(0, 500) };
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
};
