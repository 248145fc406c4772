import { describe, expect, it } from '@jest/globals';
import { examplePolicy } from './policies.ts';
import { START, accepted, openWorld, reads, rejected } from './world.ts';
import type { World, WorldOptions } from './world.ts';

const open = (over: Partial<WorldOptions> = {}): World => openWorld({ policy: examplePolicy(), takes: () => true, ...over });

describe('where a worker is at hand', () => {
  it('the acceptance starts the first submission itself, and enqueues nothing', () => {
    const world = open();
    const { requests } = world.accept();
    expect(world.kinds().slice(-3)).toEqual(['AttemptPlanned', 'AttemptQueued', 'SubmissionStarted']);
    expect(world.attempt('sms')).toMatchObject({ state: 'submitting', submissions: 1, submissionStartedAt: START });
    // What it rests on is compared by the append; nothing else is asked for.
    expect(requests).toEqual([{ kind: 'provider', provider: world.attempt('sms').provider, expected: 0, write: null }]);
  });
  it('a claim starts the next channel, after a failure and at the deadline', () => {
    const failed = open();
    failed.accept();
    failed.answer('sms', rejected);
    expect(failed.kinds().slice(-4)).toEqual(['FallbackClaimed', 'AttemptPlanned', 'AttemptQueued', 'SubmissionStarted']);
    const late = open();
    late.accept();
    late.answer('sms', accepted());
    late.runTo(30_000);
    late.poll('sms', reads('accepted'));
    late.runTo(120_000);
    const kinds = late.kinds();
    expect(kinds.slice(kinds.indexOf('FallbackClaimed')).slice(0, 4)).toEqual(['FallbackClaimed', 'AttemptPlanned', 'AttemptQueued', 'SubmissionStarted']);
  });
  it('a start whose process died is found by the rescue like any other', () => {
    const world = open();
    world.accept();
    world.runTo(60_000);
    expect(world.last('SubmissionOutcomeUnknown')).toMatchObject({ submission: 1, reason: 'worker_lost' });
  });
});

describe('the usual way is gone', () => {
  const isQueued = (world: World): void => {
    expect(world.attempt('sms')).toMatchObject({ state: 'queued', submissions: 0 });
    expect(world.requests).toContainEqual(expect.objectContaining({ kind: 'enqueue', channel: 'sms', generation: 1 }));
  };
  it('where no worker is at hand for that channel', () => {
    const world = open({ takes: (channel) => channel === 'email' });
    world.accept();
    isQueued(world);
  });
  it('by what was queued before, also in the same millisecond of a resume', () => {
    let hands = false;
    const world = open({ takes: () => hands });
    world.accept();
    hands = true;
    world.pause();
    world.jumpTo(1_000);
    world.resume();
    expect(world.attempt('sms')).toMatchObject({ state: 'queued', submissions: 0 });
  });
  it('where the origin system is asked first, where a throttle counts, and in shadow', () => {
    const asked = open();
    asked.accept({ onPreconditionError: 'send' });
    expect(asked.kinds()).not.toContain('SubmissionStarted');
    const [first, ...others] = examplePolicy().steps;
    const throttled = open({ policy: { ...examplePolicy(), steps: [{ ...(first as NonNullable<typeof first>), throttle: { most: 3, withinMs: 60_000 } }, ...others] } });
    throttled.accept();
    isQueued(throttled);
    const shadow = open({ policy: { ...examplePolicy(), steps: [{ ...(first as NonNullable<typeof first>), shadow: true }, ...others] } });
    shadow.accept();
    expect(shadow.attempt('sms')).toMatchObject({ state: 'queued', submissions: 0, shadow: true });
  });
  it('while the provider refuses us: a probe is its worker\'s', () => {
    const world = open();
    world.setProvider('sms', { state: 'open', revision: 3, probeAt: START + 10_000 });
    world.accept();
    expect(world.attempt('sms')).toMatchObject({ state: 'cancelled', submissions: 0 });
    // The next channel's provider has refused nobody.
    expect(world.attempt('email').state).toBe('submitting');
  });
});
