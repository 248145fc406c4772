import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { reviewAlerts } from '../../shared/delivery/alerts.ts';
import { surveyRisks } from '../../shared/delivery/at-risk.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { notificationView } from '../../shared/delivery/notification-view.ts';
import { retryAttempt } from '../../shared/delivery/retry-attempt.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import type { Channel } from '../../shared/domain/words.ts';
import { readEntries, readNotification } from '../../shared/ledger/reads.ts';
import { verifyNotifications } from '../../shared/ledger/verify-database.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import { notification as answered } from '../../services/intake/api-answers.ts';
import { toEntry } from '../../services/cli/ledger-session.ts';
import { drawTimeline } from '../../services/cli/draw-timeline.ts';
import { timelineView } from '../../services/cli/timeline-view.ts';
import { expectAnswers } from '../support/answers.ts';
import { describeOnBackends } from '../support/backends.ts';
import { recordOf } from '../support/ends.ts';
import { golden } from '../support/golden.ts';
import { shippedPolicies, untiringPolicies, urgentRequest } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const MINUTE = 60_000;

/** The shipped urgent policy with some of its steps in shadow, each as a purpose of its own. */
const shadowing = (purpose: string, channels: readonly Channel[]): Policy => {
  const urgent = shippedPolicies().find((policy) => policy.purpose === 'game-support-urgent') as Policy;
  return { ...urgent, purpose, version: 1, steps: urgent.steps.map((step) => (channels.includes(step.channel) ? { ...step, shadow: true } : step)) };
};
const POLICIES = [...untiringPolicies(), shadowing('sms-in-shadow', ['sms']), shadowing('email-in-shadow', ['email']), shadowing('all-in-shadow', ['sms', 'email'])];

/** Two workers end a shadow and submit the other step in either order: what ran in shadow is told behind what was planned. */
const orderly = (text: string): string => {
  const lines = text.split('\n');
  const isShadow = (line: string): boolean => line.includes('would have been submitted');
  const others = lines.filter((line) => !isShadow(line));
  others.splice(others.findLastIndex((line) => line.includes('was planned at')) + 1, 0, ...lines.filter(isShadow).sort());
  return others.join('\n');
};

describeOnBackends('a step in shadow', (backend) => {
  let world: World;
  beforeAll(async () => { world = await openWorld({ backend, policies: POLICIES, random: () => 0.5, startAt: Date.UTC(2026, 10, 30, 12) }); });
  afterAll(() => world.close());

  const is = (channel: Channel, ...states: string[]) => ({ attempts }: NotificationState): boolean => attempts.some((one) => one.channel === channel && states.includes(one.state));
  const accept = (ending: string, purpose: string): Promise<string> => world.accept(ending, { purpose });
  const got = (eventId: string): string[] => [...world.sandbox.messages(), ...world.sandbox.refused()].filter((one) => one.attempt_key?.startsWith(eventId)).map((one) => String(one.attempt_key).split('.')[1] as string);
  const count = async (text: string, eventId: string): Promise<number> => Number((await world.ask(text, [eventId]))[0]?.['n']);
  const deadLetters = (eventId: string): Promise<number> => count('SELECT count(*) AS n FROM dead_letter WHERE event_id = $1', eventId);
  const submissions = (eventId: string, channel: Channel): Promise<number> => count(`SELECT count(*) AS n FROM ledger_entry WHERE event_id = $1 AND kind = 'SubmissionStarted' AND attempt_key LIKE '%.${channel}.%'`, eventId);
  const counted = async (name: string): Promise<number> => (await world.engine.metrics.scrape()).text.split('\n')
    .filter((line) => line.startsWith(`${name}{`)).reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  const ends = async (eventId: string, name: string): Promise<void> => {
    await world.advance(45 * MINUTE);
    await expectAnswers(world, eventId, `shadow/${name}`);
    const text = orderly(await recordOf(world, eventId));
    expect(text).toBe(golden(new URL(`./golden/shadow/${name}.txt`, import.meta.url), text));
  };

  test('as the first one: the real one goes at once, and the provider of the other is never called', async () => {
    const eventId = await accept('03', 'sms-in-shadow');
    await world.until(eventId, (state) => is('sms', 'shadowed')(state) && is('email', 'submitted')(state));
    expect([got(eventId), await submissions(eventId, 'sms'), await deadLetters(eventId)]).toEqual([['email'], 0, 0]);
    expect(await world.status(eventId)).toBe('sent');
    await ends(eventId, 'first-step');
  });

  test('as the fallback: it is not claimed when the real one fails, and nobody is alarmed', async () => {
    const claims = await counted('tocsin_fallbacks_claimed_total');
    const eventId = await accept('02', 'email-in-shadow');
    await world.until(eventId, (state) => is('email', 'shadowed')(state) && is('sms', 'submitted')(state));
    await world.advance(30_000);
    await world.until(eventId, is('sms', 'undelivered'));
    expect([got(eventId), await submissions(eventId, 'email'), await deadLetters(eventId), await world.status(eventId)]).toEqual([['sms'], 0, 0, 'undelivered']);
    expect(await counted('tocsin_fallbacks_claimed_total')).toBe(claims);
    await ends(eventId, 'fallback');
  });

  test('everywhere: it settles as shadowed, keeps no payload that it needs no more, and no operator can send it', async () => {
    const calls = await counted('tocsin_submissions_total');
    const eventId = await accept('01', 'all-in-shadow');
    const state = await world.until(eventId, (one) => one.settledAt !== null);
    expect(state.attempts.map((one) => [one.channel, one.state, one.renderHash === null, one.submissions])).toEqual([['sms', 'shadowed', false, 0], ['email', 'shadowed', false, 0]]);
    expect([got(eventId), await world.status(eventId), await counted('tocsin_submissions_total')]).toEqual([[], 'shadowed', calls]);
    expect(state.payload?.destroyed['secrets']).toBe(state.settledAt);
    const retried = await retryAttempt(world.engine, { tenant: null, attempt: `${eventId}.sms.1`, actor: 'operator', requestId: 'retry', reason: 'checked', overrides: { evenIfDelivered: true, acceptDuplicate: true } });
    expect(retried).toMatchObject({ kind: 'refused', refusal: 'shadow' });
    await ends(eventId, 'every-step');
  });

  test('is told by the API and drawn by the timeline', async () => {
    const eventId = await accept('01', 'sms-in-shadow');
    await world.until(eventId, (state) => is('sms', 'shadowed')(state) && is('email', 'submitted')(state));
    const record = await readNotification(world.engine.db, { eventId });
    if (!record) throw new Error('no notification');
    const view = answered.parse(notificationView(record, await world.engine.versions.bind(record.purpose, record.policyVersion)));
    expect(view.steps).toMatchObject([{ channel: 'sms', shadow: true }, { channel: 'email' }]);
    expect(view.attempts).toMatchObject([{ channel: 'sms', outcome: 'shadowed', shadow: true, submitted_at: null }, { channel: 'email', outcome: 'submitted' }]);
    const picture = drawTimeline(timelineView(await world.state(eventId), (await readEntries(world.engine.db, eventId)).map(toEntry)), 100, world.now());
    expect(picture).toMatch(/^sms .*P.*Q.*s/m);
    expect(picture).toContain('s in shadow, not sent');
    await world.advance(45 * MINUTE);
  });

  test('whose message cannot be made refuses no intent, and is a finding in the record', async () => {
    // Too long for the email; the text does not have it.
    const long = urgentRequest('03', {}).variables;
    const eventId = await world.accept('01', { purpose: 'email-in-shadow', variables: (event) => ({ ...long(event), message: 'x'.repeat(20_001) }) });
    const state = await world.until(eventId, is('sms', 'submitted'));
    expect(state.attempts.find((one) => one.channel === 'email')).toMatchObject({ state: 'render_failed', reason: 'render_error', shadow: true });
    expect(await deadLetters(eventId)).toBe(0);
    await world.advance(45 * MINUTE);
    expect(await world.status(eventId)).toBe('delivered');
  });

  test('everywhere puts nothing at risk, tells nobody and counts nowhere, also where no worker and no sweep comes until it has expired', async () => {
    const counters = ['tocsin_attempts_ended_total', 'tocsin_unresolved_at_deadline_total', 'tocsin_completion_seconds_count', 'tocsin_dead_letters_total', 'tocsin_duplicates_prevented_total', 'tocsin_cost_estimate_total'];
    const standing = (): Promise<number[]> => Promise.all(counters.map(counted));
    await world.advance(45 * MINUTE);
    const before = await standing();
    let waiting = '';
    await world.whileDown(async () => {
      waiting = await accept('01', 'all-in-shadow');
      for (const minutes of [1, 7, 6]) {
        world.jump(minutes * MINUTE);
        expect((await surveyRisks(world.engine, { also: [waiting] })).rows).toEqual([]);
        expect(await reviewAlerts(world.engine, [])).toEqual({ raised: [], ended: [] });
      }
      world.jump(2 * MINUTE);
    });
    await world.until(waiting, (state) => state.settledAt !== null);
    const closed = await accept('01', 'all-in-shadow');
    await closeNotification(world.engine, { tenant: null, eventId: closed, reason: 'consumed', actor: 'test', requestId: 'close' });
    await world.until(await accept('01', 'all-in-shadow'), (state) => state.settledAt !== null);
    expect(await standing()).toEqual(before);
  });

  test('leaves a ledger that verifies', async () => {
    const faults = collectFaults();
    await verifyNotifications(world.engine.db, { faults, ring: world.engine.ring });
    expect(faults.list).toEqual([]);
  });

  test('cannot be called submitted by the database either', async () => {
    const eventId = await accept('01', 'all-in-shadow');
    await world.until(eventId, (one) => one.settledAt !== null);
    await expect(world.ask(`UPDATE attempt SET submitted_at = planned_at WHERE event_id = $1`, [eventId])).rejects.toThrow('attempt_shadowed_unsubmitted');
  });

  test('goes on after its queue was lost', async () => {
    await world.takeQueueAway();
    const eventId = await accept('01', 'all-in-shadow');
    await world.giveQueueBack();
    await world.advance(60_000);
    expect((await world.until(eventId, (one) => one.settledAt !== null)).attempts.map((one) => one.state)).toEqual(['shadowed', 'shadowed']);
  });
});
