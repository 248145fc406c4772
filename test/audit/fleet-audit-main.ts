import { cleanUp } from './child-service.ts';
import { FLEET_FAULTS, fleetAudit } from './fleet-audit.ts';
import type { FleetAuditReport, FleetFault } from './fleet-audit.ts';
import { UsageError, backendsOf, readOptions, runCommand, wholeNumber } from './options.ts';
import { formatTable, tabulate } from './report.ts';

const HELP = `Runs each service as processes of its own, two copies of intake, workers and coordinator, disturbs them in the middle of a load,
then compares client receipts, provider log and ledger.

  --backend redis|postgres|both   queue backend                                    (redis)
  --load N                        tickets                                          (200)
  --over SECONDS                  spread over so long                              (40)
  --fault kill|flush|pause|database  what happens in the middle of the load        (kill)
                                  kill: one copy of each is killed; flush: the queues are emptied; pause: one copy of
                                  each stands still for 8 s; database: Postgres is killed and started again
  --flush                         the same as --fault flush
  --seed N                        repeats the same tickets                         (1)
  --quick                         does not wait for the ends of the grace periods
  --keep                          keeps data, receipts and logs also where nothing was found
  --json                          prints the result as JSON

Exit 0: nothing found; 1: something found; 2: usage. docs/audits.md says what each column means.
`;

const print = (text: string): void => { process.stdout.write(`${text}\n`); };
const percent = (part: number): string => `${Math.round(part * 100)} %`.padStart(5);

const show = (report: FleetAuditReport): void => {
  print(`\n${formatTable(`Fleet audit on ${report.backend}, fault: ${report.fault}`, tabulate(new Map(), [report.result]))}`);
  for (const share of report.shares) print(`${share.name.padEnd(14)} pid ${String(share.pid).padEnd(8)} up to the fault ${share.beforeFault === null ? 'too little' : percent(share.beforeFault)}  in all ${percent(share.inAll)}  (${share.pieces})`);
  const { count, worstLateMs } = report.result.deadlineClaims;
  print(`fallbacks claimed at a deadline: ${count}, the latest ${worstLateMs} ms after it; slowest start of an attempt: ${report.result.slowestStartMs} ms`);
  for (const fault of report.faults) print(`FOUND ${fault}`);
  if (report.faults.length > 0) print(`Data, receipts and logs are in ${report.folder}`);
};

const asJson = ({ backend, fault, result, shares, exitCodes, faults, folder }: FleetAuditReport): object =>
  ({ backend, fault, counts: Object.fromEntries(tabulate(new Map(), [result]).rows), shares, deadline_claims: result.deadlineClaims, slowest_start_ms: result.slowestStartMs, exit_codes: exitCodes, faults, folder });

const faultOf = (name: string): FleetFault => {
  const fault = FLEET_FAULTS.find((one) => one === name);
  if (!fault) throw new UsageError(`--fault must be one of ${FLEET_FAULTS.join(', ')}`);
  return fault;
};

const run = async (argv: string[]): Promise<number> => {
  const { values, flags } = readOptions(argv, { backend: 'redis', load: '200', over: '40', seed: '1', fault: 'kill' }, ['flush', 'json', 'keep', 'quick', 'help']);
  if (flags.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const startedAt = performance.now();
  const say = (line: string): void => { process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} s  ${line}\n`); };
  const numbers = { load: wholeNumber('load', values.load), loadMs: wholeNumber('over', values.over) * 1_000, seed: wholeNumber('seed', values.seed) };
  const fault = faultOf(flags.flush ? 'flush' : values.fault);
  const reports: FleetAuditReport[] = [];
  for (const backend of backendsOf(values.backend)) reports.push(await fleetAudit({ backend, ...numbers, fault, untilSettled: !flags.quick, say, keep: flags.keep }));
  if (flags.json) print(JSON.stringify(reports.map(asJson), null, 2));
  else reports.forEach(show);
  return reports.every(({ faults }) => faults.length === 0) ? 0 : 1;
};

await runCommand(() => run(process.argv.slice(2)), cleanUp);
