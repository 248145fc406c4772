import { describe, expect, it } from '@jest/globals';
import { explain } from '../../shared/domain/explain.ts';
import { shortestExpiryMs } from '../../shared/domain/lifecycle.ts';
import { retryRefusal } from '../../shared/domain/retry.ts';
import type { Channel } from '../../shared/domain/words.ts';
import type { PolicyChange } from './policies.ts';
import { examplePolicy } from './policies.ts';
import type { World, WorldOptions } from './world.ts';
import { accepted, openWorld, reads, rejected, unavailable } from './world.ts';

const SHADOW = { shadow: true } as const;
const shadowed = (change: PolicyChange, options: Omit<WorldOptions, 'policy'> = {}): World => openWorld({ policy: examplePolicy(change), ...options });
const failing = (failed: Channel) => ({ render: (channel: Channel) => (channel === failed ? { ok: false as const, reason: 'render_error' as const } : { ok: true as const, hash: 'b1946ac9' }) });
const letters = (world: World): number => world.requests.filter(({ kind }) => kind === 'dead_letter').length;

describe('a first step in shadow', () => {
  it('is planned, rendered and queued beside the real one, which goes at once', () => {
    const world = shadowed({ sms: SHADOW });
    world.accept();
    expect(world.attempt('sms')).toMatchObject({ state: 'queued', shadow: true, renderHash: 'b1946ac9' });
    expect(world.attempt('email')).toMatchObject({ state: 'queued' });
    expect(world.requests.filter(({ kind }) => kind === 'enqueue')).toHaveLength(2);
    expect(world.kinds()).not.toContain('FallbackClaimed');
  });
  it('ends shadowed where its provider would have been called: no submission, no poll', () => {
    const world = shadowed({ sms: SHADOW });
    world.accept();
    expect(world.start('sms').transitions.map(({ transition }) => transition.kind)).toEqual(['AttemptShadowed']);
    expect(world.attempt('sms')).toMatchObject({ state: 'shadowed', reason: null, submissions: 0, submittedAt: null, nextPollAt: null, providerMessageId: null });
    expect(world.start('sms').transitions).toEqual([]);
  });
  it('leaves the public status to the real step', () => {
    const world = shadowed({ sms: SHADOW });
    world.accept();
    world.start('sms');
    expect(world.status()).toBe('accepted');
    world.start('email');
    world.answer('email', accepted());
    expect([world.status(), world.state.settledAt]).toEqual(['sent', world.now]);
  });
  it('asks for none of the time that is kept for steps', () => {
    expect(shortestExpiryMs(examplePolicy({ sms: SHADOW }))).toBe(1_000);
    expect(shortestExpiryMs(examplePolicy())).toBe(61_000);
  });
});

describe('a fallback in shadow', () => {
  it('is never claimed, whatever becomes of the real step, and takes nothing from it', () => {
    const world = shadowed({ email: SHADOW });
    world.accept();
    world.start('email');
    world.runTo(45_000);
    // Still in its queue at the deadline: a real fallback would have cancelled it.
    expect(world.attempt('sms')).toMatchObject({ state: 'queued', superseded: false, deadlinePassed: true });
    world.start('sms');
    world.answer('sms', rejected);
    expect(world.kinds()).not.toContain('FallbackClaimed');
    expect([world.status(), world.state.settledAt]).toEqual(['undelivered', world.now]);
  });
  it('does not keep the deadline of the real step short', () => {
    const world = shadowed({ email: SHADOW, sms: { decideWithinMs: 870_000 } });
    world.accept();
    expect(world.last('AttemptPlanned')).toMatchObject({ channel: 'sms', decision_deadline_at: world.now + 870_000 });
  });
  it('does not count among the channels of a policy that uses all', () => {
    const world = shadowed({ policy: { strategy: 'all' }, email: SHADOW });
    world.accept();
    world.start('email');
    world.start('sms');
    world.answer('sms', accepted());
    world.poll('sms', reads('delivered'));
    expect(world.status()).toBe('delivered');
  });
  it('outlives the deadline of the real step', () => {
    const world = shadowed({ email: SHADOW });
    world.accept();
    world.runTo(31_000);
    expect(world.attempt('email')).toMatchObject({ state: 'queued', superseded: false });
    world.start('email');
    expect(world.attempt('email').state).toBe('shadowed');
  });
});

describe('a policy that runs in shadow as a whole', () => {
  const all = { sms: SHADOW, email: SHADOW };
  it('settles as shadowed once each step has ended', () => {
    const world = shadowed(all);
    world.accept({ payloadParts: ['secrets', 'variables', 'addresses'] });
    world.start('sms');
    expect([world.status(), world.state.settledAt]).toEqual(['accepted', null]);
    world.start('email');
    expect([world.status(), world.state.settledAt]).toEqual(['shadowed', world.now]);
    expect(world.last('NotificationSettled')).toEqual({ status: 'shadowed' });
    // Nothing can be submitted any more, so secrets go at once.
    expect(world.last('PayloadDestroyed')).toEqual({ parts: ['secrets'] });
  });
  it('is suppressed where each channel is barred, closed where it was closed, expired where no worker came', () => {
    const barred = shadowed(all);
    barred.accept({ barred: { sms: 'no_address', email: 'no_consent' } });
    const closed = shadowed(all);
    closed.accept();
    closed.close();
    const expired = shadowed(all);
    expired.accept();
    expired.runTo(900_000);
    expect([barred, closed, expired].map((world) => [world.status(), world.state.settledAt !== null])).toEqual([['suppressed', true], ['closed', true], ['expired', true]]);
  });
});

describe('what goes wrong in shadow', () => {
  it.each(['sms', 'email'] as const)('a message of %s that cannot be rendered is told, and is no dead letter', (channel) => {
    const world = shadowed({ [channel]: SHADOW }, failing(channel));
    world.accept();
    expect(world.attempt(channel)).toMatchObject({ state: 'render_failed', reason: 'render_error', shadow: true });
    expect(letters(world)).toBe(0);
    expect(world.kinds()).not.toContain('FallbackClaimed');
  });
  it('a message that renders otherwise by now ends it with that reason, and is no dead letter', () => {
    const world = shadowed({ sms: SHADOW });
    world.accept();
    world.decide({ kind: 'refuse_to_submit', attempt: world.attempt('sms').key, reason: 'render_drift' });
    expect(world.attempt('sms')).toMatchObject({ state: 'shadowed', reason: 'render_drift' });
    expect(letters(world)).toBe(0);
  });
  it('a provider that refuses our account does not hold it, nor is it the probe', () => {
    const world = shadowed({ sms: SHADOW });
    world.setProvider('sms', { state: 'open', reason: 'provider_auth', openedAt: world.now, failures: 1, probeAt: world.now });
    world.accept();
    expect(world.attempt('sms').providerWaitAt).toBeNull();
    world.start('sms');
    expect([world.attempt('sms').state, world.provider('sms').state]).toEqual(['shadowed', 'open']);
  });
  it('no operator can retry it, and it stands in the way of no other retry', () => {
    const world = shadowed({ sms: SHADOW });
    world.accept();
    world.start('email');
    world.answer('email', unavailable);
    expect(retryRefusal(world.state, world.attempt('sms').key, world.now, {})).toBe('shadow');
    world.retry('email');
    expect(world.attempt('email')).toMatchObject({ origin: 'operator', sequence: 2 });
  });
  it('the origin system is not asked for its sake', () => {
    const world = shadowed({ sms: { ...SHADOW, precondition: 'hold' }, email: { precondition: 'hold' } });
    world.accept({ onPreconditionError: 'hold' });
    world.start('sms');
    expect(world.attempt('sms').state).toBe('shadowed');
    expect(world.kinds()).not.toContain('PreconditionAsked');
  });
  it('a pause holds it, and resuming lets it end', () => {
    const world = shadowed({ sms: SHADOW });
    world.accept();
    world.pause();
    world.start('sms');
    expect(world.attempt('sms').state).toBe('queued');
    world.resume();
    world.start('sms');
    expect(world.attempt('sms').state).toBe('shadowed');
  });
});

it('the explanation says that nobody received anything', () => {
  const policy = examplePolicy({ sms: SHADOW });
  const world = openWorld({ policy });
  world.accept();
  world.start('sms');
  const told = explain(world.state, world.entries.map(({ at, transition }) => ({ at, kind: transition.kind, details: transition.details as never })), policy).join('\n');
  expect(told).toContain('SMS in shadow: everything but the provider call');
  expect(told).toContain('it runs in shadow, so its provider was not called and nobody received anything');
});
