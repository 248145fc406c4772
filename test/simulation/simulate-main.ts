import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { addCoverage, coverageText, gapsOf, noCoverage } from './coverage.ts';
import type { Coverage } from './coverage.ts';
import { tryMutant } from './mutate.ts';
import { MUTANTS } from './mutants.ts';
import { planOf } from './plan.ts';
import { runMany } from './run-many.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';

const USAGE = `npm run simulate -- [--runs N] [--seed S] [--json]      simulate N deployments, seeds S, S+1, …
npm run simulate -- --seed S --trace                     one run, step by step
npm run simulate -- --mutate [name|number] [--runs N]    plant the known mistakes, one at a time; each must be caught\n`;
const PART_RUNS = 2_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '1000' }, seed: { type: 'string', default: '1' }, json: { type: 'boolean', default: false }, trace: { type: 'boolean', default: false },
    mutate: { type: 'boolean', default: false }, 'until-broken': { type: 'boolean', default: false }, help: { type: 'boolean', default: false },
    /** Every how manieth seed; a part of a larger run, which prints its coverage as JSON alone. */
    part: { type: 'string' },
  },
});
const runs = Number(values.runs);
const seed = Number(values.seed);
const say = (text: string): void => { process.stdout.write(text); };
const progress = (text: string): void => { if (process.stderr.isTTY) process.stderr.write(`\r${text}`); };

const runPart = (from: number, count: number, onRuns: (done: number) => void): Promise<Coverage> => new Promise((resolve, reject) => {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(import.meta.url), '--part', '2', '--runs', String(count), '--seed', String(from)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => { output += chunk.toString(); });
  child.stderr.on('data', (chunk: Buffer) => { onRuns(chunk.toString().split('.').length - 1); });
  child.on('error', reject);
  child.on('close', (code) => { if (code === 0) resolve(JSON.parse(output) as Coverage); else reject(new Error(`a part of the simulation ended with ${code}`)); });
});

const inTwo = async (): Promise<Coverage> => {
  let done = 0;
  const onRuns = (ticks: number): void => {
    done += ticks * 100;
    progress(`${done} of ${runs} runs`);
  };
  const parts = await Promise.all([runPart(seed, Math.ceil(runs / 2), onRuns), runPart(seed + 1, Math.floor(runs / 2), onRuns)]);
  const sum = noCoverage();
  for (const part of parts) addCoverage(sum, part);
  return sum;
};

const explain = async (broken: Coverage['broken'][number]): Promise<string> => {
  const shortest = await shrink(planOf(broken.seed));
  return `seed ${broken.seed}: ${broken.invariant} (${broken.about})\nshortest trace, with ${JSON.stringify(shortest.plan.faults)}\n  ${shortest.outcome.trace.join('\n  ')}\n`;
};

const simulateMany = async (): Promise<number> => {
  const startedAt = performance.now();
  const coverage = runs >= PART_RUNS ? await inTwo() : await runMany({ from: seed, runs }, { untilBroken: false, onRun: ({ runs: done }) => progress(`${done} of ${runs} runs`) });
  progress('');
  const gaps = gapsOf(coverage);
  if (values.json) {
    say(`${JSON.stringify({ ...coverage, gaps })}\n`);
    return coverage.broken.length > 0 ? 1 : 0;
  }
  say(coverageText(coverage));
  if (gaps.length > 0) say(`\nNot covered by these runs\n  ${gaps.join('\n  ')}\n`);
  for (const broken of coverage.broken.slice(0, 3)) say(`\n${await explain(broken)}`);
  say(`\n${coverage.broken.length === 0 ? 'no promise was broken' : `${coverage.broken.length} runs broke a promise`} (${Math.round((1000 * coverage.runs) / (performance.now() - startedAt))} runs/s)\n`);
  return coverage.broken.length > 0 ? 1 : 0;
};

const mutateAll = async (): Promise<number> => {
  const [wanted] = positionals;
  const chosen = MUTANTS.filter((mutant) => wanted === undefined || mutant.name === wanted || String(mutant.number) === wanted);
  let missed = chosen.length === 0 ? 1 : 0;
  for (const mutant of chosen) {
    const verdict = await tryMutant(mutant, runs, seed);
    if (verdict.kind !== 'caught') missed += 1;
    const text = verdict.kind === 'caught' ? `caught by "${verdict.invariant}", seed ${verdict.seed}` : JSON.stringify(verdict);
    say(values.json ? `${JSON.stringify({ mutant: mutant.name, number: mutant.number, ...verdict })}\n` : `${String(mutant.number).padStart(2)} ${mutant.name.padEnd(36)} ${text}\n`);
  }
  return missed > 0 ? 1 : 0;
};

const tracing = async (): Promise<number> => {
  const outcome = await simulate(planOf(seed));
  say(`${JSON.stringify(planOf(seed))}\n${outcome.trace.join('\n')}\n${outcome.digest}\n`);
  return outcome.violation ? 1 : 0;
};

const part = async (step: number): Promise<number> => {
  const coverage = await runMany({ from: seed, runs, step }, { untilBroken: values['until-broken'], onRun: ({ runs: done }) => { if (done % 100 === 0) process.stderr.write('.'); } });
  say(JSON.stringify(coverage));
  return 0;
};

const main = (): Promise<number> => {
  if (values.help || !Number.isSafeInteger(runs) || !Number.isSafeInteger(seed)) {
    say(USAGE);
    return Promise.resolve(values.help ? 0 : 2);
  }
  if (values.part !== undefined) return part(Number(values.part));
  if (values.mutate) return mutateAll();
  return values.trace ? tracing() : simulateMany();
};

process.exitCode = await main();
