import { crashAudit, ALL_POINTS } from './crash-audit.ts';
import type { CrashAuditReport } from './crash-audit.ts';
import { cleanUp } from './child-service.ts';
import { backendsOf, pointsOf, readOptions, runCommand, wholeNumber } from './options.ts';
import { formatTable, tabulate } from './report.ts';

const HELP = `Kills the standalone with -9 at named points and at random instants, then compares client receipts, provider log and ledger.

  --backend postgres|redis|both   queue backend                          (both)
  --times N                       kills at each point                    (10)
  --random N                      kills at random instants               (20)
  --load N                        tickets during the random kills        (200)
  --points a,b                    only these of: ${ALL_POINTS.join(', ')}
  --seed N                        repeats the same instants and tickets  (1)
  --quick                         does not wait for the ends of the grace periods
  --keep                          keeps data, receipts and logs also where nothing was found
  --json                          prints the result as JSON

Exit 0: nothing found; 1: something found; 2: usage. docs/audits.md says what each column means.
`;

const print = (text: string): void => { process.stdout.write(`${text}\n`); };

const asJson = ({ backend, tallies, results, folder }: CrashAuditReport): object => {
  const { rows, statuses, findings } = tabulate(tallies, results);
  return { backend, folder, points: Object.fromEntries(rows), statuses, findings };
};

const run = async (argv: string[]): Promise<number> => {
  const { values, flags } = readOptions(argv, { backend: 'both', times: '10', random: '20', load: '200', points: ALL_POINTS.join(','), seed: '1' }, ['json', 'keep', 'quick', 'help']);
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const startedAt = performance.now();
  const say = (line: string): void => { process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  ${line}\n`); };
  const points = pointsOf(values.points);
  const numbers = { times: wholeNumber('times', values.times), randomKills: wholeNumber('random', values.random), load: wholeNumber('load', values.load), seed: wholeNumber('seed', values.seed) };
  const reports: CrashAuditReport[] = [];
  for (const backend of backendsOf(values.backend)) {
    const report = await crashAudit({ backend, points, ...numbers, untilSettled: !flags.quick, say, keep: flags.keep });
    reports.push(report);
    if (!flags.json) print(`\n${formatTable(`Crash audit on ${report.backend}`, tabulate(report.tallies, report.results))}`);
  }
  if (flags.json) print(JSON.stringify(reports.map(asJson), null, 2));
  const found = reports.filter(({ results }) => results.some(({ findings }) => findings.length > 0));
  for (const { folder } of found) print(`Data, receipts and logs are in ${folder}`);
  return found.length === 0 ? 0 : 1;
};

await runCommand(() => run(process.argv.slice(2)), cleanUp);
