import type { Line, Verdict } from './verdict.ts';

const COLUMNS: readonly (readonly [title: string, cell: (line: Line) => string])[] = [
  ['', (line) => line.name],
  ['completed/s', (line) => line.completedPerS.toFixed(0)],
  ['of baseline', (line) => line.ofBaseline.toFixed(2)],
  ['burst accepted/s', (line) => line.burstPerS.toFixed(0)],
  ['at/s', (line) => line.atPerS?.toFixed(0) ?? '-'],
  ['202 to provider p50/p99 ms', (line) => (line.toProvider ? `${line.toProvider.p50.toFixed(0)}/${line.toProvider.p99.toFixed(0)}` : '-')],
  ['deadline lag p50/p99 ms (n)', (line) => (line.lag ? `${line.lag.p50.toFixed(0)}/${line.lag.p99.toFixed(0)} (${line.lag.n})` : '-')],
  ['CPU ms node', (line) => line.nodeMs.toFixed(2)],
  ['CPU ms servers', (line) => line.serversMs.toFixed(2)],
  ['commits', (line) => line.commits.toFixed(2)],
  ['WAL KB', (line) => line.walKb.toFixed(1)],
  ['peak MB', (line) => line.memoryMb.toFixed(0)],
];

const grid = (rows: readonly (readonly string[])[]): string[] => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ').trimEnd());
};

/** The verdict of a backend as text. CPU, commits and WAL are those of one workflow. */
export const tableOf = ({ backend, lines, floors, void: empty, missed }: Verdict): string => [
  `\n${backend}`,
  ...grid([COLUMNS.map(([title]) => title), ...lines.map((line) => COLUMNS.map(([, cell]) => cell(line)))]),
  `floors: ${floors.fourSmallPerS.toFixed(0)} workflows/s in four small transactions (the baseline reaches ${(floors.baselineOfFloor * 100).toFixed(0)} %), ${floors.queueJobsPerS.toFixed(0)} empty jobs/s, ${floors.sandboxCallsPerS.toFixed(0)} calls/s of the sandbox`,
  `grouped append: ${floors.appendMs.toFixed(1)} ms for 50, its floor ${floors.appendFloorMs.toFixed(1)} ms: ${floors.appendRatio.toFixed(2)} times`,
  ...empty.map((why) => `VOID: ${why}`),
  ...missed.map((what) => `MISSED: ${what}`),
  ...empty.length + missed.length === 0 ? ['every bound is met'] : [],
].join('\n');
