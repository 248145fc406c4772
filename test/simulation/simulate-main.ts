import { parseArgs } from 'node:util';
import { coverageText, gapsOf, isPromised, leastPasses } from './coverage.ts';
import type { Coverage } from './coverage.ts';
import { focused, isFocus } from './focus.ts';
import { inProcesses } from './parts.ts';
import { planOf as plainPlanOf } from './plan.ts';
import { openProgress } from './progress.ts';
import { runMany } from './run-many.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';

const USAGE = `npm run simulate -- [--runs N] [--seed S] [--json]      simulate N deployments (1000), seeds S (1), S+1, …
npm run simulate -- --seed S --trace                     one run, step by step
npm run simulate -- --mutate [name|number …] [--runs N]  plant the known mistakes, one at a time; each must be caught

  --processes N   processes that share the runs; two from 2,000 runs on, one below that
  --focus NAME    plans richer in what leads to one kind of mistake, as --mutate names it
  --json          the figures as one JSON document: coverage, gaps, broken promises

Exit code: 0 every promise was kept; 1 one was broken, a mistake was not caught, or (from 10,000 runs on) something was not covered; 2 usage.
Progress is told on stderr.\n`;
const IN_PROCESSES_FROM = 2_000;
const TELL_EVERY = 50;
/** A mistake has to be found within so many seeds. */
const MUTANT_RUNS = { simulation: 200, focus: 100, statements: 10 };

const say = (text: string): void => { process.stdout.write(text); };

const readArguments = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        runs: { type: 'string' }, focus: { type: 'string' }, seed: { type: 'string', default: '1' }, processes: { type: 'string' }, json: { type: 'boolean', default: false },
        trace: { type: 'boolean', default: false }, mutate: { type: 'boolean', default: false }, 'until-broken': { type: 'boolean', default: false }, help: { type: 'boolean', default: false },
        /** Every how manieth seed; a part of a larger run, which prints its coverage as JSON alone. */
        part: { type: 'string' },
      },
    });
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return null;
  }
};

const given = readArguments();
const values = given?.values;
const runs = Number(values?.runs ?? 1_000);
const seed = Number(values?.seed);
const processes = Number(values?.processes ?? (runs >= IN_PROCESSES_FROM ? 2 : 1));
const focus = values?.focus !== undefined && isFocus(values.focus) ? values.focus : undefined;
const planOf = (one: number) => focused(plainPlanOf(one), focus);

const explain = async (broken: Coverage['broken'][number]): Promise<string> => {
  const shortest = await shrink(planOf(broken.seed));
  return `seed ${broken.seed}: ${broken.invariant} (${broken.about})\nshortest trace, with ${JSON.stringify(shortest.plan.faults)}\n  ${shortest.outcome.trace.join('\n  ')}\n`;
};

const simulateMany = async (): Promise<number> => {
  const startedAt = performance.now();
  const progress = openProgress({ total: runs, isTerminal: process.stderr.isTTY, write: (text) => { process.stderr.write(text); }, now: () => performance.now() });
  const coverage = processes > 1 ? await inProcesses({ from: seed, runs, processes, focus, onProgress: progress.tell })
    : await runMany({ from: seed, runs }, { untilBroken: false, focus, onRun: (so) => progress.tell(so.runs, so.broken.length) });
  progress.end();
  const seconds = (performance.now() - startedAt) / 1_000;
  const gaps = gapsOf(coverage);
  const failed = coverage.broken.length > 0 || (isPromised(coverage) && gaps.length > 0);
  if (values?.json) {
    say(`${JSON.stringify({ ...coverage, gaps, seconds: Math.round(seconds) })}\n`);
    return failed ? 1 : 0;
  }
  say(coverageText(coverage));
  if (gaps.length > 0) say(`\nNot covered by these runs\n  ${gaps.join('\n  ')}\n`);
  else say(`\nCovered: every fault in 5 % of the runs, every boundary by every fault ${leastPasses(coverage.runs)} times, every edge of the state diagram\n`);
  for (const broken of coverage.broken.slice(0, 3)) say(`\n${await explain(broken)}`);
  say(`\n${coverage.broken.length === 0 ? 'no promise was broken' : `${coverage.broken.length} runs broke a promise: seeds ${coverage.broken.slice(0, 20).map((one) => one.seed).join(', ')}`} (${Math.round(coverage.runs / seconds)} runs/s)\n`);
  return failed ? 1 : 0;
};

const tracing = async (): Promise<number> => {
  const outcome = await simulate(planOf(seed));
  say(`${JSON.stringify(planOf(seed))}\n${outcome.trace.join('\n')}\n${outcome.digest}\n`);
  return outcome.violation ? 1 : 0;
};

const part = async (step: number): Promise<number> => {
  const onRun = ({ runs: done, broken }: Coverage): void => { if (done % TELL_EVERY === 0) process.stderr.write(`${done} ${broken.length}\n`); };
  say(JSON.stringify(await runMany({ from: seed, runs, step }, { untilBroken: values?.['until-broken'] === true, focus, onRun })));
  return 0;
};

const mutate = async (): Promise<number> => {
  // Only here: the copy that a mistake is planted into has no Postgres to start.
  const { mutateAll } = await import('./mutate-all.ts');
  return mutateAll({
    wanted: given?.positionals ?? [], seed, json: values?.json === true, say,
    runs: values?.runs === undefined ? MUTANT_RUNS : { simulation: runs, focus: runs, statements: runs },
    // Which mistake it is at, also where nobody looks at a terminal: the whole takes minutes.
    progress: (text) => { process.stderr.write(process.stderr.isTTY ? `\r${text.padEnd(80)}` : `${text}\n`); },
  });
};

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value > 0;
const isUsable = (): boolean => values !== undefined && isCount(runs) && isCount(processes) && Number.isSafeInteger(seed) && (values.focus === undefined || focus !== undefined);

const main = (): Promise<number> => {
  if (values?.help || !isUsable()) {
    say(USAGE);
    return Promise.resolve(values?.help ? 0 : 2);
  }
  if (values?.part !== undefined) return part(Number(values.part));
  if (values?.mutate) return mutate();
  return values?.trace ? tracing() : simulateMany();
};

process.exitCode = await main();
