import { describe, expect, it } from '@jest/globals';
import { retryRefusal } from '../../shared/domain/retry.ts';
import type { PolicyChange } from './policies.ts';
import { RECONCILING, examplePolicy } from './policies.ts';
import { accepted, deferred, found, lost, openWorld, reads, rejected, suppressed } from './world.ts';

const open = (change?: PolicyChange) => openWorld({ policy: examplePolicy(change) });
const isEnqueue = ({ kind }: { kind: string }): boolean => kind === 'enqueue';

describe('a step whose channel is barred when it would be planned', () => {
  it('is skipped with its reason at acceptance, and the next one starts at once', () => {
    const world = open();
    world.bar('sms');
    world.accept();
    expect(world.kinds()).toEqual(['NotificationAccepted', 'StepSkipped', 'AttemptPlanned', 'AttemptQueued']);
    expect(world.last('StepSkipped')).toEqual({ step: 0, channel: 'sms', reason: 'suppressed' });
    expect(world.attempt('email').state).toBe('queued');
  });
  it('is skipped where all steps start at once, and the others count as all there is', () => {
    const world = open({ policy: { strategy: 'all' }, email: { pollOffsetsMs: [5_000] } });
    world.bar('email', 'throttled');
    world.accept();
    expect(world.state.steps.map(({ phase, reason }) => [phase, reason])).toEqual([['started', null], ['skipped', 'throttled']]);
    world.start('sms');
    world.answer('sms', accepted());
    world.poll('sms', reads('delivered'));
    expect(world.status()).toBe('delivered');
  });
  it('leaves a notification of which every step is barred suppressed, and settled', () => {
    const world = open();
    world.bar('sms');
    world.bar('email', 'consent_withdrawn');
    world.accept();
    expect([world.status(), world.state.settledAt, world.state.attempts]).toEqual(['suppressed', world.now, []]);
  });
  it('is not claimed after a failure: it is skipped, and nothing more is tried', () => {
    const world = open();
    world.accept();
    world.start('sms');
    world.bar('email');
    world.answer('sms', rejected);
    expect(world.kinds().slice(-3)).toEqual(['AttemptRejected', 'StepSkipped', 'NotificationSettled']);
    expect(world.status()).toBe('undelivered');
  });
  it('is not claimed at a deadline: it is skipped, and the deadline passes without a look', () => {
    const world = open();
    world.accept();
    world.start('sms');
    world.answer('sms', accepted());
    world.bar('email');
    world.runTo(30_000);
    expect(world.kinds().slice(-2)).toEqual(['StepSkipped', 'DeadlinePassed']);
    expect(world.status()).toBe('sent');
  });
  it('is not skipped where it would not have been claimed', () => {
    const world = open({ sms: { escalateWhen: ['failed'] } });
    world.accept();
    world.start('sms');
    world.answer('sms', accepted());
    world.bar('email');
    world.runTo(30_000);
    expect(world.kinds()).not.toContain('StepSkipped');
  });
  it('keeps no reserve before expiry', () => {
    const free = open();
    free.accept({ expiresAt: free.now + 80_000 });
    const barred = open();
    barred.bar('email');
    barred.accept({ expiresAt: barred.now + 80_000 });
    expect([free, barred].map((world) => world.attempt('sms').decisionDeadlineAt - world.now)).toEqual([20_000, 30_000]);
  });
});

describe('what waits in the queue of a channel that is barred by then', () => {
  it('is not submitted: it ends as suppressed, and the next step is claimed in the same decision', () => {
    const world = open();
    world.accept();
    world.bar('sms');
    const { transitions, requests } = world.start('sms');
    expect(transitions.map(({ transition }) => transition.kind)).toEqual(['AttemptSuppressed', 'FallbackClaimed', 'AttemptPlanned', 'AttemptQueued']);
    expect(world.last('AttemptSuppressed')).toMatchObject({ source: 'eligibility', reason: 'suppressed' });
    expect(requests.filter(isEnqueue)).toMatchObject([{ channel: 'email' }]);
  });
  it.each([['a transport retry', 2_000], ['a requeue', 5_000]])('is not submitted by %s', (_, at) => {
    const world = open();
    world.accept();
    if (at === 2_000) {
      world.start('sms');
      world.answer('sms', deferred());
    }
    world.bar('sms');
    world.jumpTo(at);
    world.start('sms');
    expect(world.attempt('sms')).toMatchObject({ state: 'suppressed', reason: 'suppressed', submissions: at === 2_000 ? 1 : 0 });
    expect(world.attempt('email').state).toBe('queued');
  });
  it('claims the next step also under a policy that does not escalate on failures, as a skipped step would', () => {
    const world = open({ sms: { escalateWhen: ['pending'] } });
    world.accept();
    world.bar('sms', 'throttled');
    world.tick();
    expect(world.attempt('email').state).toBe('queued');
  });
  it('waits while paused, and ends at the resume', () => {
    const world = open();
    world.accept();
    world.pause();
    world.bar('sms');
    expect(world.start('sms').transitions).toEqual([]);
    world.resume();
    expect(world.attempt('sms').state).toBe('suppressed');
  });
  it('leaves the status suppressed where the other channel is barred too, since nothing was ever tried', () => {
    const world = open();
    world.accept();
    world.bar('sms');
    world.bar('email');
    world.tick();
    expect([world.status(), world.state.settledAt]).toEqual(['suppressed', world.now]);
  });
  it('is not enqueued again when its answer says that it was not processed', () => {
    const world = open();
    world.accept();
    world.start('sms');
    world.bar('sms');
    world.answer('sms', deferred());
    expect(world.kinds().slice(-5)).toEqual(['SubmissionDeferred', 'AttemptSuppressed', 'FallbackClaimed', 'AttemptPlanned', 'AttemptQueued']);
  });
});

describe('an attempt of which a submission may have been sent', () => {
  const unknown = () => {
    const world = openWorld({ policy: examplePolicy({ sms: { onUnknown: 'resubmit_if_absent' }, email: { onUnknown: 'replay' }, order: ['email', 'sms'] }), carriers: RECONCILING });
    world.accept();
    world.start('email');
    world.answer('email', lost);
    return world;
  };
  it('is not replayed once its channel is barred, and is held as unknown, never called failed', () => {
    const world = unknown();
    world.bar('email');
    world.jumpTo(5_000);
    world.tick();
    expect(world.last('ResubmissionWithdrawn')).toMatchObject({ reason: 'suppressed', hold: true });
    expect(world.kinds()).not.toContain('ResubmissionPlanned');
    expect(world.attempt('email')).toMatchObject({ state: 'submitted_unknown', held: true });
  });
  it('is taken back from its queue where it waited to be submitted again', () => {
    const world = unknown();
    world.jumpTo(5_000);
    world.tick();
    expect(world.attempt('email').state).toBe('queued');
    world.bar('email');
    world.start('email');
    expect(world.attempt('email')).toMatchObject({ state: 'submitted_unknown', held: true, submissions: 1 });
  });
  it('is looked for by an operator, since that sends nothing, but not replayed', () => {
    const world = unknown();
    world.bar('email');
    world.tick();
    expect(retryRefusal(world.state, world.attempt('email').key, world.now, { eligibility: () => 'suppressed' })).toBe('suppressed');
    expect(world.retry('email').transitions).toEqual([]);
  });
});

describe('an operator’s retry', () => {
  it('is refused as suppressed while the channel is barred, whatever is overridden, and goes on once it is not', () => {
    const world = open({ order: ['sms'] });
    world.accept();
    world.start('sms');
    world.answer('sms', rejected);
    world.bar('sms');
    expect(retryRefusal(world.state, world.attempt('sms').key, world.now, { evenIfDelivered: true, acceptDuplicate: true, eligibility: () => 'suppressed' })).toBe('suppressed');
    expect(world.retry('sms', { evenIfDelivered: true, acceptDuplicate: true }).transitions).toEqual([]);
    world.bar('sms', null);
    world.retry('sms');
    expect(world.attempt('sms')).toMatchObject({ sequence: 2, state: 'queued' });
  });
  it('that waits in its queue is not submitted once the channel is barred', () => {
    const world = open({ order: ['sms'] });
    world.accept();
    world.start('sms');
    world.answer('sms', rejected);
    world.retry('sms');
    world.bar('sms');
    world.start('sms');
    expect(world.attempt('sms')).toMatchObject({ sequence: 2, state: 'suppressed', submissions: 0 });
  });
});

describe('a provider that says that the recipient opted out', () => {
  const submitted = () => {
    const world = open();
    world.accept();
    world.start('sms');
    world.answer('sms', accepted());
    return world;
  };
  const suppress = { kind: 'suppress', channel: 'sms', reason: 'opted_out' };
  it('in its answer to a submission has the destination suppressed in the same decision', () => {
    const world = open();
    world.accept();
    world.start('sms');
    expect(world.answer('sms', suppressed).requests).toContainEqual(expect.objectContaining(suppress));
  });
  it('in a status after acceptance has it suppressed (fault 18)', () => {
    const world = submitted();
    expect(world.poll('sms', reads('suppressed')).requests).toContainEqual(expect.objectContaining(suppress));
    expect(world.attempt('sms')).toMatchObject({ state: 'suppressed', reason: 'opted_out' });
  });
  it('in a look-up has it suppressed', () => {
    const world = open();
    world.accept();
    world.start('sms');
    world.answer('sms', lost);
    expect(world.lookUp('sms', found('suppressed')).requests).toContainEqual(expect.objectContaining(suppress));
  });
  it('late, after a delivery, has it suppressed and changes nothing else', () => {
    const world = submitted();
    world.poll('sms', reads('delivered'));
    expect(world.poll('sms', reads('suppressed')).requests).toMatchObject([suppress]);
    expect(world.status()).toBe('delivered');
  });
  it('of a message that it delivered has it suppressed all the same', () => {
    const world = submitted();
    const { requests } = world.poll('sms', { kind: 'observed', outcome: 'delivered', reason: 'opted_out' });
    expect([world.attempt('sms').state, requests]).toEqual(['delivered', [expect.objectContaining(suppress)]]);
  });
  it('of another message in its listing has nothing suppressed', () => {
    const world = submitted();
    expect(world.lookUp('sms', found('suppressed', 'SM0009')).requests).toEqual([]);
  });
  it.each([['a rejection', 'rejected'], ['an undelivered message', 'undelivered']] as const)('is not read into %s', (_, outcome) => {
    expect(submitted().poll('sms', reads(outcome)).requests.filter(({ kind }) => kind === 'suppress')).toEqual([]);
  });
});
