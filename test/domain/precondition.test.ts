import { describe, expect, it } from '@jest/globals';
import type { PreconditionAnswer } from '../../shared/domain/precondition.ts';
import { examplePolicy } from './policies.ts';
import { START, accepted, openWorld, readFailed, reads, rejected } from './world.ts';
import type { World } from './world.ts';

const opened = (onPreconditionError: 'send' | 'hold' = 'send'): World => {
  const world = openWorld({ policy: examplePolicy() });
  world.accept({ onPreconditionError });
  return world;
};
const asked = (onError: 'send' | 'hold' = 'send'): World => {
  const world = opened(onError);
  world.start('sms');
  return world;
};
const reply = (world: World, answer: PreconditionAnswer) => world.decide({ kind: 'record_precondition', answer, askedUntil: world.state.precondition?.askedUntil ?? 0 });
/** The SMS was taken, and the answer that let it go is old by now. */
const submitted = (onError: 'send' | 'hold' = 'send'): World => {
  const world = asked(onError);
  reply(world, 'needed');
  world.start('sms');
  world.answer('sms', accepted());
  return world;
};

describe('a precondition before a submission', () => {
  it('is asked first, once, and the submission waits for the answer', () => {
    const world = asked();
    expect(world.last('PreconditionAsked')).toEqual({ wanted: 'submission', until: START + 5_000 });
    expect(world.start('sms').transitions).toEqual([]);
  });
  it('that is needed enqueues what was turned away, and stands for ten seconds', () => {
    const world = asked();
    reply(world, 'needed');
    expect(world.requests.at(-1)).toMatchObject({ kind: 'enqueue', generation: 2 });
    world.jumpTo(9_999);
    world.start('sms');
    expect(world.attempt('sms').state).toBe('submitting');
  });
  it('is asked again once its answer is ten seconds old', () => {
    const world = asked();
    reply(world, 'needed');
    world.jumpTo(10_000);
    world.start('sms');
    expect(world.kinds().filter((kind) => kind === 'PreconditionAsked')).toHaveLength(2);
    expect(world.attempt('sms').submissions).toBe(0);
  });
  it('that is not needed closes the notification, and nothing is sent', () => {
    const world = asked();
    reply(world, 'not_needed');
    expect(world.state.closed?.reason).toBe('precondition_not_needed');
    expect([world.attempt('sms').state, world.status()]).toEqual(['cancelled', 'closed']);
  });
  it('that brings an error is overridden under *send*', () => {
    const world = asked('send');
    reply(world, 'error');
    world.start('sms');
    expect(world.attempt('sms').state).toBe('submitting');
  });
  it('that brings an error holds under *hold*, and is asked again, ever later', () => {
    const world = asked('hold');
    reply(world, 'error');
    expect(world.start('sms').transitions).toEqual([]);
    expect(world.state.precondition?.validUntil).toBe(START + 10_000);
    world.runTo(10_000);
    world.start('sms');
    reply(world, 'error');
    expect(world.state.precondition?.validUntil).toBe(START + 30_000);
    world.runTo(900_000);
    expect(world.attempt('sms').submissions).toBe(0);
    expect(world.state.expired).toBe(true);
  });
  it('that nobody answers, since the process died, counts as an error after five seconds', () => {
    const world = asked('send');
    world.runTo(5_000);
    expect(world.last('PreconditionAnswered')).toMatchObject({ answer: 'error', lapsed: true });
    world.start('sms');
    expect(world.attempt('sms').state).toBe('submitting');
  });
  it('takes an answer that lay about too long for none, except for *not needed*, which does not grow old', () => {
    const late = asked('hold');
    late.jumpTo(5_000);
    reply(late, 'needed');
    expect(late.last('PreconditionAnswered')).toMatchObject({ answer: 'error', lapsed: true });
    const unneeded = asked('hold');
    unneeded.jumpTo(5_000);
    reply(unneeded, 'not_needed');
    expect(unneeded.state.closed?.reason).toBe('precondition_not_needed');
  });
  it('ignores an answer that comes after its time, or after a close', () => {
    const world = asked('send');
    const until = world.state.precondition?.askedUntil ?? 0;
    world.runTo(5_000);
    expect(world.decide({ kind: 'record_precondition', answer: 'not_needed', askedUntil: until }).transitions).toEqual([]);
    const closed = asked();
    closed.close();
    expect(reply(closed, 'needed').transitions).toEqual([]);
  });
});

describe('a precondition before a claim', () => {
  it('is asked at the deadline, and the answer claims at once', () => {
    const world = submitted();
    world.runTo(28_000);
    world.poll('sms', reads('pending'));
    world.runTo(30_000);
    expect(world.last('PreconditionAsked')).toMatchObject({ wanted: 'claim' });
    expect(world.kinds()).not.toContain('FallbackClaimed');
    reply(world, 'needed');
    expect(world.kinds()).toContain('FallbackClaimed');
  });
  it('is asked where the attempt failed, and a notification does not settle meanwhile', () => {
    const world = submitted();
    world.jumpTo(12_000);
    world.poll('sms', reads('undelivered'));
    expect([world.state.settledAt, world.state.precondition?.askedUntil]).toEqual([null, START + 17_000]);
    reply(world, 'not_needed');
    expect([world.status(), world.state.attempts.length]).toEqual(['closed', 1]);
  });
  it('that cannot be asked claims by the rule for errors, and no sooner for a failed read', () => {
    const world = submitted('hold');
    world.jumpTo(12_000);
    world.poll('sms', readFailed());
    expect(world.kinds().filter((kind) => kind === 'PreconditionAsked')).toHaveLength(1);
    world.runTo(899_000);
    expect(world.kinds()).not.toContain('FallbackClaimed');
    const sent = submitted('send');
    sent.runTo(60_000);
    expect(sent.kinds()).toContain('FallbackClaimed');
  });
  it('is not asked where no step is left', () => {
    const world = openWorld({ policy: examplePolicy({ order: ['sms'] }) });
    world.accept({ onPreconditionError: 'send' });
    world.start('sms');
    reply(world, 'needed');
    world.start('sms');
    world.answer('sms', rejected);
    expect(world.kinds().filter((kind) => kind === 'PreconditionAsked')).toHaveLength(1);
    expect(world.state.settledAt).not.toBeNull();
  });
});

describe('a policy that names the steps to ask before', () => {
  const onlyEmail = (precondition: 'send' | 'hold' = 'send'): World => {
    const world = openWorld({ policy: examplePolicy({ email: { precondition } }) });
    world.accept({ onPreconditionError: precondition });
    return world;
  };
  const asked = (world: World) => world.kinds().filter((kind) => kind === 'PreconditionAsked').length;

  it('submits the others without a question', () => {
    const world = onlyEmail();
    world.start('sms');
    expect([world.attempt('sms').state, asked(world)]).toEqual(['submitting', 0]);
  });
  it('asks before such a step is claimed, and submits it on that answer', () => {
    const world = onlyEmail();
    world.start('sms');
    world.answer('sms', rejected);
    expect(world.last('PreconditionAsked')).toMatchObject({ wanted: 'claim' });
    expect(world.state.attempts).toHaveLength(1);
    reply(world, 'needed');
    world.start('email');
    expect([world.attempt('email').state, asked(world)]).toEqual(['submitting', 1]);
  });
  it('says in its entry why an answer was an error', () => {
    const world = onlyEmail('hold');
    world.start('sms');
    world.answer('sms', rejected);
    world.decide({ kind: 'record_precondition', answer: 'error', askedUntil: world.state.precondition?.askedUntil ?? 0, fault: 'certificate' });
    expect(world.last('PreconditionAnswered')).toMatchObject({ answer: 'error', reason: 'certificate', lapsed: false });
    expect(world.state.attempts).toHaveLength(1);
  });
  it('lets the deadline pass where the attempt is submitted while the claim waits for its answer, and is not pending any more', () => {
    const world = openWorld({ policy: examplePolicy({ sms: { escalateWhen: ['pending'] }, email: { precondition: 'send' } }) });
    world.accept({ onPreconditionError: 'send' });
    world.runTo(30_000);
    expect(world.last('PreconditionAsked')).toMatchObject({ wanted: 'claim' });
    world.start('sms');
    expect([world.attempt('sms').state, world.last('DeadlinePassed').class]).toEqual(['submitting', 'unknown']);
    reply(world, 'needed');
    expect(world.state.attempts).toHaveLength(1);
  });
  it('decides at a deadline without delay where the next step asks nothing', () => {
    const world = openWorld({ policy: examplePolicy({ sms: { precondition: 'hold' } }) });
    world.accept({ onPreconditionError: 'hold' });
    world.start('sms');
    for (let errors = 0; errors < 3; errors += 1) {
      reply(world, 'error');
      world.jumpTo((world.state.precondition?.validUntil ?? 0) - START);
      world.start('sms');
    }
    // The SMS waits for an answer by then; the email asks for none.
    expect(world.state.attempts.map((attempt) => attempt.channel)).toEqual(['sms', 'email']);
    expect(world.attempt('email').plannedAt).toBe(world.attempt('sms').decisionDeadlineAt);
  });
});
