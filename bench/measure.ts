import { drive } from './drive.ts';
import type { Driven } from './drive.ts';
import type { Contender } from './contender.ts';
import type { Ground } from './ground.ts';
import { percentile } from './figures.ts';
import type { SandboxProcess } from './sandbox-process.ts';
import { peakMemoryMb, readSpent, spentEach } from './spent.ts';
import type { Spent } from './spent.ts';

/** `settle`: workflows once after the start of a contender; `warm`: before each measurement. */
export interface Sizes { settle: number; warm: number; load: number; burst: number; lag: number; baselineLag: number; cap: number; width: number }
export interface Stage { ground: Ground; sandbox: SandboxProcess; sizes: Sizes }

export interface Throughput { completedPerS: number; acceptedPerS: number; burstPerS: number; each: Spent; emailShare: number; faults: string[]; memoryMb: number }

/** Nobody may be told twice, nobody forgotten, and the mix has to be the one that was asked for. */
const faultsOf = (driven: Driven, emails: number, duplicates: number): string[] => {
  const faults: string[] = [];
  if (driven.stuck > 0) faults.push(`${driven.stuck} workflows did not end`);
  if (duplicates > 0) faults.push(`${duplicates} messages went twice`);
  const share = emails / driven.ids.length;
  if (Math.abs(share - 0.3) > 0.02) faults.push(`${(share * 100).toFixed(1)} % by email instead of 30 %: the deadline came before the answer`);
  return faults;
};
const emailsIn = (receipts: readonly [string, number][]): number => receipts.filter(([key]) => key.includes('.email.')).length;

/** Completed workflows a second under a full load, what each cost, and how fast a burst is accepted. */
export const measureThroughput = async (contender: Contender, { ground, sandbox, sizes }: Stage): Promise<Throughput> => {
  const { cap, width } = sizes;
  await drive(contender, { clocks: 'load', total: sizes.warm, cap, width });
  await sandbox.take();
  const pids = { node: contender.pids, sandbox: sandbox.pid };
  const before = await readSpent(ground, pids);
  const driven = await drive(contender, { clocks: 'load', total: sizes.load, cap, width });
  const after = await readSpent(ground, pids);
  const { receipts, duplicates } = await sandbox.take();
  const burst = await drive(contender, { clocks: 'load', total: sizes.burst, cap: Infinity, width: 64 });
  await sandbox.take();
  return {
    completedPerS: driven.completedPerS, acceptedPerS: driven.acceptedPerS, burstPerS: burst.acceptedPerS, each: spentEach(before, after, sizes.load),
    emailShare: emailsIn(receipts) / driven.ids.length, faults: faultsOf(driven, emailsIn(receipts), duplicates), memoryMb: peakMemoryMb(contender.pids),
  };
};

export interface Latency { perS: number; toProviderMs: number[]; lagMs: number[]; faults: string[] }

/** At a steady rate: from the 202 to the provider, and from the decision deadline to the provider's receipt of the fallback. */
export const measureLatency = async (contender: Contender, { sandbox }: Stage, { perSecond, total }: { perSecond: number; total: number }): Promise<Latency> => {
  await sandbox.take();
  const driven = await drive(contender, { clocks: 'lag', total, cap: Infinity, width: Infinity, perSecond });
  const { receipts, duplicates } = await sandbox.take();
  const deadlines = await contender.deadlines(driven.ids);
  const receivedAt = new Map(receipts);
  const toProviderMs: number[] = [];
  const lagMs: number[] = [];
  for (const id of driven.ids) {
    const sms = receivedAt.get(`${id}.sms.1`);
    if (sms !== undefined) toProviderMs.push(Math.max(0, sms - (driven.acceptedAt.get(id) as number)));
    const email = receivedAt.get(`${id}.email.1`);
    const deadline = deadlines.get(id);
    // An undelivered SMS needs no deadline.
    if (email !== undefined && deadline !== undefined && email >= deadline) lagMs.push(email - deadline);
  }
  return { perS: perSecond, toProviderMs, lagMs, faults: [...driven.stuck > 0 ? [`${driven.stuck} workflows did not end`] : [], ...duplicates > 0 ? [`${duplicates} messages went twice`] : []] };
};

/** `p50 / p99` of some milliseconds. */
export const spread = (values: readonly number[]): { p50: number; p99: number; n: number } => ({ p50: percentile(values, 0.5), p99: percentile(values, 0.99), n: values.length });
