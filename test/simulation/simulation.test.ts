import { describe, expect, it } from '@jest/globals';
import { planOf } from './plan.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';
import { createScheduler } from './scheduler.ts';

describe('a simulated deployment', () => {
  it('replays a seed byte for byte', async () => {
    for (let seed = 101; seed <= 150; seed += 1) {
      const [first, again] = [await simulate(planOf(seed)), await simulate(planOf(seed))];
      expect([seed, again.digest]).toEqual([seed, first.digest]);
    }
  }, 120_000);

  it('is another run under another seed', async () => {
    const digests = await Promise.all([1, 2, 3, 4].map(async (seed) => (await simulate(planOf(seed, false))).digest));
    expect(new Set(digests).size).toBe(4);
  });

  it('of a broken promise keeps only the faults and workflows that it takes', async () => {
    const plan = { ...planOf(3), faults: planOf(3).faults.concat({ kind: 'job-lost', pass: 1 }, { kind: 'queue-flushed', at: 9 }), workflows: planOf(3).workflows.concat(planOf(4).workflows) };
    const sound = await simulate(planOf(3));
    const { plan: smallest } = await shrink(plan, (one) => Promise.resolve({
      ...sound, violation: one.faults.some((fault) => fault.kind === 'queue-flushed') ? { invariant: 'a promise', about: '', at: 0 } : null,
    }));
    expect(smallest.faults).toEqual([{ kind: 'queue-flushed', at: 9 }]);
    expect(smallest.workflows).toHaveLength(1);
  });
});

describe('simulated time', () => {
  it('jumps from one instant to the next, in order, those of one instant as they were planned', async () => {
    const scheduler = createScheduler(1_000);
    const seen: string[] = [];
    for (const [name, at] of [['d', 9_000_000], ['a', 1_500], ['b', 1_500], ['c', 2_000]] as const) scheduler.at(at, () => { seen.push(`${name} ${scheduler.now}`); });
    await scheduler.run({ until: 10_000_000, isOver: () => false, afterStep: () => undefined });
    expect(seen).toEqual(['a 1500', 'b 1500', 'c 2000', 'd 9000000']);
  });

  it('lets every promise go on before the next step', async () => {
    const scheduler = createScheduler(0);
    const seen: string[] = [];
    scheduler.at(1, () => { void (async () => { for (let hop = 0; hop < 20; hop += 1) await Promise.resolve(); seen.push('first'); })(); });
    scheduler.at(1, () => { seen.push('second'); });
    await scheduler.run({ until: 5, isOver: () => false, afterStep: () => undefined });
    expect(seen).toEqual(['first', 'second']);
  });
});
