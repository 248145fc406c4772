import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cleanUp } from '../test/audit/child-service.ts';
import { backendsOf, runCommand, UsageError, wholeNumber } from '../test/audit/options.ts';
import { buildTree } from './build.ts';
import { runRounds } from './rounds.ts';
import { tableOf } from './table.ts';
import { judge } from './verdict.ts';
import type { Verdict } from './verdict.ts';

const HELP = `npm run bench -- [options]

Measures Tocsin on this machine against an unsafe baseline and against floors taken in the same run (docs/bench.md).

  --backend redis|postgres|both   (both)
  --rounds N                      interleaved rounds, of which the median counts (3)
  --quick                         one small round: whether it works, and a first idea of the ratios; its lags are no proof
  --shapes LIST                   of services,standalone (the product) and two,one (the baseline) (all)
  --load N  --lag N               workflows under full load, and at half of it (3000, 3600)
  --json FILE                     everything as JSON
  --keep                          keeps the folder with logs and data
  --history                       what a million settled notifications cost (its own options: --history --help)

Exit 0: every bound is met. 1: one is missed, or the run is void. 2: usage.
`;

const SIZES = { settle: 4_000, warm: 400, load: 3_000, burst: 600, lag: 3_600, baselineLag: 1_000, cap: 150, width: 48 };
const QUICK = { ...SIZES, settle: 500, warm: 200, load: 700, burst: 300, lag: 400, baselineLag: 200 };

const read = (argv: string[]) => {
  try {
    return parseArgs({
      args: argv, strict: true,
      options: {
        backend: { type: 'string', default: 'both' }, rounds: { type: 'string' }, quick: { type: 'boolean', default: false }, shapes: { type: 'string', default: 'services,standalone,two,one' },
        load: { type: 'string' }, lag: { type: 'string' }, json: { type: 'string' }, keep: { type: 'boolean', default: false }, help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
};

const shapesOf = (text: string): string[] => {
  const shapes = text.split(',');
  const has = (...of: string[]): boolean => of.some((one) => shapes.includes(one));
  if (!has('services', 'standalone') || !has('two', 'one') || shapes.some((one) => !['services', 'standalone', 'two', 'one'].includes(one))) {
    throw new UsageError('--shapes needs one or both of services,standalone and one or both of two,one');
  }
  return shapes;
};

const say = (line: string): void => { process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`); };

const bench = async (argv: string[]): Promise<number> => {
  const options = read(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const base = options.quick ? QUICK : SIZES;
  const sizes = { ...base, load: options.load === undefined ? base.load : wholeNumber('load', options.load), lag: options.lag === undefined ? base.lag : wholeNumber('lag', options.lag) };
  const rounds = options.rounds === undefined ? (options.quick ? 1 : 3) : Math.max(1, wholeNumber('rounds', options.rounds));
  const shapes = shapesOf(options.shapes);
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-bench-'));
  const verdicts: Verdict[] = [];
  try {
    say('compiling');
    const tree = buildTree(join(folder, 'tree'));
    for (const backend of backendsOf(options.backend)) {
      const measured = await runRounds({ backend, folder: join(folder, backend), tree, rounds, sizes, shapes, say });
      verdicts.push(judge(backend, measured, options.quick ? 1 : undefined));
      await cleanUp();
    }
  } finally {
    await cleanUp();
    if (options.keep) say(`kept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
  for (const verdict of verdicts) process.stdout.write(`${tableOf(verdict)}\n`);
  if (options.json !== undefined) {
    writeFileSync(options.json, `${JSON.stringify({ at: new Date().toISOString(), node: process.version, cpus: cpus().map((one) => one.model), rounds, sizes, verdicts }, null, 2)}\n`);
  }
  return verdicts.every((verdict) => verdict.void.length + verdict.missed.length === 0) ? 0 : 1;
};

const argv = process.argv.slice(2);
if (argv.includes('--history')) {
  const { historyMain } = await import('./history/history-main.ts');
  await runCommand(() => historyMain(argv.filter((one) => one !== '--history')), cleanUp);
} else await runCommand(() => bench(argv), cleanUp);
process.exit();
