import type { BackendName } from './ground.ts';
import { median } from './figures.ts';
import { spread } from './measure.ts';
import type { Latency, Throughput } from './measure.ts';
import type { Round } from './rounds.ts';

/** What must hold. Source: docs/bench.md. */
const BOUNDS = { redis: { ratio: 1.2, lagP99Ms: 150 }, postgres: { ratio: 1, lagP99Ms: 400 } } as const;
const LEAST_OF_FLOOR = 0.4;
const MOST_OF_APPEND_FLOOR = 2;
const LEAST_FALLBACKS = 1_000;

export interface Line {
  name: string; completedPerS: number; burstPerS: number; ofBaseline: number; nodeMs: number; serversMs: number; sandboxMs: number; commits: number; walKb: number; memoryMb: number;
  toProvider: { p50: number; p99: number; n: number } | null; lag: { p50: number; p99: number; n: number } | null; atPerS: number | null;
}
export interface Verdict {
  backend: BackendName; lines: Line[]; floors: { fourSmallPerS: number; queueJobsPerS: number; sandboxCallsPerS: number; appendMs: number; appendFloorMs: number; appendRatio: number; baselineOfFloor: number };
  /** Why nothing can be said of this run. */
  void: string[];
  missed: string[];
}

const lineOf = (name: string, rounds: readonly Round[], baseline: string): Line => {
  const all = rounds.flatMap((round) => round.throughput[name] ?? []);
  const of = (read: (one: Throughput) => number): number => median(all.map(read));
  const latencies = rounds.flatMap((round): Latency[] => (round.latency[name] ? [round.latency[name]] : []));
  return {
    name, completedPerS: of((one) => one.completedPerS), burstPerS: of((one) => one.burstPerS),
    ofBaseline: median(rounds.map((round) => (round.throughput[name]?.completedPerS ?? NaN) / (round.throughput[baseline]?.completedPerS ?? NaN))),
    nodeMs: of(({ each }) => each.nodeMs), serversMs: of(({ each }) => each.postgresMs + each.redisMs), sandboxMs: of(({ each }) => each.sandboxMs),
    commits: of(({ each }) => each.commits), walKb: of(({ each }) => each.walBytes / 1024), memoryMb: Math.max(...all.map((one) => one.memoryMb)),
    toProvider: latencies.length === 0 ? null : spread(latencies.flatMap((one) => one.toProviderMs)), lag: latencies.length === 0 ? null : spread(latencies.flatMap((one) => one.lagMs)),
    atPerS: latencies.length === 0 ? null : median(latencies.map((one) => one.perS)),
  };
};

const fastest = (lines: readonly { name: string; completedPerS: number }[]): string => lines.reduce((one, other) => (other.completedPerS > one.completedPerS ? other : one)).name;
const isProduct = (name: string): boolean => name.startsWith('product');

/** Medians over the rounds, and what they mean: void, missed or met. `least` is the number of fallbacks that a p99 must rest on. */
export const judge = (backend: BackendName, rounds: readonly Round[], least = LEAST_FALLBACKS): Verdict => {
  const names = Object.keys(rounds[0]?.throughput ?? {});
  const speeds = names.map((name) => ({ name, completedPerS: median(rounds.map((round) => round.throughput[name]?.completedPerS ?? NaN)) }));
  const baseline = fastest(speeds.filter(({ name }) => !isProduct(name)));
  const lines = names.map((name) => lineOf(name, rounds, baseline));
  const product = lines.find((line) => line.name === fastest(speeds.filter(({ name }) => isProduct(name)))) as Line;
  const of = (read: (round: Round) => number): number => median(rounds.map(read));
  const floors = {
    fourSmallPerS: of(({ floors: f }) => f.fourSmallPerS), queueJobsPerS: of(({ floors: f }) => f.queueJobsPerS), sandboxCallsPerS: of(({ floors: f }) => f.sandboxCallsPerS),
    appendMs: of(({ floors: f }) => f.append.productMs), appendFloorMs: of(({ floors: f }) => f.append.floorMs), appendRatio: of(({ floors: f }) => f.append.productMs / f.append.floorMs),
    baselineOfFloor: of((round) => (round.throughput[baseline]?.completedPerS ?? NaN) / round.floors.fourSmallPerS),
  };
  const faults = rounds.flatMap((round, index) => [...Object.entries(round.throughput), ...Object.entries(round.latency)].flatMap(([name, { faults: found }]) => found.map((fault) => `round ${index + 1}, ${name}: ${fault}`)));
  const bound = BOUNDS[backend];
  // Of the shape that was the faster one in most rounds; where they changed places, of both.
  const lags = rounds.flatMap((round) => Object.entries(round.latency).flatMap(([name, { lagMs }]) => (isProduct(name) ? lagMs : [])));
  const lag = spread(lags);
  return {
    backend, lines, floors,
    void: [...floors.baselineOfFloor < LEAST_OF_FLOOR ? [`the baseline reached ${(floors.baselineOfFloor * 100).toFixed(0)} % of the floor of four small transactions, at least ${LEAST_OF_FLOOR * 100} % are needed`] : [], ...faults,
      ...lag.n < least ? [`${lag.n} fallbacks at their deadline, ${least} are needed`] : []],
    missed: [
      ...product.ofBaseline >= bound.ratio ? [] : [`${product.name}: ${product.ofBaseline.toFixed(2)} times the unsafe baseline, at least ${bound.ratio} is the bound`],
      ...lag.p99 < bound.lagP99Ms ? [] : [`p99 of the lag is ${lag.p99.toFixed(0)} ms, below ${bound.lagP99Ms} ms is the bound`],
      ...floors.appendRatio <= MOST_OF_APPEND_FLOOR ? [] : [`a grouped append costs ${floors.appendRatio.toFixed(2)} times its floor, at most ${MOST_OF_APPEND_FLOOR} is the bound`],
    ],
  };
};
