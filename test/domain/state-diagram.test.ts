import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { examplePolicy } from './policies.ts';
import { anyLife, live } from './random-life.ts';
import type { World } from './world.ts';
import { abandoned, deferred, openWorld } from './world.ts';

const drawn = [...readFileSync(new URL('../../shared/domain/README.md', import.meta.url), 'utf8').matchAll(/^\s*(\S+) --> (\w+|\[\*\])/gm)].map(([, from, to]) => `${from}->${to}`);

const EXPIRY = 900_000;

/** A call whose answer *not processed* comes when nothing may follow any more: what random lives seldom meet. */
const overtaken = (how: 'closed' | 'expired', worker: 'alive' | 'lost'): World => {
  const world = openWorld({ policy: examplePolicy({ order: ['sms'] }) });
  world.accept();
  world.jumpTo(EXPIRY - 10_000);
  world.start('sms');
  if (worker === 'lost') world.runTo(EXPIRY + 5_000);
  if (how === 'closed') world.close();
  else world.jumpTo(EXPIRY + 5_001);
  world.answer('sms', worker === 'lost' ? deferred() : abandoned);
  return world;
};

/** The account is refused for a call that the rescue had booked as unknown meanwhile. */
const refusedLate = (): World => {
  const world = openWorld({ policy: examplePolicy({ order: ['sms'] }) });
  world.accept();
  world.start('sms');
  world.runTo(15_000);
  world.answer('sms', { kind: 'provider_unavailable', reason: 'provider_account' });
  return world;
};

/** Its channel is barred while it waits for the end of its quiet hours. */
const barredWhileSilent = (): World => {
  const world = openWorld({ policy: examplePolicy({ policy: { regions: { US: { consent: {}, quietHours: { sms: { from: '11:00', to: '12:05', timeZone: 'UTC' } } } } } }) });
  world.accept();
  world.bar('sms');
  world.tick();
  return world;
};

/** Every edge that these and many random lives walk; the seed is fixed, so that a run is like the one before. */
const walked = (): Set<string> => {
  const lives = fc.sample(anyLife, { numRuns: 1_500, seed: 20_260_105 }).map(live);
  const rare = (['closed', 'expired'] as const).flatMap((how) => [overtaken(how, 'alive'), overtaken(how, 'lost')]).concat(refusedLate(), barredWhileSilent());
  return new Set([...lives, ...rare].flatMap(({ edges }) => [...edges.keys()]));
};

describe('the state diagram of the README', () => {
  it('shows every edge that attempts take, and no other', () => {
    expect([...walked()].sort()).toEqual([...drawn].sort());
  }, 120_000);
  it('names no edge twice', () => {
    expect(new Set(drawn).size).toBe(drawn.length);
  });
});
