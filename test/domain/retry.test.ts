import { describe, expect, it } from '@jest/globals';
import type { Channel } from '../../shared/domain/words.ts';
import { explain } from '../../shared/domain/explain.ts';
import { retryRefusal } from '../../shared/domain/retry.ts';
import type { RetryOverrides } from '../../shared/domain/retry.ts';
import { RECONCILING, examplePolicy } from './policies.ts';
import { EVENT, START, accepted, bounced, lost, openWorld, reads, rejected, unavailable } from './world.ts';
import type { World } from './world.ts';

const single = (change: Parameters<typeof examplePolicy>[0] = {}): World => {
  const world = openWorld({ policy: examplePolicy({ order: ['sms'], ...change }) });
  world.accept();
  world.start('sms');
  return world;
};
const escalated = (): World => {
  const world = openWorld({ policy: examplePolicy() });
  world.accept();
  world.start('sms');
  world.answer('sms', rejected);
  return world;
};
const refusal = (world: World, channel: Channel, overrides: RetryOverrides = {}) => retryRefusal(world.state, world.attempt(channel).key, world.now, overrides);

describe('an operator retries', () => {
  it('a definite failure as sequence n+1, which opens the settled notification again', () => {
    const world = single();
    world.answer('sms', unavailable);
    expect(world.state.settledAt).toBe(START);
    world.jumpTo(60_000);
    const { transitions, requests } = world.retry('sms');
    expect(transitions.map(({ transition }) => transition.kind)).toEqual(['OperatorRetried', 'AttemptPlanned', 'AttemptQueued']);
    expect(world.last('OperatorRetried')).toEqual({ attempt: `${EVENT}.sms.1`, means: 'new_attempt', reason: 'looked_at', even_if_delivered: false, accept_duplicate: false });
    expect(requests.filter((one) => one.kind !== 'provider')).toEqual([
      { kind: 'enqueue', attempt: `${EVENT}.sms.2`, channel: 'sms', generation: 1, notBeforeAt: START + 60_000 },
      { kind: 'resolve_dead_letter', attempt: `${EVENT}.sms.1`, resolution: 'retried' },
    ]);
    expect(world.attempt('sms')).toMatchObject({ sequence: 2, origin: 'operator', step: 0, state: 'queued' });
    expect(world.status()).toBe('accepted');
    world.start('sms');
    world.answer('sms', accepted());
    world.poll('sms', reads('delivered'));
    expect(world.status()).toBe('delivered');
    expect(world.kinds().at(-1)).toBe('NotificationSettled');
  });
  it('an unknown attempt by replay under its own key, also where the policy holds it', () => {
    const world = openWorld({ policy: examplePolicy({ order: ['email'] }), carriers: RECONCILING });
    world.accept();
    world.start('email');
    world.answer('email', lost);
    world.retry('email');
    expect(world.last('OperatorRetried').means).toBe('replay');
    world.start('email');
    expect(world.attempt('email')).toMatchObject({ sequence: 1, submissions: 2, state: 'submitting' });
  });
  it('an unknown attempt by a look-up at once where its provider can only be searched', () => {
    const world = single();
    world.answer('sms', lost);
    world.jumpTo(1_000);
    const { requests } = world.retry('sms');
    expect(world.last('OperatorRetried').means).toBe('look_up');
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted_unknown', submissions: 1, nextPollAt: START + 1_000 });
    expect(requests).toEqual([{ kind: 'resolve_dead_letter', attempt: `${EVENT}.sms.1`, resolution: 'retried' }]);
  });
  it('and neither its failure nor its deadline claims a channel', () => {
    const world = escalated();
    world.start('email');
    world.answer('email', rejected);
    world.retry('sms');
    world.start('sms');
    world.answer('sms', rejected);
    expect(world.kinds().filter((kind) => kind === 'FallbackClaimed')).toHaveLength(1);
    expect(world.status()).toBe('undelivered');
    world.retry('sms');
    world.start('sms');
    world.answer('sms', accepted());
    world.runTo(120_000);
    expect(world.kinds().filter((kind) => kind === 'FallbackClaimed')).toHaveLength(1);
  });
  it('what a later bounce corrected', () => {
    const world = single();
    world.answer('sms', accepted());
    world.poll('sms', reads('delivered'));
    world.poll('sms', bounced);
    world.retry('sms');
    expect(world.attempt('sms').sequence).toBe(2);
  });
});

describe('a retry is refused', () => {
  const failed = (): World => {
    const world = single();
    world.answer('sms', rejected);
    return world;
  };
  it.each<[string, () => World, string]>([
    ['when closed', () => { const world = single(); world.close(); world.answer('sms', rejected); return world; }, 'closed'],
    ['after expiry', () => { const world = failed(); world.jumpTo(15 * 60_000); return world; }, 'expired'],
    ['while paused', () => { const world = single({ order: ['sms', 'email'] }); world.pause(); world.answer('sms', rejected); return world; }, 'paused'],
    ['while it is still live', () => single(), 'still_live'],
    ['when it was submitted and never confirmed', () => { const world = single(); world.answer('sms', accepted()); return world; }, 'still_live'],
  ])('%s', (_, make, expected) => {
    const world = make();
    expect(refusal(world, 'sms')).toBe(expected);
    expect(world.retry('sms').transitions.map(({ transition }) => transition.kind)).not.toContain('OperatorRetried');
  });
  it('when another channel was delivered in its place, unless that is overridden and recorded', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept();
    world.start('sms');
    world.answer('sms', accepted());
    world.jumpTo(29_000);
    world.poll('sms', reads('pending'));
    world.runTo(30_000);
    world.start('email');
    world.poll('sms', reads('delivered'));
    world.answer('email', rejected);
    expect(refusal(world, 'email')).toBe('delivered');
    expect(world.retry('email').transitions).toEqual([]);
    world.retry('email', { evenIfDelivered: true });
    expect(world.last('OperatorRetried').even_if_delivered).toBe(true);
    expect(world.attempt('email').sequence).toBe(2);
  });
  it('only by its own channel where the policy uses all of them: neither replaces the other', () => {
    const world = openWorld({ policy: examplePolicy({ policy: { strategy: 'all' } }) });
    world.accept();
    for (const channel of ['sms', 'email'] as const) world.start(channel);
    world.answer('sms', accepted());
    world.poll('sms', reads('delivered'));
    world.answer('email', rejected);
    expect([refusal(world, 'sms'), refusal(world, 'email')]).toEqual(['delivered', null]);
    world.retry('email');
    expect([world.last('OperatorRetried').even_if_delivered, world.attempt('email').sequence]).toEqual([false, 2]);
  });
  it('when superseded by a channel that may have reached the recipient, unless a duplicate is accepted and recorded', () => {
    const world = escalated();
    expect(refusal(world, 'sms')).toBe('superseded');
    world.start('email');
    world.answer('email', accepted('q-1'));
    expect(world.retry('sms').transitions).toEqual([]);
    world.retry('sms', { acceptDuplicate: true });
    expect(world.last('OperatorRetried').accept_duplicate).toBe(true);
    expect(world.attempt('sms')).toMatchObject({ sequence: 2, superseded: false, state: 'queued' });
  });
  it('when its successor exists, or it is not there', () => {
    const world = failed();
    world.retry('sms');
    expect(retryRefusal(world.state, `${EVENT}.sms.1`, world.now, {})).toBe('not_newest');
    expect(retryRefusal(world.state, `${EVENT}.email.1`, world.now, {})).toBe('no_such_attempt');
  });
  it('when it is unknown and its provider can neither be asked nor drop a duplicate, whatever is overridden', () => {
    const world = openWorld({ policy: examplePolicy({ order: ['email'] }) });
    world.accept();
    world.start('email');
    world.answer('email', lost);
    expect(refusal(world, 'email')).toBe('not_resolvable');
    expect(world.retry('email', { acceptDuplicate: true, evenIfDelivered: true }).transitions).toEqual([]);
  });
});

describe('a delivery is corrected', () => {
  const taken = (order: Channel[]): World => {
    const world = openWorld({ policy: examplePolicy({ order, email: { pollOffsetsMs: [5_000] } }), carriers: RECONCILING });
    world.accept();
    world.start('sms');
    world.answer('sms', accepted());
    return world;
  };
  it('only by an explicit later bounce, as an entry that starts nothing', () => {
    const world = taken(['sms', 'email']);
    world.poll('sms', reads('delivered'));
    world.poll('sms', reads('undelivered'));
    expect(world.status()).toBe('delivered');
    const { transitions, requests } = world.poll('sms', bounced);
    expect(transitions.map(({ transition }) => transition.kind)).toEqual(['DeliveryCorrected']);
    expect(requests).toEqual([]);
    expect(world.attempt('sms')).toMatchObject({ state: 'undelivered', reason: 'carrier_failed' });
    expect(world.status()).toBe('undelivered');
    world.poll('sms', reads('delivered'));
    world.poll('sms', bounced);
    expect(world.kinds().slice(-2)).toEqual(['StatusObserved', 'StatusObserved']);
    expect(world.status()).toBe('undelivered');
  });
  it('without claiming a step that still waits, while another channel is open', () => {
    const world = taken(['sms', 'email', 'sms']);
    world.runTo(33_000);
    world.start('email');
    world.answer('email', accepted('m-1'));
    world.poll('email', reads('delivered'));
    expect([world.state.settledAt, world.state.steps.at(-1)?.phase]).toEqual([null, 'waiting']);
    world.poll('email', bounced);
    world.runTo(800_000);
    expect(world.kinds().filter((kind) => kind === 'FallbackClaimed')).toHaveLength(1);
    expect(world.status()).toBe('sent');
  });
});

it('a retry and a correction are told in words', () => {
  const world = single();
  world.answer('sms', accepted());
  world.poll('sms', reads('delivered'));
  world.poll('sms', bounced);
  world.jumpTo(5_000);
  world.retry('sms', { acceptDuplicate: true });
  const told = explain(world.state, world.entries.map(({ at, transition }) => ({ at, ...transition })), examplePolicy({ order: ['sms'] })).join('\n');
  expect(told).toContain('At 2026-01-05T12:00:00Z a later bounce corrected SMS from *delivered* to *undelivered* (carrier_failed; the provider said so); nothing else was started for that.');
  expect(told).toContain('An operator retried SMS at 2026-01-05T12:00:05Z (looked_at), as a new attempt with a key of its own; accepting a duplicate.');
  expect(told).toContain('SMS (attempt 2) was planned at 2026-01-05T12:00:05Z by an operator');
});
