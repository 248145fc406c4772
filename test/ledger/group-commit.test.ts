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
