import { describe, expect, it } from '@jest/globals';
import { decide } from '../../shared/domain/decide.ts';
import { nextDecideAt } from '../../shared/domain/lifecycle.ts';
import { emptyState } from '../../shared/domain/state.ts';
import { CARRIERS, examplePolicy } from './policies.ts';
import { EVENT, START, abandoned, accepted, deferred, lost, openWorld, reads, rejected, unavailable } from './world.ts';
import type { World } from './world.ts';

const EXPIRY = 15 * 60_000;
const open = (change: Parameters<typeof examplePolicy>[0] = {}): World => {
  const world = openWorld({ policy: examplePolicy(change) });
  world.accept();
  return world;
};

describe('accepting', () => {
  it('plans and queues the first step in one append, bound to its policy version', () => {
    const world = open();
    expect(world.kinds()).toEqual(['NotificationAccepted', 'AttemptPlanned', 'AttemptQueued']);
    expect(world.state).toMatchObject({ policyVersion: 1, expiresAt: START + EXPIRY, reconcileUntil: START + EXPIRY + 600_000 });
    expect(world.requests).toEqual([{ kind: 'enqueue', attempt: `${EVENT}.sms.1`, channel: 'sms', generation: 1, notBeforeAt: START }]);
  });
  it('twice is accepting once', () => {
    const world = open();
    expect(world.accept().transitions).toEqual([]);
  });
  it('refuses a region that the policy does not cover, and sends nothing', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept({ region: 'FR' });
    expect(world.status()).toBe('policy_rejected');
    expect(world.requests).toEqual([]);
    expect(nextDecideAt(world.state)).toBeNull();
    expect([...world.tick().transitions, ...world.close().transitions]).toEqual([]);
  });
  it('skips a barred channel with its reason and starts the next one', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept({ barred: { sms: 'throttled' } });
    expect(world.last('StepSkipped')).toEqual({ step: 0, channel: 'sms', reason: 'throttled' });
    expect(world.attempt('email').state).toBe('queued');
    expect(world.kinds()).not.toContain('FallbackClaimed');
  });
  it('is `suppressed` and settled where every channel is barred', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept({ barred: { sms: 'no_consent', email: 'no_address' } });
    expect(world.status()).toBe('suppressed');
    expect(world.state.settledAt).toBe(START);
  });
  it('comes first: nothing follows from an empty ledger', () => {
    const input = { now: START, random: () => 0, policy: examplePolicy(), carriers: CARRIERS, eligibility: () => null, render: () => ({ ok: true as const, hash: '' }) };
    expect(decide({ kind: 'tick' }, emptyState(EVENT), input).transitions).toEqual([]);
    expect(decide({ kind: 'close', reason: 'taken' }, emptyState(EVENT), input).transitions).toEqual([]);
  });
  it('does not turn for ever where a policy waits no time before it enqueues again', () => {
    const world = open({ sms: { requeueAfterMs: 0 } });
    expect(nextDecideAt(world.state)).toBe(START + 1);
  });
});

describe('expiry', () => {
  const single = { order: ['sms' as const], sms: { decideWithinMs: EXPIRY } };
  it('ends what was never submitted, and cuts what waits', () => {
    const world = open(single);
    world.runTo(EXPIRY);
    expect(world.attempt('sms')).toMatchObject({ state: 'expired', reason: 'expired', settledAt: START + EXPIRY });
    expect(world.status()).toBe('expired');
  });
  it('is not moved by a retry, and the retry does not start at its instant', () => {
    const world = open(single);
    world.jumpTo(EXPIRY - 1_000);
    world.start('sms');
    world.answer('sms', deferred(60_000));
    expect(world.state.expiresAt).toBe(START + EXPIRY);
    world.jumpTo(EXPIRY);
    expect(world.start('sms').transitions.map(({ transition }) => transition.kind)).toEqual(['NotificationExpired', 'AttemptExpired', 'NotificationSettled']);
  });
  it.each([['deferred', deferred()], ['abandoned', abandoned]] as const)('ends a call that was under way and was %s', (_, result) => {
    const world = open(single);
    world.jumpTo(EXPIRY - 1);
    world.start('sms');
    world.jumpTo(EXPIRY + 1_000);
    world.answer('sms', result);
    expect(world.attempt('sms').state).toBe('expired');
  });
  it('lets polls go on until the grace ends, so that a late delivery still counts', () => {
    const world = open({ ...single, sms: {} });
    world.start('sms');
    world.answer('sms', accepted());
    world.runTo(EXPIRY + 300_000);
    expect(world.state.settledAt).toBeNull();
    world.poll('sms', reads('delivered'));
    expect(world.status()).toBe('delivered');
  });
  it('claims no next step, also when nobody had looked since the deadline', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', accepted());
    world.jumpTo(EXPIRY);
    world.tick();
    expect(world.kinds()).not.toContain('FallbackClaimed');
    expect(world.state.steps[1]).toMatchObject({ phase: 'dropped', reason: 'expired' });
    expect(world.status()).toBe('sent');
  });
});

describe('close', () => {
  it('cancels what was not submitted, and nothing starts after it', () => {
    const world = open();
    world.close();
    expect(world.last('NotificationClosed').in_flight).toBe(false);
    expect(world.attempt('sms')).toMatchObject({ state: 'cancelled', reason: 'closed' });
    expect(world.start('sms').transitions).toEqual([]);
    expect(world.status()).toBe('closed');
    expect(world.state.settledAt).toBe(START);
  });
  it.each([['deferred', deferred(), 'cancelled'], ['rejected', rejected, 'rejected'], ['lost', lost, 'submitted_unknown'], ['refused by account', unavailable, 'cancelled']] as const)(
    'names a call in flight as such, and starts nothing when it is %s', (_, result, state) => {
      const world = open();
      world.start('sms');
      world.close();
      expect(world.last('NotificationClosed').in_flight).toBe(true);
      expect(world.state.settledAt).toBeNull();
      world.answer('sms', result);
      expect(world.attempt('sms').state).toBe(state);
      world.runTo(25 * 60_000);
      expect(world.kinds()).not.toContain('FallbackClaimed');
      expect(world.state.settledAt).not.toBeNull();
    });
  it('after a submission keeps observing it and claims nothing at its deadline', () => {
    const world = open();
    world.start('sms');
    world.answer('sms', accepted());
    world.close();
    expect(world.attempt('sms').nextPollAt).toBe(START + 5_000);
    world.runTo(60_000);
    expect(world.state.attempts).toHaveLength(1);
    world.poll('sms', reads('delivered'));
    expect(world.status()).toBe('delivered');
  });
  it('is idempotent', () => {
    const world = open();
    world.close();
    expect(world.close().transitions).toEqual([]);
  });
});

describe('the strategy `all`', () => {
  it('starts every channel at once and claims nothing', () => {
    const world = open({ policy: { strategy: 'all' } });
    expect(world.state.attempts.map(({ channel, state }) => [channel, state])).toEqual([['sms', 'queued'], ['email', 'queued']]);
    world.start('sms');
    world.answer('sms', rejected);
    world.runTo(EXPIRY);
    expect(world.kinds()).not.toContain('FallbackClaimed');
  });
  it('is `partially_delivered` where one channel is confirmed', () => {
    const world = open({ policy: { strategy: 'all' } });
    for (const channel of ['sms', 'email'] as const) {
      world.start(channel);
      world.answer(channel, accepted());
    }
    world.poll('sms', reads('delivered'));
    expect(world.status()).toBe('partially_delivered');
  });
  it('is `delivered` where the one channel that was not barred is confirmed', () => {
    const world = openWorld({ policy: examplePolicy({ policy: { strategy: 'all' } }) });
    world.accept({ barred: { email: 'no_consent' } });
    world.start('sms');
    world.answer('sms', accepted());
    world.poll('sms', reads('delivered'));
    expect(world.status()).toBe('delivered');
  });
});
