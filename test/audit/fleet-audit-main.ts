import { cleanUp } from './child-service.ts';
import { fleetAudit } from './fleet-audit.ts';
import type { FleetAuditReport } from './fleet-audit.ts';
import { backendsOf, readOptions, runCommand, wholeNumber } from './options.ts';
import { formatTable, tabulate } from './report.ts';

const HELP = `Runs each service as processes of its own, two copies of intake, workers and coordinator, disturbs them in the middle of a load,
then compares client receipts, provider log and ledger.

  --backend redis|postgres|both   queue backend                                    (redis)
  --load N                        tickets                                          (200)
  --over SECONDS                  spread over so long                              (40)
  --flush                         empties the queues instead of killing one copy of each
  --seed N                        repeats the same tickets                         (1)
  --quick                         does not wait for the ends of the grace periods
  --keep                          keeps data, receipts and logs also where nothing was found
  --json                          prints the result as JSON

Exit 0: nothing found; 1: something found; 2: usage. docs/audits.md says what each column means.
`;

const print = (text: string): void => { process.stdout.write(`${text}\n`); };
const percent = (part: number): string => `${Math.round(part * 100)} %`.padStart(5);

const show = (report: FleetAuditReport): void => {
  print(`\n${formatTable(`Fleet audit on ${report.backend}, ${report.fault === 'kill' ? 'one copy of each killed' : 'queues flushed'}`, tabulate(new Map(), [report.result]))}`);
  for (const share of report.shares) print(`${share.name.padEnd(14)} pid ${String(share.pid).padEnd(8)} up to the fault ${percent(share.beforeFault)}  in all ${percent(share.inAll)}  (${share.pieces})`);
  const { count, worstLateMs } = report.result.deadlineClaims;
  print(`fallbacks claimed at a deadline: ${count}, the latest ${worstLateMs} ms after it`);
  for (const fault of report.faults) print(`FOUND ${fault}`);
  if (report.faults.length > 0) print(`Data, receipts and logs are in ${report.folder}`);
};

const asJson = ({ backend, fault, result, shares, exitCodes, faults, folder }: FleetAuditReport): object =>
  ({ backend, fault, counts: Object.fromEntries(tabulate(new Map(), [result]).rows), shares, deadline_claims: result.deadlineClaims, exit_codes: exitCodes, faults, folder });

const run = async (argv: string[]): Promise<number> => {
  const { values, flags } = readOptions(argv, { backend: 'redis', load: '200', over: '40', seed: '1' }, ['flush', 'json', 'keep', 'quick', 'help']);
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const startedAt = performance.now();
  const say = (line: string): void => { process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  ${line}\n`); };
  const numbers = { load: wholeNumber('load', values.load), loadMs: wholeNumber('over', values.over) * 1_000, seed: wholeNumber('seed', values.seed) };
  const reports: FleetAuditReport[] = [];
  for (const backend of backendsOf(values.backend)) reports.push(await fleetAudit({ backend, ...numbers, fault: flags.flush ? 'flush' : 'kill', untilSettled: !flags.quick, say, keep: flags.keep }));
  if (flags.json) print(JSON.stringify(reports.map(asJson), null, 2));
  else reports.forEach(show);
  return reports.every(({ faults }) => faults.length === 0) ? 0 : 1;
};

await runCommand(() => run(process.argv.slice(2)), cleanUp);
