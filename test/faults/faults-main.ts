import setUp from '../support/global-setup.ts';
import tearDown from '../support/global-teardown.ts';
import { copySources, plant, runFault } from './mutate.ts';
import type { Verdict } from './mutate.ts';
import { FAULTS } from './table.ts';

const USAGE = `npm run faults -- [--mutate] [--fault N[,N]] [--backend Redis|Postgres]

Runs the named test of every fault (docs/faults.md). With --mutate each mistake of the table is planted into a copy of the
sources first, and the test must fail by an expectation. Exit 0: all as it should be; 1: not; 2: usage.
`;

const valueOf = (name: string): string | undefined => {
  const at = process.argv.indexOf(name);
  return at === -1 ? undefined : process.argv[at + 1];
};
const say = (text: string): void => { process.stdout.write(`${text}\n`); };
const line = (cells: string[]): string => cells.map((cell, index) => (index < 3 ? cell.padEnd([6, 24, 52][index] ?? 0) : cell)).join('  ');
const told = (verdict: Verdict): string => (verdict.kind === 'passed' ? 'passed' : `${verdict.kind}: ${verdict.message}`);

const main = async (): Promise<number> => {
  const given = process.argv.slice(2);
  if (given.includes('--help')) return say(USAGE), 0;
  const backend = valueOf('--backend') ?? 'Postgres';
  const wanted = valueOf('--fault')?.split(',').map(Number);
  if (!['Redis', 'Postgres'].includes(backend) || wanted?.some((fault) => !FAULTS.some((row) => row.fault === fault))) return say(USAGE), 2;
  const mutate = given.includes('--mutate');
  const chosen = FAULTS.filter((row) => !wanted || wanted.includes(row.fault));
  const rows = mutate ? chosen : chosen.filter((row, index) => chosen.findIndex((other) => other.fault === row.fault) === index);

  await setUp();
  const { tree, remove } = copySources();
  const clean = async (): Promise<void> => {
    remove();
    await tearDown();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void clean().then(() => process.exit(130)));
  let wrong = 0;
  try {
    say(line(['fault', 'test', mutate ? 'mistake planted' : '', mutate ? 'failed as it should' : 'passed']));
    for (const row of rows) {
      const restore = mutate ? plant(tree, row.mistake) : () => undefined;
      const first = await runFault(tree, row, backend);
      // A machine under load can keep a test from getting anywhere; a mistake that does so does it again.
      const verdict = first.kind === 'broken' ? await runFault(tree, row, backend) : first;
      restore();
      const right = verdict.kind === (mutate ? 'failed' : 'passed');
      if (!right) wrong += 1;
      say(line([String(row.fault), row.file.replace('test/faults/', ''), mutate ? row.mistake.name : '', right ? 'yes' : `NO, ${told(verdict)}`]));
    }
  } finally {
    await clean();
  }
  say(`${rows.length - wrong} of ${rows.length} as it should be, on ${backend}`);
  return wrong === 0 ? 0 : 1;
};

process.exitCode = await main();
