import { expect, test } from '@jest/globals';
import { createAdmission } from '../../services/intake/admission.ts';

const turn = (): Promise<void> => new Promise((resolve) => { setImmediate(resolve); });

test('where there is room nobody waits for the next turn', () => {
  const { enter } = createAdmission(2);
  const inside: number[] = [];
  enter(() => inside.push(1));
  enter(() => inside.push(2));
  expect(inside).toEqual([1, 2]);
});

test('what comes beyond is let in turn by turn, in its order, and whoever comes meanwhile goes to the end', async () => {
  const { enter } = createAdmission(2);
  const inside: number[] = [];
  for (const one of [1, 2, 3, 4, 5]) enter(() => inside.push(one));
  expect(inside).toEqual([1, 2]);
  await turn();
  expect(inside).toEqual([1, 2, 3, 4]);
  enter(() => inside.push(6));
  expect(inside).toEqual([1, 2, 3, 4]);
  await turn();
  expect(inside).toEqual([1, 2, 3, 4, 5, 6]);
});

test('after a pause there is room at once', async () => {
  const { enter } = createAdmission(1);
  enter(() => undefined);
  await turn();
  await turn();
  let inside = false;
  enter(() => { inside = true; });
  expect(inside).toBe(true);
});
