import { describe, expect, it } from '@jest/globals';
import { examplePolicy } from './policies.ts';
import { accepted, deferred, found, lost, notFound, openWorld, reads, rejected } from './world.ts';
import type { World } from './world.ts';

const started = (): World => {
  const world = openWorld({ policy: examplePolicy() });
  world.accept();
  world.start('sms');
  return world;
};
const count = (world: World, kind: string): number => world.kinds().filter((one) => one === kind).length;

describe('late, stale and repeated observations are kept and change nothing', () => {
  it('a second answer to the same submission', () => {
    const world = started();
    world.answer('sms', accepted());
    const before = world.attempt('sms');
    world.answer('sms', rejected);
    expect(world.last('StatusObserved')).toMatchObject({ source: 'submit', outcome: 'rejected', counts: false });
    expect(world.attempt('sms')).toEqual(before);
  });
  it('an answer to an earlier submission', () => {
    const world = started();
    world.answer('sms', deferred(0));
    world.jumpTo(1_000);
    world.start('sms');
    world.answer('sms', accepted(), 1);
    expect(world.attempt('sms')).toMatchObject({ state: 'submitting', submissions: 2 });
  });
  it.each(['undelivered', 'pending', 'rejected'] as const)('%s after delivered', (outcome) => {
    const world = started();
    world.answer('sms', accepted());
    world.poll('sms', reads('delivered'));
    world.poll('sms', reads(outcome));
    expect(world.last('StatusObserved')).toMatchObject({ outcome, counts: false });
    expect(world.attempt('sms').state).toBe('delivered');
    expect(world.status()).toBe('delivered');
    expect(count(world, 'FallbackClaimed')).toBe(0);
  });
  it('pending after accepted', () => {
    const world = started();
    world.answer('sms', accepted());
    world.poll('sms', reads('accepted'));
    world.poll('sms', reads('pending'));
    expect(world.attempt('sms').evidence?.outcome).toBe('accepted');
  });
  it('a delivery heard after the grace ended', () => {
    const world = started();
    world.answer('sms', accepted());
    world.runTo(25 * 60_000);
    world.poll('sms', reads('delivered'));
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted', reason: 'grace_ended' });
  });
  it('a look-up that found another message than the one whose id is known', () => {
    const world = started();
    world.answer('sms', lost);
    world.answer('sms', accepted('SM0001'));
    world.lookUp('sms', found('delivered', 'SM0002'));
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted', providerMessageId: 'SM0001' });
  });
  it('a 404 means not yet visible, never failed', () => {
    const world = started();
    world.answer('sms', accepted());
    for (const at of [5_000, 10_000]) {
      world.runTo(at);
      world.poll('sms', notFound);
    }
    expect(world.attempt('sms').state).toBe('submitted');
    world.runTo(20_000);
    world.poll('sms', reads('delivered'));
    expect(world.status()).toBe('delivered');
  });
});
