import { expect, test } from '@jest/globals';
import { createPlaces } from '../../services/delivery/places.ts';

const open = (free: number) => {
  let at = 1_000;
  const places = createPlaces(() => at, () => free);
  return { places, pass: (ms: number) => { at += ms; } };
};
/** So many calls that end at once. */
const answer = async ({ places }: ReturnType<typeof open>, times: number): Promise<void> => {
  for (let one = 0; one < times; one += 1) {
    const place = await places.await();
    await place.call(() => Promise.resolve());
    place.leave();
  }
};

test('as many are started ahead as calls could begin at once, while nothing is known of the provider', () => {
  const { places } = open(2);
  expect([places.enter(), places.enter(), places.enter()].map((place) => place !== null)).toEqual([true, true, false]);
});

test('a provider that answered often in the last quarter of a second has as many more started ahead; one that fell silent has not', async () => {
  const world = open(1);
  await answer(world, 3);
  expect(Array.from({ length: 5 }, () => world.places.enter()).filter((place) => place !== null)).toHaveLength(4);
  world.pass(600);
  expect(world.places.enter()).toBeNull();
});

test('a call that begins makes room, and those that wait come in their order before anyone new', async () => {
  const { places } = open(1);
  const first = places.enter();
  const order: number[] = [];
  const second = places.await().then((place) => { order.push(2); return place; });
  const third = places.await().then((place) => { order.push(3); return place; });
  expect(places.enter()).toBeNull();
  let end: () => void = () => undefined;
  const call = first?.call(() => new Promise<void>((resolve) => { end = resolve; }));
  // Its call is under way and counts no more; the second one is let in once a place is left or a call ends.
  end();
  await call;
  (await second).leave();
  first?.leave();
  await third;
  expect(order).toEqual([2, 3]);
});

test('is idle once every place was left, each of them once', async () => {
  const { places } = open(2);
  const [one, other] = [places.enter(), places.enter()];
  let isIdle = false;
  const idle = places.idle().then(() => { isIdle = true; });
  one?.leave();
  one?.leave();
  await Promise.resolve();
  expect(isIdle).toBe(false);
  other?.leave();
  await idle;
  expect(isIdle).toBe(true);
});
