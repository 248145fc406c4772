import { ANSWERED, BOUNDARIES, FAULT_KINDS } from './plan.ts';
import type { Boundary } from './plan.ts';
import { drawnEdges } from './edges.ts';
import type { Outcome } from './simulate.ts';

/** What many runs met; plain JSON, so that processes can add theirs together. */
export interface Coverage {
  runs: number; workflows: number; steps: number;
  kinds: Record<string, number>; pairs: Record<string, number>; edges: Record<string, number>; statuses: Record<string, number>;
  broken: { seed: number; invariant: string; about: string }[];
}

export const noCoverage = (): Coverage => ({ runs: 0, workflows: 0, steps: 0, kinds: {}, pairs: {}, edges: {}, statuses: {}, broken: [] });

const add = (sums: Record<string, number>, entries: Iterable<readonly [string, number]>): void => {
  for (const [name, count] of entries) sums[name] = (sums[name] ?? 0) + count;
};

export const addRun = (coverage: Coverage, outcome: Outcome): void => {
  coverage.runs += 1;
  coverage.workflows += outcome.workflows;
  coverage.steps += outcome.steps;
  add(coverage.kinds, outcome.kinds.map((kind) => [kind, 1] as const));
  add(coverage.pairs, outcome.pairs);
  add(coverage.edges, outcome.edges);
  add(coverage.statuses, outcome.statuses);
  if (outcome.violation) coverage.broken.push({ seed: outcome.seed, invariant: outcome.violation.invariant, about: outcome.violation.about });
};

export const addCoverage = (sum: Coverage, other: Coverage): void => {
  sum.runs += other.runs;
  sum.workflows += other.workflows;
  sum.steps += other.steps;
  for (const part of ['kinds', 'pairs', 'edges', 'statuses'] as const) add(sum[part], Object.entries(other[part]));
  sum.broken.push(...other.broken);
};

const PAIR_FAULTS = ['crash before', 'crash after', 'stop before', 'stop after'];
const pad = (text: string, width: number): string => text.padEnd(width);

/** Every boundary with every fault that can strike there. */
const allPairs = (): string[] => [
  ...BOUNDARIES.flatMap((boundary) => PAIR_FAULTS.map((fault) => `${boundary} x ${fault}`)),
  ...ANSWERED.map((boundary) => `${boundary} x commit-answer-lost`),
];

/** From so many runs on the coverage itself is promised: gaps are a failure. */
const PROMISED_FROM = 10_000;
export const isPromised = (coverage: Coverage): boolean => coverage.runs >= PROMISED_FROM;

/** How often each boundary has to be met by each fault in that many runs: a hundred times in a hundred thousand. */
export const leastPasses = (runs: number): number => Math.max(1, Math.floor(runs / 1_000));

/** Faults in fewer than one run in twenty, boundaries met by a fault less than `least` times, edges never taken. */
export const gapsOf = (coverage: Coverage, least = leastPasses(coverage.runs)): string[] => [
  ...FAULT_KINDS.filter((kind) => (coverage.kinds[kind] ?? 0) < coverage.runs * 0.05).map((kind) => `${kind} in fewer than 5 % of the runs`),
  ...allPairs().filter((pair) => (coverage.pairs[pair] ?? 0) < least).map((pair) => `${pair} fewer than ${least} times`),
  ...drawnEdges().filter((edge) => (coverage.edges[edge] ?? 0) === 0).map((edge) => `${edge} never taken`),
];

/** The coverage as a table for people. */
export const coverageText = (coverage: Coverage): string => {
  const share = (count: number): string => `${((100 * count) / Math.max(1, coverage.runs)).toFixed(1)} %`;
  const countOf = (boundary: Boundary, fault: string): string => (fault === 'commit-answer-lost' && !ANSWERED.includes(boundary) ? '-' : String(coverage.pairs[`${boundary} x ${fault}`] ?? 0));
  const lines = [`${coverage.runs} runs, ${coverage.workflows} workflows, ${coverage.steps} steps`, '', 'Faults, by the share of runs they struck in'];
  for (const kind of FAULT_KINDS) lines.push(`  ${pad(kind, 22)}${share(coverage.kinds[kind] ?? 0)}`);
  lines.push('', `Boundaries ${pad('', 10)}${[...PAIR_FAULTS, 'commit-answer-lost'].map((fault) => pad(fault, 14)).join('')}`);
  for (const boundary of BOUNDARIES) lines.push(`  ${pad(boundary, 19)}${[...PAIR_FAULTS, 'commit-answer-lost'].map((fault) => pad(countOf(boundary, fault), 14)).join('').trimEnd()}`);
  lines.push('', 'Edges of the state diagram');
  for (const edge of drawnEdges()) lines.push(`  ${pad(edge, 34)}${coverage.edges[edge] ?? 0}`);
  lines.push('', 'Ends');
  for (const [status, count] of Object.entries(coverage.statuses).sort()) lines.push(`  ${pad(status, 22)}${count}`);
  return `${lines.join('\n')}\n`;
};
