import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { groupCalls } from '../../shared/ledger/group-commit.ts';

test('the first call after a pause leaves at once, and those that follow within the pace leave together', async () => {
  const groups: number[][] = [];
  const call = groupCalls<number, number>({
    run: (group) => {
      groups.push(group);
      return Promise.resolve(group);
    },
    maxGroup: 10, paceMs: 300, retryAlone: () => true,
  });
  const calledAt = performance.now();
  await call(1);
  expect(performance.now() - calledAt).toBeLessThan(300);
  const second = call(2);
  await turn();
  await turn();
  expect(await Promise.all([second, call(3)])).toEqual([2, 3]);
  expect(groups).toEqual([[1], [2, 3]]);
});

test('after a large group the next one is waited for twice as long, so that under load there are fewer and larger ones', async () => {
  const left: { size: number; at: number }[] = [];
  const call = groupCalls<number, number>({
    run: (group) => {
      left.push({ size: group.length, at: performance.now() });
      return Promise.resolve(group);
    },
    maxGroup: 100, paceMs: 40, retryAlone: () => true,
  });
  await Promise.all(Array.from({ length: 12 }, (_, index) => call(index)));
  await call(13);
  await call(14);
  expect(left.map(({ size }) => size)).toEqual([12, 1, 1]);
  const waits = left.slice(1).map(({ at }, index) => at - (left[index] as { at: number }).at);
  // A timer rounds to whole milliseconds.
  expect(waits[0]).toBeGreaterThanOrEqual(79);
  expect(waits[1]).toBeGreaterThanOrEqual(39);
});
