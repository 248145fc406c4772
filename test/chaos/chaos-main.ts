import { UsageError, backendsOf, readOptions, runCommand, wholeNumber } from '../audit/options.ts';
import type { ChaosReport } from './chaos.ts';
import { abandonChaos, runChaos } from './chaos.ts';
import { formatReport, reportJson } from './chaos-report.ts';
import { PLANTS, plantOf } from './planted-tree.ts';

const HELP = `Runs every service as processes of its own, two copies of each, under load, and meanwhile kills them with -9 (at random and at
named points), stops and continues them past fence and locks, restarts Postgres in immediate mode, empties the queues and takes
the providers away, all by a plan drawn from the seed. Then nothing fails any more, everything ends, and client receipts, provider
log, ledger and logs are compared.

  --minutes M                     how long the faults and the load go on         (5)
  --load N                        notifications, spread evenly                   (1000 a minute)
  --backend redis|postgres|both   queue backend                                  (redis)
  --seed N                        repeats the same plan                          (1)
  --plant N                       plants a mistake into a copy of the sources: ${PLANTS.map((mutant) => `${mutant.number} ${mutant.name}`).join(', ')}
  --keep                          keeps data, receipts and logs in any case
  --json                          prints the result as JSON

Exit 0: nothing found; 1: something found; 2: usage. docs/audits.md says what each finding means.
`;

const LIFE_MS = 60_000;

const minutesOf = (text: string): number => {
  if (!/^\d{1,3}(\.\d{1,3})?$/.test(text) || Number(text) < 0.25) throw new UsageError('--minutes must be a number, at least 0.25');
  return Number(text);
};

const run = async (argv: string[]): Promise<number> => {
  const { values, flags } = readOptions(argv, { minutes: '5', load: '', backend: 'redis', seed: '1', plant: '' }, ['json', 'keep', 'help']);
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const startedAt = performance.now();
  const say = (line: string): void => { process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  ${line}\n`); };
  const minutes = minutesOf(values.minutes);
  const common = {
    durationMs: minutes * 60_000, load: values.load === '' ? Math.round(minutes * 1_000) : wholeNumber('load', values.load), seed: wholeNumber('seed', values.seed),
    plant: values.plant === '' ? null : plantOf(values.plant), expiresAfterMs: LIFE_MS, untilSettled: true, say, keep: flags.keep,
  };
  const reports: ChaosReport[] = [];
  for (const backend of backendsOf(values.backend)) {
    const report = await runChaos({ backend, ...common });
    reports.push(report);
    if (!flags.json) process.stdout.write(`\n${formatReport(report)}\n`);
  }
  if (flags.json) process.stdout.write(`${JSON.stringify(reports.map(reportJson), null, 2)}\n`);
  return reports.every(({ findings }) => findings.length === 0) ? 0 : 1;
};

await runCommand(() => run(process.argv.slice(2)), abandonChaos);
