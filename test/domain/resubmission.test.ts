import { describe, expect, it } from '@jest/globals';
import { explain } from '../../shared/domain/explain.ts';
import { nextDecideAt } from '../../shared/domain/lifecycle.ts';
import type { OnUnknown, PolicyStep } from '../../shared/domain/policy.ts';
import type { SubmitResult } from '../../shared/domain/provider-answers.ts';
import { CARRIERS, RECONCILING, examplePolicy } from './policies.ts';
import { START, abandoned, accepted, deferred, found, lost, openWorld, reads, rejected, unavailable } from './world.ts';
import type { World } from './world.ts';

const EXPIRY = 15 * 60_000;
const none = { kind: 'none' } as const;
const count = (world: World, kind: string): number => world.kinds().filter((one) => one === kind).length;

/** An email whose answer was lost, alone in its policy. */
const mail = (change: Partial<PolicyStep> = {}, carriers = RECONCILING, expiresInMs = EXPIRY): World => {
  const world = openWorld({ policy: examplePolicy({ order: ['email'], email: { onUnknown: 'replay', pollOffsetsMs: [5_000, 10_000], ...change } }), carriers });
  world.accept({ expiresAt: START + expiresInMs });
  world.start('email');
  world.answer('email', lost);
  return world;
};
/** An SMS whose answer was lost, with an email to follow. */
const text = (change: Partial<PolicyStep> = {}, carriers = RECONCILING): World => {
  const world = openWorld({ policy: examplePolicy({ sms: { onUnknown: 'resubmit_if_absent', ...change } }), carriers });
  world.accept();
  world.start('sms');
  world.answer('sms', lost);
  return world;
};

describe('replay', () => {
  it('submits an unknown attempt again after its backoff, under the same key, and its acceptance replaces *unknown*', () => {
    const world = mail();
    expect(world.attempt('email')).toMatchObject({ state: 'submitted_unknown', resubmitAt: START + 750 });
    expect(world.last('SubmissionOutcomeUnknown').on_unknown).toBe('replay');
    world.runTo(750);
    expect(world.last('ResubmissionPlanned')).toMatchObject({ reason: 'replay', first_submission_at: START, until: START + EXPIRY });
    expect(world.requests.at(-1)).toEqual({ kind: 'enqueue', attempt: world.attempt('email').key, channel: 'email', generation: 2, notBeforeAt: START + 750 });
    world.start('email');
    world.answer('email', accepted('m-1'));
    expect(world.attempt('email')).toMatchObject({ state: 'submitted', submissions: 2, sequence: 1, providerMessageId: 'm-1', unknownSubmissions: [], reason: null });
    expect(world.state.attempts).toHaveLength(1);
  });
  it('is bounded, backs off, and leaves the attempt unknown when it is used up', () => {
    const world = mail();
    const started: number[] = [];
    for (let next = nextDecideAt(world.state); next !== null && next < START + 600_000; next = nextDecideAt(world.state)) {
      world.runTo(next - START);
      if (world.attempt('email').state !== 'queued') break;
      started.push(next - START);
      world.start('email');
      world.answer('email', lost);
    }
    expect(started).toEqual([750, 2_250]);
    expect(world.attempt('email')).toMatchObject({ state: 'submitted_unknown', submissions: 3, resubmitAt: null });
  });
  it('stays inside the window in which the provider drops duplicates, minus the time that a call may take', () => {
    const brief = { ...RECONCILING, email: { ...RECONCILING.email, capabilities: { ...RECONCILING.email.capabilities, replayWithinMs: 17_000 } } };
    const world = mail({}, brief);
    expect(world.attempt('email').resubmitAt).toBe(START + 750);
    world.jumpTo(2_000);
    world.tick();
    expect(world.kinds()).not.toContain('ResubmissionPlanned');
    expect(world.attempt('email')).toMatchObject({ state: 'submitted_unknown', held: true });
  });
  it('that waited past its window in the queue is taken back: unknown, and held', () => {
    const brief = { ...RECONCILING, email: { ...RECONCILING.email, capabilities: { ...RECONCILING.email.capabilities, replayWithinMs: 17_000 } } };
    const world = mail({}, brief);
    world.runTo(750);
    expect(world.attempt('email').state).toBe('queued');
    world.jumpTo(2_000);
    expect(world.start('email').transitions.map(({ transition }) => transition.kind)).toEqual(['ResubmissionWithdrawn']);
    expect(world.attempt('email')).toMatchObject({ state: 'submitted_unknown', reason: 'lost_response', held: true });
  });
  it.each<[string, SubmitResult]>([['refused', rejected], ['refused by account', unavailable]])('that is %s calls nothing failed: the first one may be there', (_, result) => {
    const world = mail();
    world.runTo(750);
    world.start('email');
    world.answer('email', result);
    expect(world.attempt('email')).toMatchObject({ state: 'submitted_unknown', held: true, reason: 'lost_response' });
    world.runTo(600_000);
    expect(world.status()).toBe('unknown');
  });
  it('that is deferred goes by the transport clock, and is no dead letter of something that may be there', () => {
    const world = mail({ transportRetry: { maxSubmissions: 2, baseMs: 1_000, capMs: 10_000 } });
    world.runTo(750);
    world.start('email');
    world.answer('email', deferred());
    expect(world.attempt('email')).toMatchObject({ state: 'submitted_unknown', held: true });
    expect(world.requests.at(-1)).toMatchObject({ kind: 'dead_letter', reason: 'retries_exhausted' });
    expect(world.kinds()).not.toContain('AttemptDeadLettered');
  });
  it('is off when the first answer comes after all', () => {
    const world = mail();
    world.runTo(750);
    world.answer('email', accepted('m-1'), 1);
    expect(world.attempt('email')).toMatchObject({ state: 'submitted', providerMessageId: 'm-1', submissions: 1 });
    expect(world.start('email').transitions).toEqual([]);
  });
  it.each(['close', 'pause'] as const)('starts nothing after %s, and is as unknown as before', (how) => {
    const world = mail();
    world.runTo(750);
    world[how]();
    expect(world.start('email').transitions).toEqual([]);
    expect(world.kinds()).not.toContain('AttemptCancelled');
    if (how === 'close') expect(world.attempt('email').state).toBe('submitted_unknown');
  });
  it('is withdrawn at expiry, and its fate is still awaited', () => {
    const world = mail({}, RECONCILING, 20_000);
    world.runTo(750);
    world.runTo(20_000);
    expect(world.attempt('email')).toMatchObject({ state: 'submitted_unknown', settledAt: null });
    expect(world.kinds()).not.toContain('AttemptExpired');
  });
});

describe('resubmit_if_absent', () => {
  it('waits for two look-ups past the visibility lag that found nothing', () => {
    const world = text();
    for (const at of [5_000, 10_000]) {
      world.runTo(at);
      world.lookUp('sms', none);
    }
    // The one at 5 s is too early to prove anything: a message may be invisible for 8 s.
    expect(world.attempt('sms').absentLookUps).toBe(1);
    expect(world.kinds()).not.toContain('ResubmissionPlanned');
    world.runTo(20_000);
    world.lookUp('sms', none);
    expect(world.last('ResubmissionPlanned')).toMatchObject({ reason: 'absent', look_ups: 2, until: START + 30_000 });
    world.start('sms');
    world.answer('sms', accepted('SM0002'));
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted', submissions: 2, sequence: 1 });
  });
  it.each([[['unknown'], 1], [['pending'], 0]] as const)('counts as *unknown* while it waits in its queue: a step that escalates on %j claims %i', (escalateWhen, claims) => {
    const world = text({ maxObservationAgeMs: 20_000, escalateWhen: [...escalateWhen] });
    for (const at of [10_000, 20_000]) {
      world.runTo(at);
      world.lookUp('sms', none);
    }
    world.runTo(30_000);
    expect(count(world, 'FallbackClaimed')).toBe(claims);
  });
  it('is bounded as every transport retry is', () => {
    const world = text({ decideWithinMs: 600_000, transportRetry: { maxSubmissions: 2, baseMs: 1_000, capMs: 10_000 } });
    for (let at = 10_000; at < 200_000; at += 10_000) {
      world.runTo(at);
      world.lookUp('sms', none);
      if (world.attempt('sms').state !== 'queued') continue;
      world.start('sms');
      world.answer('sms', lost);
    }
    expect(count(world, 'SubmissionStarted')).toBe(2);
    expect(world.attempt('sms').state).toBe('submitted_unknown');
  });
  it('begins to count anew after anything else than *none*', () => {
    const world = text();
    for (const result of [none, { kind: 'several', matches: 2 } as const, none]) {
      world.jumpTo(world.now - START + 9_000);
      world.lookUp('sms', result);
    }
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted_unknown', absentLookUps: 1 });
  });
  it('takes one answer that is recorded twice, or two to the same moment, for a single absence', () => {
    const world = text();
    world.runTo(10_000);
    const asked = world.asksNow('sms');
    for (let times = 0; times < 3; times += 1) world.lookUp('sms', none, asked);
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted_unknown', absentLookUps: 1, polls: 3 });
    expect(world.last('StatusObserved')).toMatchObject({ outcome: 'not_found', counts: false, asked_at: asked.at });
    world.lookUp('sms', none);
    expect(count(world, 'ResubmissionPlanned')).toBe(1);
  });
  it('measures an absence by when it was asked for: an answer that waited for the database proves nothing of the time in between', () => {
    const world = text();
    const asked = world.asksNow('sms');
    world.runTo(20_000);
    world.lookUp('sms', none, asked);
    expect(world.attempt('sms')).toMatchObject({ absentLookUps: 0, evidence: { at: START } });
  });
  it.each<[string, (world: World) => void]>([
    ['a look-up', (world) => world.lookUp('sms', found('pending', 'SM0001'))],
    ['a look-up that does not understand its status', (world) => world.lookUp('sms', found('unknown', 'SM0001'))],
    ['the late answer of the first call', (world) => world.answer('sms', accepted('SM0001'), 1)],
  ])('sends nothing a third time where %s tells of the first message while the second is under way, which is then refused', (_, tells) => {
    for (const answer of [deferred(), abandoned]) {
      const world = text({ decideWithinMs: 300_000 });
      for (const at of [10_000, 20_000]) {
        world.runTo(at);
        world.lookUp('sms', none);
      }
      world.start('sms');
      tells(world);
      expect(world.attempt('sms').state).toBe('submitting');
      world.answer('sms', answer);
      expect(world.last('ResubmissionWithdrawn')).toMatchObject({ reason: 'found_meanwhile', hold: false });
      for (const at of [40_000, 60_000, 80_000]) {
        world.runTo(at);
        world.lookUp('sms', none);
      }
      expect(count(world, 'SubmissionStarted')).toBe(2);
      world.lookUp('sms', found('delivered', 'SM0001'));
      expect(world.attempt('sms')).toMatchObject({ state: 'delivered', providerMessageId: 'SM0001' });
    }
  });
  it('is off when a look-up that was under way finds the message', () => {
    const world = text();
    for (const at of [10_000, 20_000]) {
      world.runTo(at);
      world.lookUp('sms', none);
    }
    expect(world.attempt('sms').state).toBe('queued');
    world.lookUp('sms', found('pending', 'SM0001'));
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted', providerMessageId: 'SM0001', submittedAt: START });
    expect(world.start('sms').transitions).toEqual([]);
  });
  it('looks again where its finding has grown old in the queue', () => {
    const world = text({ decideWithinMs: 300_000 });
    for (const at of [10_000, 20_000]) {
      world.runTo(at);
      world.lookUp('sms', none);
    }
    world.runTo(30_000);
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted_unknown', held: false, absentLookUps: 0 });
    expect(world.attempt('sms').nextPollAt).not.toBeNull();
    world.jumpTo(31_000);
    world.lookUp('sms', none);
    world.lookUp('sms', none);
    expect(count(world, 'ResubmissionPlanned')).toBe(2);
  });
  it('gives way to the claim at the deadline: unknown, looked for, and never cancelled', () => {
    const world = text({ maxObservationAgeMs: 20_000 });
    for (const at of [10_000, 20_000]) {
      world.runTo(at);
      world.lookUp('sms', none);
    }
    world.runTo(30_000);
    expect(world.kinds().slice(-4)).toEqual(['ResubmissionWithdrawn', 'FallbackClaimed', 'AttemptPlanned', 'AttemptQueued']);
    expect(world.last('FallbackClaimed').rests_on).toMatchObject({ class: 'unknown', source: 'look_up' });
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted_unknown', superseded: true });
    expect(world.start('sms').transitions).toEqual([]);
  });
});

describe('whatever the policy says, an unknown attempt is held', () => {
  it.each<[OnUnknown, 'sms' | 'email']>([['replay', 'sms'], ['resubmit_if_absent', 'sms'], ['replay', 'email'], ['resubmit_if_absent', 'email']])('%s on a provider of %s that permits neither', (onUnknown, channel) => {
    const policy = examplePolicy({ order: [channel], [channel]: { onUnknown } });
    const world = openWorld({ policy, carriers: CARRIERS });
    world.accept();
    world.start(channel);
    world.answer(channel, lost);
    expect(world.last('SubmissionOutcomeUnknown').on_unknown).toBe('hold');
    for (let at = 10_000; at < EXPIRY; at += 30_000) {
      world.runTo(at);
      if (channel === 'sms') world.lookUp(channel, none);
    }
    expect(count(world, 'SubmissionStarted')).toBe(1);
    const told = explain(world.state, world.entries.map((entry) => ({ at: entry.at, ...entry.transition })), policy).join('\n');
    expect(told).toContain('this provider does not permit that, so it is held all the same');
  });
  it('*hold* on a provider that permits both', () => {
    const world = mail({ onUnknown: 'hold' });
    world.runTo(EXPIRY - 1);
    expect(count(world, 'SubmissionStarted')).toBe(1);
  });
});

describe('another carrier alters nothing of what was planned', () => {
  it('an attempt keeps the provider, the reads and the replay that it was planned with', () => {
    const carriers = { ...RECONCILING };
    const world = openWorld({ policy: examplePolicy({ order: ['email'], email: { onUnknown: 'replay' } }), carriers });
    world.accept();
    const planned = world.attempt('email');
    carriers.email = CARRIERS.email;
    world.start('email');
    world.answer('email', lost);
    expect(world.attempt('email')).toMatchObject({ provider: 'resend', statusByPoll: planned.statusByPoll, replayWithinMs: planned.replayWithinMs, resubmitAt: START + 750 });
    world.runTo(750);
    world.start('email');
    world.answer('email', accepted());
    world.poll('email', reads('delivered'));
    expect(world.status()).toBe('delivered');
  });
  it('and one that was planned for a poorer provider gains nothing by a richer one', () => {
    const carriers = { ...CARRIERS };
    const world = openWorld({ policy: examplePolicy({ order: ['email'], email: { onUnknown: 'replay' } }), carriers });
    world.accept();
    carriers.email = RECONCILING.email;
    world.start('email');
    world.answer('email', lost);
    world.runTo(EXPIRY - 1);
    expect(count(world, 'SubmissionStarted')).toBe(1);
    expect(world.attempt('email').nextPollAt).toBeNull();
  });
});

const told = (world: World, change: Parameters<typeof examplePolicy>[0]): string =>
  explain(world.state, world.entries.map(({ at, transition }) => ({ at, ...transition })), examplePolicy(change)).join('\n');

describe('what was done about an unknown outcome is told in words', () => {
  it('a replay, and that it was taken back', () => {
    const world = mail();
    world.runTo(750);
    const waiting = told(world, { order: ['email'], email: { onUnknown: 'replay' } });
    expect(waiting).toContain('Policy example/1 says on_unknown: replay, so the same attempt key may go again');
    expect(waiting).toContain('Email was taken back to its queue at 2026-01-05T12:00:00.750Z (replay): the provider drops duplicates of a key that it first saw at 2026-01-05T12:00:00Z, so the same bytes go to it again under the same attempt key, not after 2026-01-05T12:15:00Z.');
    expect(waiting).toContain('Email waits in its queue to be submitted again under the same attempt key; whether an earlier submission was sent is unknown.');
    world.close();
    expect(told(world, { order: ['email'], email: { onUnknown: 'replay' } })).toContain(
      'Email was not submitted again at 2026-01-05T12:00:00.750Z (closed; Tocsin found so itself); whether an earlier submission was sent is as unknown as before, and it is held.');
  });
  it('an absence', () => {
    const world = text();
    for (const at of [10_000, 20_000]) {
      world.runTo(at);
      world.lookUp('sms', none);
    }
    expect(told(world, { sms: { onUnknown: 'resubmit_if_absent' } })).toContain(
      "SMS was taken back to its queue at 2026-01-05T12:00:20Z (absent): 2 look-ups past the provider's visibility lag had not found it, so the same bytes go to it again under the same attempt key, not after 2026-01-05T12:00:30Z.");
  });
});
