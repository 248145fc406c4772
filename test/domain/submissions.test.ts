import { describe, expect, it } from '@jest/globals';
import type { LookUpResult, SubmitResult } from '../../shared/domain/provider-answers.ts';
import { examplePolicy } from './policies.ts';
import { START, abandoned, accepted, deferred, found, lost, openWorld, rejected, suppressed } from './world.ts';
import type { World } from './world.ts';

const started = (policy = examplePolicy()): World => {
  const world = openWorld({ policy });
  world.accept();
  world.start('sms');
  return world;
};
const unknown = (): World => {
  const world = started();
  world.answer('sms', lost);
  return world;
};
const rescued = (): World => {
  const world = started();
  world.runTo(15_000);
  return world;
};
const count = (world: World, kind: string): number => world.kinds().filter((one) => one === kind).length;

describe('the transport clock', () => {
  it('waits at least as long as Retry-After asks, and the worker that comes early starts nothing', () => {
    const world = started();
    world.answer('sms', deferred(7_000));
    expect(world.attempt('sms')).toMatchObject({ state: 'queued', retryAt: START + 7_000, generation: 2 });
    expect(world.requests.at(-1)).toEqual({ kind: 'enqueue', attempt: world.attempt('sms').key, channel: 'sms', generation: 2, notBeforeAt: START + 7_000 });
    world.jumpTo(6_999);
    expect(world.start('sms').transitions).toEqual([]);
    world.jumpTo(7_000);
    world.start('sms');
    expect(world.attempt('sms')).toMatchObject({ state: 'submitting', submissions: 2 });
  });
  it('doubles its own waits, half of each jittered', () => {
    const world = started();
    world.answer('sms', deferred());
    expect(world.attempt('sms').retryAt).toBe(START + 750);
    world.jumpTo(750);
    world.start('sms');
    world.answer('sms', deferred());
    expect(world.attempt('sms').retryAt).toBe(START + 750 + 1_500);
  });
  it('never reaches beyond expiry, whatever the provider wishes', () => {
    const world = started();
    world.answer('sms', deferred(Number.MAX_SAFE_INTEGER));
    expect(world.attempt('sms').retryAt).toBe(world.state.expiresAt);
  });
  it('ends as a dead letter and a claim once the retries are used up', () => {
    const world = started();
    for (let submission = 1; submission <= 3; submission += 1) {
      if (submission > 1) world.start('sms');
      world.answer('sms', deferred(0));
      world.runTo(submission * 5_000);
    }
    expect(world.attempt('sms')).toMatchObject({ state: 'dead_lettered', reason: 'retries_exhausted', submissions: 3 });
    expect(world.requests).toContainEqual({ kind: 'dead_letter', attempt: world.attempt('sms').key, channel: 'sms', reason: 'retries_exhausted' });
    expect(world.attempt('email').state).toBe('queued');
  });
  it('queues an abandoned call again at once', () => {
    const world = started();
    world.answer('sms', abandoned);
    expect(world.attempt('sms')).toMatchObject({ state: 'queued', reason: 'start_too_late', retryAt: START + 1 });
  });
});

describe('a lost job', () => {
  it('is enqueued again ever further apart: first under the same generation, then under a new one each time, so that a dead worker\'s job is not in the way', () => {
    const world = openWorld({ policy: examplePolicy({ sms: { decideWithinMs: 600_000 } }) });
    world.accept();
    const at: number[] = [];
    while (at.length < 6) {
      at.push(((world.attempt('sms').requeueAt as number) - START) / 1_000);
      world.runTo((world.attempt('sms').requeueAt as number) - START);
    }
    expect(at).toEqual([5, 15, 35, 75, 135, 195]);
    expect(world.requests.map((request) => request.kind === 'enqueue' && request.generation)).toEqual([1, 1, 2, 3, 4, 5, 6]);
    expect(world.attempt('sms').generation).toBe(6);
  });
  it('that comes twice starts one submission', () => {
    const world = started();
    expect(world.start('sms').transitions).toEqual([]);
    world.answer('sms', accepted());
    expect(world.start('sms').transitions).toEqual([]);
    expect(count(world, 'SubmissionStarted')).toBe(1);
  });
});

describe('an unknown outcome', () => {
  it('stays live, is looked up on the delivery clock and never submitted again', () => {
    const world = unknown();
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted_unknown', reason: 'lost_response', nextPollAt: START + 5_000, settledAt: null });
    expect(world.start('sms').transitions).toEqual([]);
    world.runTo(25 * 60_000);
    expect(world.kinds().filter((kind) => kind === 'SubmissionStarted')).toHaveLength(1);
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted_unknown', reason: 'lost_response' });
  });
  it('is adopted on exactly one match', () => {
    const world = unknown();
    world.runTo(5_000);
    world.lookUp('sms', found('accepted', 'SM0007'));
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted', providerMessageId: 'SM0007', submittedAt: START, reason: 'adopted', nextPollAt: START + 10_000 });
  });
  it('is adopted and ended by one look that finds a delivery', () => {
    const world = unknown();
    world.runTo(5_000);
    world.lookUp('sms', found('delivered'));
    expect(world.kinds().slice(-3)).toEqual(['AttemptAdopted', 'AttemptDelivered', 'NotificationSettled']);
  });
  it.each<[string, LookUpResult]>([['several matches', { kind: 'several', matches: 2 }], ['no match', { kind: 'none' }]])('stays unknown on %s', (_, result) => {
    const world = unknown();
    world.runTo(5_000);
    world.lookUp('sms', result);
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted_unknown', nextPollAt: START + 10_000 });
    expect(count(world, 'FallbackClaimed')).toBe(0);
  });
  it('of a provider that cannot be asked is not polled, and is `unknown` once its deadline passed', () => {
    const world = openWorld({ policy: examplePolicy({ order: ['email'] }) });
    world.accept();
    world.start('email');
    world.answer('email', lost);
    expect(world.attempt('email').nextPollAt).toBeNull();
    expect(world.status()).toBe('in_progress');
    world.runTo(600_000);
    expect(world.status()).toBe('unknown');
    world.runTo(25 * 60_000);
    expect(world.state.settledAt).toBe(world.state.reconcileUntil);
    expect(world.status()).toBe('unknown');
  });
});

describe('a lost worker', () => {
  it('leaves an unknown outcome once its limit is over', () => {
    const world = started();
    world.runTo(14_999);
    expect(world.attempt('sms').state).toBe('submitting');
    world.runTo(15_000);
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted_unknown', reason: 'worker_lost', nextPollAt: START + 20_000 });
  });
  it.each<[string, SubmitResult, string]>([
    ['accepted', accepted(), 'submitted'], ['rejected', rejected, 'rejected'], ['suppressed', suppressed, 'suppressed'], ['deferred', deferred(), 'queued'],
  ])('whose answer comes after all is taken at its word: %s', (_, result, state) => {
    const world = rescued();
    world.answer('sms', result);
    expect(world.attempt('sms').state).toBe(state);
  });
  it('whose answer *deferred* comes after the claim is cancelled, not tried again', () => {
    const world = rescued();
    world.runTo(33_000);
    world.answer('sms', deferred());
    expect(world.attempt('sms')).toMatchObject({ state: 'cancelled', reason: 'superseded' });
    expect(world.start('sms').transitions).toEqual([]);
  });
});
