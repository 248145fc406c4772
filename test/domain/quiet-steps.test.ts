import { describe, expect, it } from '@jest/globals';
import { explain } from '../../shared/domain/explain.ts';
import { nextDecideAt } from '../../shared/domain/lifecycle.ts';
import type { Channel } from '../../shared/domain/words.ts';
import type { QuietHours } from '../../shared/domain/policy.ts';
import type { Intent } from '../../shared/domain/lifecycle.ts';
import type { PolicyChange } from './policies.ts';
import { RECONCILING, examplePolicy } from './policies.ts';
import type { World } from './world.ts';
import { START, accepted, deferred, lost, openWorld, rejected } from './world.ts';

const MINUTE = 60_000;
/** The world starts at 12:00 UTC. */
const quiet = (from: string, to: string, more: Partial<QuietHours> = {}): QuietHours => ({ from, to, timeZone: 'UTC', ...more });

const open = (hours: Partial<Record<Channel, QuietHours>>, change: PolicyChange & { intent?: Partial<Intent> } = {}): World => {
  const world = openWorld({ policy: examplePolicy({ ...change, policy: { ...change.policy, regions: { US: { consent: {}, quietHours: hours } } } }) });
  world.accept(change.intent);
  return world;
};
const told = (world: World): string =>
  explain(world.state, world.entries.map(({ at, transition }) => ({ at, kind: transition.kind, details: transition.details })), examplePolicy()).join('\n');

describe('a step that is planned in quiet hours', () => {
  it('waits for their end, in no queue, with its deadline counted from there and its expiry where it was', () => {
    const world = open({ sms: quiet('11:00', '12:05') });
    expect(world.kinds()).toEqual(['NotificationAccepted', 'AttemptPlanned']);
    expect(world.attempt('sms')).toMatchObject({ state: 'planned', startsAt: START + 5 * MINUTE, decisionDeadlineAt: START + 5 * MINUTE + 30_000 });
    expect([nextDecideAt(world.state), world.state.expiresAt, world.requests, world.status()]).toEqual([START + 5 * MINUTE, START + 15 * MINUTE, [], 'accepted']);
    expect(world.start('sms').transitions).toEqual([]);
    world.runTo(5 * MINUTE);
    expect([world.attempt('sms').state, world.requests]).toMatchObject(['queued', [{ kind: 'enqueue', channel: 'sms', notBeforeAt: START + 5 * MINUTE }]]);
    expect(world.start('sms').transitions[0]?.transition.kind).toBe('SubmissionStarted');
  });
  it('is skipped at once where they end after all that its deadline could be, and the next one starts', () => {
    // Expiry 12:15, the email's reserve a minute: the SMS may open before 12:14.
    for (const [to, kinds] of [['12:13', ['AttemptPlanned']], ['12:14', ['StepSkipped', 'AttemptPlanned', 'AttemptQueued']]] as const) {
      expect(open({ sms: quiet('11:00', to) }).kinds().slice(1)).toEqual(kinds);
    }
    const world = open({ sms: quiet('11:00', '20:00') });
    expect(world.last('StepSkipped')).toEqual({ step: 0, channel: 'sms', reason: 'quiet_hours', opens_at: START + 8 * 60 * MINUTE });
    expect(told(world)).toContain('SMS, step 1 of policy example/1, was skipped at 2026-01-05T12:00:00Z (quiet_hours): the quiet hours of SMS from 11:00 to 20:00 in UTC (policy example/1) end only at 2026-01-05T20:00:00Z, which is too late for it.');
  });
  it('says that its zones are assumed where the recipient\'s is unknown, and only there', () => {
    const hours = quiet('11:00', '20:00', { timeZone: 'recipient', ifUnknown: ['UTC'] });
    expect(told(open({ sms: hours }))).toContain('the quiet hours of SMS from 11:00 to 20:00 in UTC, assumed since the recipient\'s time zone is unknown (policy example/1) end only at ');
    expect(told(open({ sms: hours }, { intent: { timeZone: 'UTC' } }))).toContain('from 11:00 to 20:00 in UTC (policy example/1) end only at ');
  });
  it('may wait up to expiry where nothing comes after it', () => {
    expect(open({ sms: quiet('11:00', '12:14') }, { order: ['sms'] }).attempt('sms').state).toBe('planned');
    const late = open({ sms: quiet('11:00', '12:15') }, { order: ['sms'] });
    expect([late.status(), late.state.settledAt]).toEqual(['suppressed', START]);
  });
  it('is skipped where nobody knows what time it is there, unless the policy says what to go by', () => {
    const recipient = quiet('21:00', '08:00', { timeZone: 'recipient' });
    const unknown = open({ sms: recipient });
    expect(unknown.last('StepSkipped')).toMatchObject({ reason: 'quiet_hours', opens_at: null });
    expect(told(unknown)).toContain('in a time zone that nobody knows');
    expect(open({ sms: recipient }, { intent: { timeZone: 'Europe/Berlin' } }).attempt('sms').state).toBe('queued');
    expect(open({ sms: { ...recipient, ifUnknown: ['Europe/Berlin'] } }).attempt('sms').state).toBe('queued');
    expect(open({ sms: { ...recipient, ifUnknown: ['Europe/Berlin', 'Asia/Tokyo'] } }).last('StepSkipped')).toMatchObject({ reason: 'quiet_hours' });
  });
  it('is not held where the policy lets its urgency through, and that is told', () => {
    const world = open({ sms: quiet('11:00', '20:00', { except: ['urgent'] }) });
    expect(world.attempt('sms').state).toBe('queued');
    expect(world.start('sms').transitions[0]?.transition.kind).toBe('SubmissionStarted');
    expect(told(world)).toContain('the quiet hours of SMS from 11:00 to 20:00 in UTC (policy example/1) do not hold it, for that policy lets urgent notifications through');
  });
  it('is claimed at a deadline and waits, where its opening comes in time; or is skipped, and the deadline passes', () => {
    const waits = open({ email: quiet('11:00', '12:10') });
    waits.start('sms');
    waits.answer('sms', accepted());
    waits.runTo(40_000);
    expect(waits.attempt('email')).toMatchObject({ state: 'planned', startsAt: START + 10 * MINUTE });
    const late = open({ email: quiet('11:00', '12:20') });
    late.start('sms');
    late.answer('sms', rejected);
    expect(late.kinds().slice(-3)).toEqual(['AttemptRejected', 'StepSkipped', 'NotificationSettled']);
  });
  it('waits beside the others where all start at once', () => {
    const world = open({ email: quiet('11:00', '12:10') }, { policy: { strategy: 'all' } });
    expect([world.attempt('sms').state, world.attempt('email').state]).toEqual(['queued', 'planned']);
  });
});

describe('what waits for the end of quiet hours', () => {
  const waiting = (): World => open({ sms: quiet('11:00', '12:05') });
  it('is closed, and expires, as anything that was not sent', () => {
    const world = waiting();
    world.close();
    expect(world.attempt('sms')).toMatchObject({ state: 'cancelled', reason: 'closed' });
  });
  it('ends where its channel is barred meanwhile, and the next step starts at once', () => {
    const world = waiting();
    world.bar('sms', 'consent_withdrawn');
    world.tick();
    expect([world.attempt('sms').state, world.attempt('sms').reason, world.attempt('email').state]).toEqual(['suppressed', 'consent_withdrawn', 'queued']);
  });
  it('waits on while paused, and starts at the resume', () => {
    const world = waiting();
    world.pause();
    world.runTo(5 * MINUTE + 10_000);
    expect([world.attempt('sms').state, nextDecideAt(world.state)]).toEqual(['planned', world.state.expiresAt]);
    world.resume();
    expect(world.attempt('sms').state).toBe('queued');
  });
  it('waits for the next opening where nobody came by at this one', () => {
    const world = open({ sms: quiet('23:00', '12:05') }, { intent: { expiresAt: START + 48 * 60 * MINUTE }, order: ['sms'] });
    world.jumpTo(11.5 * 60 * MINUTE);
    world.tick();
    expect(world.last('AttemptPostponed')).toMatchObject({ starts_at: START + (24 * 60 + 5) * MINUTE });
    expect(told(world)).toContain('SMS was not submitted at 2026-01-05T23:30:00Z (quiet_hours): it waits until 2026-01-06T12:05:00Z');
  });
});

describe('a submission that comes to lie in quiet hours', () => {
  it('waits for their end where its deadline lets it, under a new job', () => {
    const world = open({ sms: quiet('12:00', '12:02') }, { sms: { decideWithinMs: 5 * MINUTE }, intent: { requestedAt: START } });
    expect(world.attempt('sms').startsAt).toBe(START + 2 * MINUTE);
    const late = open({ sms: quiet('12:01', '12:03') }, { sms: { decideWithinMs: 5 * MINUTE } });
    late.jumpTo(MINUTE);
    expect(late.start('sms').transitions.map(({ transition }) => transition.kind)).toEqual(['AttemptPostponed']);
    expect(late.attempt('sms')).toMatchObject({ state: 'planned', startsAt: START + 3 * MINUTE, requeueAt: null, decisionDeadlineAt: START + 5 * MINUTE });
    late.runTo(3 * MINUTE);
    expect(late.attempt('sms')).toMatchObject({ state: 'queued', generation: 2 });
    expect(late.start('sms').transitions[0]?.transition.kind).toBe('SubmissionStarted');
  });
  it('is over where they end after its deadline: the next step starts at once, whatever the policy escalates on', () => {
    const world = open({ sms: quiet('12:01', '20:00') }, { sms: { decideWithinMs: 5 * MINUTE, escalateWhen: ['failed'] } });
    world.jumpTo(MINUTE);
    world.start('sms');
    expect([world.attempt('sms').state, world.attempt('sms').reason, world.attempt('email').state]).toEqual(['suppressed', 'quiet_hours', 'queued']);
    expect(told(world)).toContain('SMS was not submitted at 2026-01-05T12:01:00Z (quiet_hours; Tocsin found so itself): the quiet hours of SMS from 12:01 to 20:00 in UTC (policy example/1) end only at 2026-01-05T20:00:00Z, which is too late for it. Nothing of it was sent.');
  });
  it('is judged when it is deferred into them, not only once they have begun', () => {
    const world = open({ sms: quiet('12:01', '12:03') }, { sms: { decideWithinMs: 5 * MINUTE } });
    world.jumpTo(50_000);
    world.start('sms');
    world.answer('sms', deferred(20_000));
    expect(world.kinds().slice(-2)).toEqual(['SubmissionDeferred', 'AttemptPostponed']);
    expect(world.attempt('sms')).toMatchObject({ state: 'planned', startsAt: START + 3 * MINUTE, submissions: 1 });
  });
  it('goes on where it is deferred past them', () => {
    const world = open({ sms: quiet('12:01', '12:02') }, { sms: { decideWithinMs: 5 * MINUTE } });
    world.start('sms');
    world.answer('sms', deferred(150_000));
    expect(world.attempt('sms')).toMatchObject({ state: 'queued', retryAt: START + 150_000 });
  });
  it('of which an earlier one may be at the provider is not made again, and held', () => {
    const silent = openWorld({ carriers: RECONCILING, policy: examplePolicy({ order: ['email'], email: { onUnknown: 'replay' }, policy: { regions: { US: { consent: {}, quietHours: { email: quiet('12:01', '20:00') } } } } }) });
    silent.accept();
    silent.jumpTo(59_900);
    silent.start('email');
    silent.answer('email', lost);
    silent.runTo(3 * MINUTE);
    expect(silent.attempt('email')).toMatchObject({ state: 'submitted_unknown', held: true });
    expect(silent.last('ResubmissionWithdrawn')).toMatchObject({ reason: 'quiet_hours', hold: true });
  });
});

describe('a retry by an operator in quiet hours', () => {
  it('waits for their end, and is refused where that is after expiry', () => {
    const world = open({ sms: quiet('12:01', '12:05') }, { order: ['sms'] });
    world.start('sms');
    world.answer('sms', rejected);
    world.jumpTo(2 * MINUTE);
    world.retry('sms');
    expect(world.attempt('sms')).toMatchObject({ sequence: 2, state: 'planned', startsAt: START + 5 * MINUTE });
    const late = open({ sms: quiet('12:01', '20:00') }, { order: ['sms'] });
    late.start('sms');
    late.answer('sms', rejected);
    late.jumpTo(2 * MINUTE);
    expect(late.retry('sms').transitions).toEqual([]);
  });
});
