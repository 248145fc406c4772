import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Contender } from './contender.ts';
import { drive } from './drive.ts';
import { fourSmallTransactions, rawQueue, sandboxAlone } from './floors.ts';
import { openGround } from './ground.ts';
import type { BackendName } from './ground.ts';
import { groupedAppend } from './grouped-append.ts';
import { measureLatency, measureThroughput } from './measure.ts';
import type { Latency, Sizes, Stage, Throughput } from './measure.ts';
import { startProduct } from './product.ts';
import { startSandboxProcess } from './sandbox-process.ts';
import { startBaseline } from './unsafe-baseline.ts';
import { writePolicies } from './clocks.ts';

export interface RoundsSettings { backend: BackendName; folder: string; tree: string; rounds: number; sizes: Sizes; shapes: readonly string[]; say: (line: string) => void }

export interface Floors { fourSmallPerS: number; queueJobsPerS: number; sandboxCallsPerS: number; append: { productMs: number; floorMs: number } }
export interface Round { throughput: Record<string, Throughput>; latency: Record<string, Latency>; floors: Floors }

/** Workflows after the start: every connection is used once. */
const FIRST = 60;
const SHAPES = ['services', 'standalone', 'two', 'one'] as const;
const isProduct = (contender: Contender): boolean => contender.name.startsWith('product');

const best = (contenders: readonly Contender[], throughput: Record<string, Throughput>): Contender =>
  contenders.reduce((one, other) => ((throughput[other.name]?.completedPerS ?? 0) > (throughput[one.name]?.completedPerS ?? 0) ? other : one));

const measureFloors = async ({ ground, sandbox, sizes }: Stage, policyDir: string): Promise<Floors> => ({
  fourSmallPerS: await fourSmallTransactions(ground, 2_000),
  queueJobsPerS: await rawQueue(ground, sizes.load > 1_000 ? 4_000 : 1_000),
  sandboxCallsPerS: await sandboxAlone(sandbox, 1_500).finally(() => sandbox.take()),
  append: await groupedAppend(ground, policyDir, 1_000),
});

const running = async <Value>(contender: Contender, run: () => Promise<Value>): Promise<Value> => {
  contender.thaw();
  try {
    return await run();
  } finally {
    contender.freeze();
  }
};

/** All rounds on one backend. Everything is started once; whoever is not being measured is frozen. The order turns from round to round. */
export const runRounds = async ({ backend, folder, tree, rounds, sizes, shapes, say }: RoundsSettings): Promise<Round[]> => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ground = await openGround(folder, backend);
  const sandbox = await startSandboxProcess(tree);
  const stage: Stage = { ground, sandbox, sizes };
  const policyDir = writePolicies(join(folder, `policies-${backend}`));
  const contenders: Contender[] = [];
  for (const [index, shape] of SHAPES.entries()) {
    if (!shapes.includes(shape)) continue;
    say(`${backend}: starting ${shape}`);
    const common = { ground, sandbox, folder, tree, redisNumber: index + 1 };
    const contender = shape === 'services' || shape === 'standalone' ? await startProduct({ ...common, policyDir, shape }) : await startBaseline({ ...common, shape });
    // Frozen while it still connects, it would be thrown out by the server.
    await drive(contender, { clocks: 'load', total: FIRST, cap: FIRST, width: FIRST });
    // What is measured is what a process does all day, and not how its code is compiled as it gets hot.
    await drive(contender, { clocks: 'load', total: sizes.settle, cap: sizes.cap, width: sizes.width });
    await sandbox.take();
    contender.freeze();
    contenders.push(contender);
  }
  const done: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const throughput: Record<string, Throughput> = {};
    const turn = contenders.map((_, index) => contenders[(index + round) % contenders.length] as Contender);
    for (const contender of turn) {
      const measured = throughput[contender.name] = await running(contender, () => measureThroughput(contender, stage));
      say(`${backend}, round ${round + 1}: ${contender.name}: ${measured.completedPerS.toFixed(0)}/s ${measured.faults.join('; ')}`);
    }
    const latency: Record<string, Latency> = {};
    const product = best(contenders.filter(isProduct), throughput);
    const perSecond = (throughput[product.name]?.completedPerS ?? 2) / 2;
    const rivals = contenders.filter((one) => !isProduct(one));
    for (const [contender, total] of [[product, sizes.lag], ...rivals.length === 0 ? [] : [[best(rivals, throughput), sizes.baselineLag] as const]] as const) {
      const measured = latency[contender.name] = await running(contender, () => measureLatency(contender, stage, { perSecond, total }));
      say(`${backend}, round ${round + 1}: ${contender.name} at ${perSecond.toFixed(0)}/s: ${measured.lagMs.length} fallbacks at their deadline ${measured.faults.join('; ')}`);
    }
    const floors = await measureFloors(stage, policyDir);
    say(`${backend}, round ${round + 1}: floors: ${floors.fourSmallPerS.toFixed(0)} workflows/s in four small transactions, append ${(floors.append.productMs / floors.append.floorMs).toFixed(2)} x`);
    done.push({ throughput, latency, floors });
  }
  return done;
};
