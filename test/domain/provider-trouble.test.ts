import { describe, expect, it } from '@jest/globals';
import { explain } from '../../shared/domain/explain.ts';
import type { PolicyChange } from './policies.ts';
import { examplePolicy } from './policies.ts';
import { START, abandoned, accepted, deferred, lost, openWorld, rejected, unavailable } from './world.ts';
import type { World } from './world.ts';

const RIVAL = 'evt_01KDZ8Q2M3N4P5R6S7T8V9W0ZZ.sms.1';
const refused = { state: 'open', reason: 'provider_auth', openedAt: START, failures: 1, probeAt: START + 10_000 } as const;
const alone: PolicyChange = { order: ['sms'] };

const accept = (change: PolicyChange = {}): World => {
  const world = openWorld({ policy: examplePolicy(change) });
  world.accept();
  return world;
};
/** Accepted, and then another notification was refused for the account's sake. */
const withOutage = (change: PolicyChange = {}): World => {
  const world = accept(change);
  world.setProvider('sms', refused);
  return world;
};
/** Its SMS waits, and has nowhere else to go. */
const waiting = (): World => {
  const world = withOutage(alone);
  world.start('sms');
  return world;
};
const probing = (): World => {
  const world = waiting();
  world.jumpTo(10_000);
  world.tick();
  world.start('sms');
  return world;
};
const letters = (world: World) => world.requests.filter(({ kind }) => kind === 'dead_letter');

describe('the first refusal of our account', () => {
  it('opens the provider, is a dead letter, and claims the next step at once', () => {
    const world = accept();
    world.start('sms');
    world.answer('sms', unavailable);
    expect(world.provider('sms')).toMatchObject({ state: 'open', reason: 'provider_auth', openedAt: START, failures: 1, revision: 1 });
    expect(world.provider('sms').probeAt).toBe(START + 7_500);
    expect(world.attempt('sms')).toMatchObject({ state: 'dead_lettered', reason: 'provider_auth' });
    expect([letters(world).length, world.attempt('email').state]).toEqual([1, 'queued']);
  });

  it('of a call from before the last incident ended begins no new one', () => {
    const world = accept(alone);
    world.start('sms');
    world.setProvider('sms', refused);
    world.jumpTo(5_000);
    world.setProvider('sms', { state: 'closed', closedAt: START + 5_000, failures: 0, probeAt: null, probe: null });
    world.answer('sms', unavailable);
    expect([world.provider('sms').state, letters(world)]).toEqual(['closed', []]);
    expect(world.attempt('sms').state).toBe('queued');
  });
});

describe('while the provider refuses us', () => {
  it('a queued attempt is not started, and its notification claims the next step for that, without a dead letter', () => {
    const world = withOutage();
    world.start('sms');
    expect(world.kinds().slice(3)).toEqual(['AttemptHeld', 'FallbackClaimed', 'AttemptCancelled', 'AttemptPlanned', 'AttemptQueued']);
    expect(world.last('FallbackClaimed')).toMatchObject({ cause: 'provider_unavailable', rests_on: { class: 'pending', stale: false } });
    expect([letters(world), world.attempt('sms').submissions]).toEqual([[], 0]);
  });

  it.each([['failed'], ['pending']] as const)('a policy that escalates on %s alone claims for it too', (rule) => {
    const world = withOutage({ sms: { escalateWhen: [rule] } });
    world.start('sms');
    expect(world.attempt('email').state).toBe('queued');
  });

  it('a policy that escalates on neither lets the attempt wait', () => {
    const world = withOutage({ sms: { escalateWhen: ['accepted', 'unknown'] } });
    world.start('sms');
    expect(world.attempt('sms')).toMatchObject({ state: 'queued', providerWaitAt: START });
    expect(world.kinds()).not.toContain('FallbackClaimed');
  });

  it('a next step whose provider refuses us as well is claimed at the deadline only', () => {
    const world = withOutage();
    world.setProvider('email', { ...refused, reason: 'provider_account' });
    world.start('sms');
    expect(world.kinds()).not.toContain('FallbackClaimed');
    world.runTo(30_000);
    expect(world.last('FallbackClaimed').cause).toBe('deadline');
  });

  it('what has no next step waits without any alarm but its deadline and its expiry, and expires', () => {
    const world = waiting();
    const before = world.entries.length;
    world.setProvider('sms', { probeAt: START + 3_600_000 });
    world.runTo(899_999);
    expect(world.kinds().slice(before)).toEqual(['DeadlinePassed']);
    world.runTo(900_000);
    expect(world.attempt('sms')).toMatchObject({ state: 'expired', providerWaitAt: null });
  });

  it('a call that was under way and is refused too waits, without another dead letter', () => {
    const world = accept(alone);
    world.start('sms');
    world.setProvider('sms', refused);
    world.answer('sms', unavailable);
    expect(world.kinds().slice(-2)).toEqual(['SubmissionDeferred', 'AttemptHeld']);
    expect([letters(world), world.provider('sms').failures]).toEqual([[], 1]);
  });

  it('a call that was under way and is accepted says nothing of what came after it', () => {
    const world = accept(alone);
    world.start('sms');
    world.setProvider('sms', refused);
    world.answer('sms', accepted());
    expect(world.provider('sms').state).toBe('open');
  });

  it('a pause takes the place of the wait; once resumed it waits again', () => {
    const world = waiting();
    world.pause();
    expect(world.attempt('sms').providerWaitAt).toBeNull();
    world.resume();
    expect(world.attempt('sms').providerWaitAt).toBe(START);
  });

  it('a failed status read opens nothing: a key may send and not read', () => {
    const world = accept(alone);
    world.start('sms');
    world.answer('sms', accepted());
    world.jumpTo(5_000);
    world.poll('sms', { kind: 'read_failed', reason: 'provider_auth', retryAfterMs: null });
    expect(world.provider('sms').state).toBe('closed');
  });
});

describe('the probe', () => {
  it('is one attempt, set free once the pause is over', () => {
    const world = waiting();
    world.jumpTo(9_999);
    expect(world.tick().transitions).toEqual([]);
    world.jumpTo(10_000);
    world.tick();
    expect(world.last('AttemptReleased')).toMatchObject({ reason: 'probe', generation: 2 });
    expect(world.provider('sms')).toMatchObject({ state: 'probing', probe: { attempt: world.attempt('sms').key, submission: null } });
    world.start('sms');
    expect(world.last('SubmissionStarted')).toMatchObject({ submission: 1, probe: true });
  });

  it('is made by a new attempt that never waited, where its time has come', () => {
    const world = withOutage();
    world.jumpTo(10_000);
    world.start('sms');
    expect(world.last('SubmissionStarted').probe).toBe(true);
    expect(world.provider('sms')).toMatchObject({ state: 'probing', probe: { submission: 1, untilAt: START + 25_000 } });
  });

  it('lets nobody else through meanwhile, and somebody else once it never told', () => {
    const world = waiting();
    world.jumpTo(10_000);
    world.setProvider('sms', { state: 'probing', probeAt: null, probe: { attempt: RIVAL, submission: 1, untilAt: START + 25_000 } });
    expect(world.tick().transitions).toEqual([]);
    world.jumpTo(25_000);
    world.tick();
    expect(world.provider('sms').probe?.attempt).toBe(world.attempt('sms').key);
  });

  it.each([['an acceptance', accepted(), 'submitted'], ['a refusal of the message', rejected, 'rejected']] as const)('that brings %s closes the incident', (_, answer, state) => {
    const world = probing();
    world.answer('sms', answer);
    expect(world.provider('sms')).toMatchObject({ state: 'closed', closedAt: START + 10_000, failures: 0, probe: null });
    expect(world.attempt('sms').state).toBe(state);
  });

  it.each([['a refusal of the account', unavailable], ['*not now*', deferred()], ['no answer', lost]] as const)('that brings %s makes the pause longer', (_, answer) => {
    const world = probing();
    world.answer('sms', answer);
    expect(world.provider('sms')).toMatchObject({ state: 'open', failures: 2, openedAt: START, probeAt: START + 25_000 });
    expect(letters(world)).toEqual([]);
  });

  it('whose call was not made may be made again at once', () => {
    const world = probing();
    world.answer('sms', abandoned);
    expect(world.provider('sms').failures).toBe(1);
    expect(world.attempt('sms').state).toBe('queued');
  });

  it.each([['closed', (world: World) => world.close()], ['paused', (world: World) => world.pause()]] as const)('is given back by a notification that is %s before it starts', (_, end) => {
    const world = waiting();
    world.jumpTo(10_000);
    world.tick();
    end(world);
    expect(world.provider('sms')).toMatchObject({ state: 'open', failures: 1, probeAt: START + 10_000, probe: null });
  });

  it('whose worker is lost has failed', () => {
    const world = probing();
    world.runTo(26_000);
    expect(world.attempt('sms').state).toBe('submitted_unknown');
    expect(world.provider('sms')).toMatchObject({ state: 'open', failures: 2 });
  });

  it('waits no longer than five minutes, however often it fails', () => {
    const world = waiting();
    world.setProvider('sms', { failures: 40, probeAt: START });
    world.tick();
    world.start('sms');
    world.answer('sms', unavailable);
    expect((world.provider('sms').probeAt ?? 0) - world.now).toBeLessThanOrEqual(300_000);
  });

  it('uses up no retry of an attempt, however often the account is refused', () => {
    const world = waiting();
    for (let round = 1; round <= 6; round += 1) {
      world.jumpTo(round * 60_000);
      world.setProvider('sms', { probeAt: world.now });
      world.tick();
      world.start('sms');
      world.answer('sms', unavailable);
    }
    expect(world.attempt('sms')).toMatchObject({ state: 'queued', submissions: 6, accountRefusals: 6 });
    world.jumpTo(420_000);
    world.setProvider('sms', { state: 'closed', closedAt: world.now, probeAt: null });
    world.tick();
    world.start('sms');
    world.answer('sms', deferred());
    expect(world.attempt('sms').state).toBe('queued');
  });
});

describe('once the provider is back', () => {
  it('what waited is enqueued under a new generation', () => {
    const world = waiting();
    world.jumpTo(12_000);
    world.setProvider('sms', { state: 'closed', closedAt: START + 12_000, probeAt: null });
    world.tick();
    expect(world.last('AttemptReleased')).toMatchObject({ reason: 'provider_back', generation: 2 });
    expect(world.requests.at(-1)).toMatchObject({ kind: 'enqueue', generation: 2, notBeforeAt: START + 12_000 });
    world.start('sms');
    expect(world.last('SubmissionStarted').probe).toBeUndefined();
  });
});

describe("an operator's retry of the incident's dead letter", () => {
  const incident = (): World => {
    const world = accept(alone);
    world.start('sms');
    world.answer('sms', unavailable);
    world.jumpTo(1_000);
    world.retry('sms');
    return world;
  };

  it('probes at once, without waiting for the pause', () => {
    const world = incident();
    expect(world.provider('sms')).toMatchObject({ state: 'probing', probe: { attempt: world.attempt('sms').key, submission: null } });
    world.start('sms');
    world.answer('sms', accepted());
    expect(world.provider('sms').state).toBe('closed');
  });

  it('that is refused again is a dead letter again, since somebody waits for the answer', () => {
    const world = incident();
    world.start('sms');
    world.answer('sms', unavailable);
    expect([letters(world).length, world.attempt('sms').state, world.provider('sms').failures]).toEqual([2, 'dead_lettered', 2]);
  });

  it('waits like any other where a probe is under way', () => {
    const world = accept(alone);
    world.start('sms');
    world.answer('sms', unavailable);
    world.setProvider('sms', { state: 'probing', probeAt: null, probe: { attempt: RIVAL, submission: 1, untilAt: START + 20_000 } });
    world.retry('sms');
    expect(world.attempt('sms')).toMatchObject({ sequence: 2, state: 'queued', providerWaitAt: START });
  });
});

describe('the explanation', () => {
  const told = (world: World, change: PolicyChange = {}): string[] =>
    explain(world.state, world.entries.map(({ at, transition }) => ({ at, kind: transition.kind, details: transition.details })), examplePolicy(change));

  it('says why an attempt waits, why the next channel was claimed, and what set the wait free', () => {
    const world = withOutage();
    world.start('sms');
    expect(told(world)).toEqual(expect.arrayContaining([
      'SMS waits since 2026-01-05T12:00:00Z: twilio refuses our account (provider_auth; the provider said so), so nothing is submitted there but one probe at a time.',
      'Nothing of SMS was at the provider and it was still queued; twilio refuses our account, and policy example/1 escalates on pending, accepted, unknown and failed: so email was claimed at once, at 2026-01-05T12:00:00Z (provider_unavailable).',
    ]));
    expect(told(waiting(), alone)).toContain('SMS waits in its queue since 2026-01-05T12:00:00Z until twilio takes us again, or it expires.');
    const probe = probing();
    expect(told(probe, alone)).toContain('SMS was let through to twilio at 2026-01-05T12:00:10Z as the one probe of whether it takes us again, after waiting since 2026-01-05T12:00:00Z.');
  });
});

describe('a refusal of our account that is heard when nothing may follow any more', () => {
  it.each(['closed', 'expired'] as const)('once it is %s: no dead letter, for nobody could retry it, and the next one refused begins the incident', (how) => {
    const world = accept(alone);
    if (how === 'expired') world.jumpTo(899_000);
    world.start('sms');
    if (how === 'closed') world.close();
    else world.jumpTo(900_500);
    world.answer('sms', unavailable);
    expect(world.attempt('sms')).toMatchObject(how === 'closed' ? { state: 'cancelled', reason: 'closed' } : { state: 'expired', reason: 'expired' });
    expect(letters(world)).toEqual([]);
    expect(world.provider('sms').state).toBe('closed');
  });
});
