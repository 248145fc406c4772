import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import type { SubmitResult } from '../../shared/domain/provider-answers.ts';
import { examplePolicy } from './policies.ts';
import { START, accepted, deferred, found, lost, openWorld, readFailed, reads, rejected, suppressed, unavailable } from './world.ts';
import type { World } from './world.ts';

const shipped = loadPolicies(fileURLToPath(new URL('../../policies', import.meta.url))).find(({ purpose }) => purpose === 'game-support-urgent') as Policy;
const submitted = (policy = examplePolicy(), random?: () => number): World => {
  const world = openWorld({ policy, ...(random ? { random } : {}) });
  world.accept();
  world.start('sms');
  world.answer('sms', accepted());
  return world;
};
const claims = (world: World): number => world.kinds().filter((kind) => kind === 'FallbackClaimed').length;
const seconds = (at: number | null): number => ((at ?? Number.NaN) - START) / 1_000;

/** Reads a pending status whenever the attempt's own clock says so, and returns the seconds of those polls. */
const pollUntilDeadline = (world: World): number[] => {
  const polls: number[] = [];
  for (let at = world.attempt('sms').nextPollAt; at !== null && at - START < 30_000; at = world.attempt('sms').nextPollAt) {
    polls.push(seconds(at));
    world.runTo(at - START);
    world.poll('sms', reads('accepted'));
  }
  return polls;
};

describe.each([['a policy built by hand', examplePolicy()], ['the shipped policy', shipped]])('an SMS that is never confirmed, under %s', (_, policy) => {
  it('is polled at 5, 10 and 20 s and once more 2 s before the deadline', () => {
    expect(pollUntilDeadline(submitted(policy))).toEqual([5, 10, 20, 28]);
  });
  it.each([['earliest', 0, [4.5, 9, 18, 28]], ['latest', 0.999_999, [5.5, 11, 22, 28]]] as const)('is polled within ten per cent of its offsets: %s', (_name, random, expected) => {
    expect(pollUntilDeadline(submitted(policy, () => random))).toEqual(expected);
  });
  it('claims the email exactly once, at the deadline, and names what the claim rests on', () => {
    const world = submitted(policy);
    pollUntilDeadline(world);
    world.runTo(29_999);
    expect(claims(world)).toBe(0);
    world.runTo(30_000);
    expect(world.last('FallbackClaimed')).toMatchObject({ from_step: 0, to_step: 1, channel: 'email', cause: 'deadline', rests_on: { class: 'accepted', observed_at: START + 28_000, source: 'poll', stale: false } });
    world.runTo(60_000);
    expect(claims(world)).toBe(1);
  });
  it('is `sent` once the mail server has the email, and settles when the grace ends', () => {
    const world = submitted(policy);
    expect(world.status()).toBe('in_progress');
    pollUntilDeadline(world);
    world.runTo(31_000);
    world.start('email');
    world.answer('email', accepted('queued-as-1'));
    expect(world.status()).toBe('sent');
    world.runTo(25 * 60_000);
    expect(world.state.settledAt).toBe(world.state.reconcileUntil);
    expect(world.attempt('sms').reason).toBe('grace_ended');
    expect(world.status()).toBe('sent');
  });
});

describe('a confirmation', () => {
  it('before the deadline settles the notification without an email', () => {
    const world = submitted();
    world.runTo(5_000);
    world.poll('sms', reads('delivered'));
    world.runTo(3_600_000);
    expect(world.kinds().slice(-2)).toEqual(['AttemptDelivered', 'NotificationSettled']);
    expect(claims(world)).toBe(0);
    expect(world.status()).toBe('delivered');
  });
  it('that comes late leaves the email as it is and triggers nothing', () => {
    const world = submitted();
    pollUntilDeadline(world);
    world.runTo(31_000);
    world.start('email');
    world.jumpTo(32_000);
    const { transitions, requests } = world.poll('sms', reads('delivered'));
    expect(transitions.map(({ transition }) => transition.kind)).toEqual(['AttemptDelivered']);
    expect(requests).toEqual([]);
    world.answer('email', accepted('queued-as-1'));
    expect(world.attempt('email').state).toBe('submitted');
    expect(world.status()).toBe('delivered');
    expect(world.state.settledAt).not.toBeNull();
  });
  it('does not take back an email that still waits in its queue', () => {
    const world = submitted();
    pollUntilDeadline(world);
    world.runTo(31_000);
    world.poll('sms', reads('delivered'));
    expect(world.attempt('email').state).toBe('queued');
    world.start('email');
    expect(world.attempt('email').state).toBe('submitting');
  });
});

describe('a definite failure claims the next step at once', () => {
  it.each<[string, SubmitResult]>([['rejected', rejected], ['suppressed', suppressed], ['dead_lettered', unavailable]])('%s at the submit', (state, result) => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept();
    world.start('sms');
    world.answer('sms', result);
    expect(world.attempt('sms').state).toBe(state);
    expect(world.last('FallbackClaimed')).toMatchObject({ cause: 'attempt_failed', rests_on: { class: 'failed' } });
    expect(world.attempt('email').state).toBe('queued');
  });
  it.each(['undelivered', 'rejected', 'suppressed'] as const)('%s at a poll', (outcome) => {
    const world = submitted();
    world.runTo(5_000);
    world.poll('sms', reads(outcome));
    expect(world.attempt('sms').state).toBe(outcome);
    expect(world.attempt('email').plannedAt).toBe(START + 5_000);
  });
  it('a message that cannot be rendered is a dead letter, and the email starts in the same append', () => {
    const world = openWorld({ policy: examplePolicy(), render: (channel) => (channel === 'sms' ? { ok: false, reason: 'render_error' } : { ok: true, hash: 'b1946ac9' }) });
    world.accept();
    expect(world.kinds()).toEqual(['NotificationAccepted', 'AttemptRenderFailed', 'FallbackClaimed', 'AttemptPlanned', 'AttemptQueued']);
    expect(world.requests).toContainEqual({ kind: 'dead_letter', attempt: world.attempt('sms').key, channel: 'sms', reason: 'render_error' });
  });
  it('a drifted render is a dead letter and never a call', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept();
    world.decide({ kind: 'refuse_to_submit', attempt: world.attempt('sms').key, reason: 'render_drift' });
    expect(world.attempt('sms')).toMatchObject({ state: 'dead_lettered', reason: 'render_drift', submissions: 0 });
    expect(world.attempt('email').state).toBe('queued');
  });
});

describe('an attempt that was never submitted', () => {
  it('is cancelled as superseded in the append of the claim', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept();
    world.runTo(29_999);
    const { transitions } = (world.jumpTo(30_000), world.tick());
    expect(transitions.map(({ transition }) => transition.kind)).toEqual(['FallbackClaimed', 'AttemptCancelled', 'AttemptPlanned', 'AttemptQueued']);
    expect(world.attempt('sms')).toMatchObject({ state: 'cancelled', reason: 'superseded' });
    expect(world.start('sms').transitions).toEqual([]);
  });
  it('is superseded by the late worker itself where no coordinator came in time', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept();
    world.jumpTo(30_000);
    world.start('sms');
    expect(world.kinds()).toContain('FallbackClaimed');
    expect(world.kinds()).not.toContain('SubmissionStarted');
  });
  it('is superseded also where its last submission was deferred', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept();
    world.start('sms');
    world.answer('sms', deferred(120_000));
    world.runTo(30_000);
    expect(world.attempt('sms')).toMatchObject({ state: 'cancelled', reason: 'superseded' });
  });
});

describe('evidence at the deadline', () => {
  it('that is too old is renewed by one look, and the claim rests on the look', () => {
    const world = submitted();
    world.runTo(30_000);
    expect(world.last('LookRequested')).toEqual({ attempt: world.attempt('sms').key, until: START + 33_000 });
    expect(world.attempt('sms').nextPollAt).toBeLessThanOrEqual(START + 30_000);
    expect(claims(world)).toBe(0);
    world.jumpTo(31_000);
    world.poll('sms', reads('pending'));
    expect(world.last('FallbackClaimed').rests_on).toMatchObject({ source: 'poll', observed_at: START + 31_000, stale: false });
  });
  it('is claimed on as stale when the look brought nothing in time', () => {
    const world = submitted();
    world.runTo(30_000);
    world.jumpTo(31_000);
    world.poll('sms', readFailed());
    expect(claims(world)).toBe(0);
    world.runTo(32_999);
    expect(claims(world)).toBe(0);
    world.runTo(33_000);
    expect(world.last('FallbackClaimed').rests_on).toMatchObject({ stale: true, class: 'pending' });
  });
  it('is a delivery when the look finds one: no email', () => {
    const world = submitted();
    world.runTo(30_000);
    world.poll('sms', reads('delivered'));
    expect(world.state.settledAt).toBe(START + 30_000);
    expect(claims(world)).toBe(0);
  });
  it('that waited for the database is as old as the answer: it is read anew at once, and before a claim', () => {
    const answered = (recordedAfterMs: number): World => {
      const world = openWorld({ policy: examplePolicy() });
      world.accept();
      world.start('sms');
      world.jumpTo(recordedAfterMs);
      world.decide({ kind: 'record_submission', attempt: world.attempt('sms').key, submission: 1, result: accepted('SM1'), answeredAt: START + 200 });
      return world;
    };
    const before = answered(12_000);
    expect(before.attempt('sms')).toMatchObject({ state: 'submitted', submittedAt: START + 200, evidence: { at: START + 200 }, nextPollAt: START + 12_001 });
    expect(before.last('SubmissionAccepted').answered_at).toBe(START + 200);
    const after = answered(31_000);
    expect([claims(after), after.last('LookRequested').until]).toEqual([0, START + 34_000]);
    after.poll('sms', reads('delivered'));
    expect([claims(after), after.status()]).toEqual([0, 'delivered']);
  });
  it('that is recorded as it comes has no instant beside that of its entry', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept();
    world.start('sms');
    world.jumpTo(1_200);
    world.decide({ kind: 'record_submission', attempt: world.attempt('sms').key, submission: 1, result: accepted('SM1'), answeredAt: START + 200 });
    expect(world.last('SubmissionAccepted')).not.toHaveProperty('answered_at');
    expect(world.attempt('sms')).toMatchObject({ submittedAt: START + 1_200, evidence: { at: START + 1_200 } });
  });
  it('of a status read that failed claims nothing before the deadline', () => {
    const world = submitted();
    world.runTo(5_000);
    for (let count = 0; count < 5; count += 1) world.poll('sms', readFailed());
    expect(claims(world)).toBe(0);
    expect(world.attempt('sms')).toMatchObject({ state: 'submitted', failedReads: 5 });
  });
  it('of an unknown submission is looked up first, and none found is no failure', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept();
    world.start('sms');
    world.answer('sms', lost);
    world.runTo(30_000);
    world.lookUp('sms', { kind: 'none' });
    expect(world.last('FallbackClaimed').rests_on).toMatchObject({ class: 'unknown', source: 'look_up', stale: false });
    expect(world.attempt('sms').state).toBe('submitted_unknown');
    world.jumpTo(40_000);
    world.lookUp('sms', found('delivered'));
    expect(world.status()).toBe('delivered');
  });
});

describe('a step that does not escalate on *accepted*', () => {
  const cautious = examplePolicy({ sms: { escalateWhen: ['pending', 'unknown', 'failed'] } });
  it('lets its deadline pass on an accepted attempt', () => {
    const world = submitted(cautious);
    pollUntilDeadline(world);
    world.runTo(120_000);
    expect(world.last('DeadlinePassed').class).toBe('accepted');
    expect(claims(world)).toBe(0);
    expect(world.status()).toBe('sent');
  });
  it('still claims when that attempt fails later', () => {
    const world = submitted(cautious);
    pollUntilDeadline(world);
    world.runTo(120_000);
    world.poll('sms', reads('undelivered'));
    expect(world.last('FallbackClaimed').cause).toBe('attempt_failed');
    expect(world.status()).toBe('in_progress');
  });
});

describe('the decision deadline', () => {
  it('keeps the reserve of the later step before expiry', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept({ expiresAt: START + 80_000 });
    expect(world.attempt('sms').decisionDeadlineAt).toBe(START + 20_000);
  });
  it('keeps no reserve for a step that is skipped', () => {
    const world = openWorld({ policy: examplePolicy() });
    world.accept({ expiresAt: START + 80_000, barred: { email: 'no_consent' } });
    expect(world.attempt('sms').decisionDeadlineAt).toBe(START + 30_000);
  });
  it('of the last step passes without a claim', () => {
    const world = submitted(examplePolicy({ order: ['sms'] }));
    world.runTo(30_000);
    expect(world.last('DeadlinePassed').class).toBe('pending');
    expect(world.status()).toBe('sent');
  });
});
