import type { Cost } from './meter.ts';
import { TASKS } from './rounds.ts';
import type { Measured } from './rounds.ts';

/** How many times as much the larger history may cost. */
export const BOUND = 1.2;

export interface Figures { wallMs: number; cpuMs: number | null; pages: number; walBytes: number }
export interface ComparedRow { task: string; unit: string; small: Figures; large: Figures; ratio: { wall: number; cpu: number | null; pages: number; wal: number } }

export const median = (numbers: readonly number[]): number => {
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] as number : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
};

const figuresOf = (costs: readonly Cost[]): Figures => {
  const each = (of: (cost: Cost) => number): number => median(costs.map((cost) => of(cost) / cost.operations));
  return {
    wallMs: each((cost) => cost.wallMs), cpuMs: costs.some((cost) => cost.cpuMs === null) ? null : each((cost) => cost.cpuMs ?? 0),
    pages: each((cost) => cost.pages), walBytes: each((cost) => cost.walBytes),
  };
};

const times = (large: number, small: number): number => (small > 0 ? large / small : large > 0 ? Infinity : 1);

/** For each task the median cost of one operation on both histories, and how many times as much the larger one costs. */
export const compare = (measured: Measured): ComparedRow[] => TASKS.map(({ name, unit }) => {
  const [few = [], many = []] = measured.get(name) ?? [];
  const [small, large] = [figuresOf(few), figuresOf(many)];
  return {
    task: name, unit, small, large,
    ratio: {
      wall: times(large.wallMs, small.wallMs), cpu: large.cpuMs === null || small.cpuMs === null ? null : times(large.cpuMs, small.cpuMs),
      pages: times(large.pages, small.pages), wal: times(large.walBytes, small.walBytes),
    },
  };
});

/** What costs more than the bound: in time, or in the server's processor time. Pages and WAL are shown for the reason. */
export const missed = (rows: readonly ComparedRow[]): string[] => rows.flatMap(({ task, ratio }) => [
  ...(ratio.wall > BOUND ? [`${task}: ${ratio.wall.toFixed(2)} times the time`] : []),
  ...(ratio.cpu !== null && ratio.cpu > BOUND ? [`${task}: ${ratio.cpu.toFixed(2)} times the server's processor time`] : []),
]);

const number = (value: number | null): string => (value === null ? '-' : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(3));

/** The table, line by line: per operation, smaller and larger history, and their ratio. */
export const tableOf = (rows: readonly ComparedRow[], { settled }: { settled: readonly [number, number] }): string[] => {
  const [few, many] = settled.map((count) => count.toLocaleString('en'));
  const cells = [
    ['each', 'cost', `${few} settled`, `${many} settled`, 'ratio', ''],
    ...rows.flatMap(({ task, unit, small, large, ratio }) => [
      [`${task}, ${unit}`, 'ms', number(small.wallMs), number(large.wallMs), ratio.wall.toFixed(2), ratio.wall > BOUND ? `> ${BOUND}` : ''],
      ['', 'ms of the server\'s CPU', number(small.cpuMs), number(large.cpuMs), ratio.cpu?.toFixed(2) ?? '-', ratio.cpu !== null && ratio.cpu > BOUND ? `> ${BOUND}` : ''],
      ['', 'pages touched', number(small.pages), number(large.pages), ratio.pages.toFixed(2), ''],
      ['', 'WAL bytes', number(small.walBytes), number(large.walBytes), ratio.wal.toFixed(2), ''],
    ]),
  ];
  const widths = (cells[0] as string[]).map((_, column) => Math.max(...cells.map((row) => (row[column] as string).length)));
  return cells.map((row) => row.map((cell, column) => (column < 2 ? cell.padEnd(widths[column] as number) : cell.padStart(widths[column] as number))).join('  ').trimEnd());
};
