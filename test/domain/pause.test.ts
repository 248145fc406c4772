import { describe, expect, it } from '@jest/globals';
import { decide } from '../../shared/domain/decide.ts';
import { explain } from '../../shared/domain/explain.ts';
import { nextDecideAt } from '../../shared/domain/lifecycle.ts';
import { CARRIERS, examplePolicy } from './policies.ts';
import { START, accepted, deferred, lost, openWorld, reads, rejected } from './world.ts';
import type { World } from './world.ts';

const EXPIRY = 15 * 60_000;
const open = (): World => {
  const world = openWorld({ policy: examplePolicy() });
  world.accept();
  return world;
};
const submitted = (): World => {
  const world = open();
  world.start('sms');
  world.answer('sms', accepted());
  return world;
};
const claims = (world: World): number => world.kinds().filter((kind) => kind === 'FallbackClaimed').length;

describe('while a notification is paused', () => {
  it('its worker starts nothing, and nobody enqueues it again', () => {
    const world = open();
    world.pause();
    const before = world.requests.length;
    expect(world.start('sms').transitions).toEqual([]);
    world.runTo(EXPIRY - 1);
    expect(world.attempt('sms').state).toBe('queued');
    expect(world.requests).toHaveLength(before);
    expect(world.kinds()).not.toContain('AttemptRequeued');
  });
  it('a call in flight is reported as such, and its *not processed* waits for the resume', () => {
    const world = open();
    world.start('sms');
    world.pause();
    expect(world.last('NotificationPaused')).toEqual({ reason: 'maintenance', in_flight: true });
    const { requests } = world.answer('sms', deferred());
    expect(world.attempt('sms').state).toBe('queued');
    expect(requests).toEqual([]);
  });
  it('a failure claims no channel, and neither does a deadline', () => {
    const failed = open();
    failed.start('sms');
    failed.pause();
    failed.answer('sms', rejected);
    failed.runTo(60_000);
    expect([claims(failed), failed.state.settledAt, failed.status()]).toEqual([0, null, 'accepted']);
    const late = submitted();
    late.pause();
    late.runTo(120_000);
    expect(claims(late)).toBe(0);
    expect(late.kinds()).not.toContain('DeadlinePassed');
  });
  it('polls go on and are recorded, ever further apart once the deadline is past', () => {
    const world = submitted();
    world.pause();
    const polls: number[] = [];
    for (let at = world.attempt('sms').nextPollAt; at !== null && at - START < 120_000; at = world.attempt('sms').nextPollAt) {
      polls.push((at - START) / 1_000);
      world.runTo(at - START);
      world.poll('sms', reads('pending'));
    }
    expect(polls).toEqual([5, 10, 20, 28, 35, 45, 65, 105]);
    world.runTo(121_000);
    world.poll('sms', reads('delivered'));
    expect(world.status()).toBe('delivered');
    expect(world.state.settledAt).toBe(world.now);
  });
  it('expiry comes all the same, and cuts what waits', () => {
    const world = open();
    world.pause();
    world.runTo(EXPIRY);
    expect(world.attempt('sms')).toMatchObject({ state: 'expired', reason: 'expired' });
    expect(world.status()).toBe('expired');
    expect(world.state.settledAt).toBe(START + EXPIRY);
  });
  it('it stays paused though it settles, and a retry waits for the resume', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', rejected);
    world.start('email');
    world.pause();
    world.answer('email', rejected);
    expect(world.state.settledAt).toBe(world.now);
    expect(world.state.paused).toMatchObject({ reason: 'maintenance' });
    const before = world.state.version;
    expect(world.retry('email').transitions).toEqual([]);
    expect(world.state.version).toBe(before);
    world.resume();
    expect(world.kinds().at(-1)).toBe('NotificationResumed');
    expect(world.retry('email').transitions.map(({ transition }) => transition.kind)).toEqual(['OperatorRetried', 'AttemptPlanned', 'AttemptQueued']);
  });
  it('a lost worker is rescued, and the grace ends', () => {
    const world = open();
    world.start('sms');
    world.pause();
    world.runTo(15_000);
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted_unknown', reason: 'worker_lost' });
    world.runTo(EXPIRY + 600_000);
    expect(world.state.settledAt).toBe(world.state.reconcileUntil);
  });
  it('it can be closed, and is then no longer paused', () => {
    const world = open();
    world.pause();
    world.close();
    expect(world.attempt('sms')).toMatchObject({ state: 'cancelled', reason: 'closed' });
    expect(world.state.paused).toBeNull();
  });
});

describe('resuming', () => {
  it('enqueues what waits at once, under a job id that no turned-away job still holds', () => {
    const world = open();
    world.pause();
    world.jumpTo(20_000);
    const { requests } = world.resume();
    expect(requests).toEqual([{ kind: 'enqueue', attempt: world.attempt('sms').key, channel: 'sms', generation: 2, notBeforeAt: START + 20_000 }]);
    world.start('sms');
    expect(world.attempt('sms').state).toBe('submitting');
  });
  it('claims in the same append where the deadline passed meanwhile', () => {
    const world = submitted();
    world.pause();
    world.runTo(58_000);
    world.poll('sms', reads('accepted'));
    world.jumpTo(60_000);
    const { transitions } = world.resume();
    expect(transitions.map(({ transition }) => transition.kind)).toEqual(['NotificationResumed', 'FallbackClaimed', 'AttemptPlanned', 'AttemptQueued']);
    expect(world.last('FallbackClaimed').rests_on).toMatchObject({ observed_at: START + 58_000, stale: false });
  });
  it('claims at once for what failed meanwhile, and cancels what was never submitted', () => {
    const world = open();
    world.pause();
    world.runTo(31_000);
    world.resume();
    expect(world.attempt('sms')).toMatchObject({ state: 'cancelled', reason: 'superseded' });
    expect(world.attempt('email').state).toBe('queued');
  });
  it('honours a Retry-After that is still ahead', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', deferred(20_000));
    world.pause();
    world.jumpTo(5_000);
    expect(world.resume().requests).toEqual([]);
    expect(nextDecideAt(world.state)).toBe(START + 20_000);
    world.runTo(20_000);
    expect(world.requests.at(-1)).toMatchObject({ kind: 'enqueue', generation: 3, notBeforeAt: START + 20_000 });
  });
  it('by one who must plan nothing leaves the rest to an alarm that is due at once', () => {
    const world = submitted();
    world.pause();
    world.runTo(60_000);
    const input = { now: world.now, random: () => 0.5, policy: examplePolicy(), carriers: CARRIERS, eligibility: () => null, render: () => { throw new Error('rendered'); } };
    const { transitions, state } = decide({ kind: 'resume', reason: 'done', leaveRest: true }, world.state, input);
    expect(transitions.map(({ transition }) => transition.kind)).toEqual(['NotificationResumed']);
    expect(nextDecideAt(state)).toBeLessThanOrEqual(world.now);
  });
});

describe('pause and resume are idempotent', () => {
  it('the first reason stands, and what is not paused is not resumed', () => {
    const world = open();
    expect(world.resume().transitions).toEqual([]);
    world.pause();
    world.jumpTo(1_000);
    expect(world.decide({ kind: 'pause', reason: 'other' }).transitions).toEqual([]);
    expect(world.state.paused).toEqual({ reason: 'maintenance', at: START });
    world.resume();
    expect(world.resume().transitions).toEqual([]);
  });
  it.each(['closed', 'settled', 'rejected'] as const)('a notification that is %s is not paused', (how) => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept(how === 'rejected' ? { region: 'FR' } : {});
    if (how === 'closed') world.close();
    if (how === 'settled') {
      world.start('sms');
      world.answer('sms', accepted());
      world.poll('sms', reads('delivered'));
    }
    expect(world.pause().transitions).toEqual([]);
  });
});

it('a pause is explained in words', () => {
  const world = open();
  world.start('sms');
  world.pause();
  world.answer('sms', lost);
  world.jumpTo(5_000);
  world.resume();
  const told = explain(world.state, world.entries.map(({ at, transition }) => ({ at, ...transition })), examplePolicy()).join('\n');
  expect(told).toContain('The notification was paused at 2026-01-05T12:00:00Z (maintenance): nothing is queued, claimed or started until it is resumed, while status reads and expiry go on. One call was in flight');
  expect(told).toContain('The notification was resumed at 2026-01-05T12:00:05Z (done), after a pause since 2026-01-05T12:00:00Z');
});
