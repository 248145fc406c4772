import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLogger } from '../../shared/telemetry/logger.ts';
import { describeOnBackends } from '../support/backends.ts';
import { untiringPolicies } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import { faultsOf } from './support.ts';
import type { Faults } from './support.ts';

const ACCEPT = { submit: 'accept' };
/** As shipped, but retried in an instant: the queue counts its delays by the host's clock, which no test moves. */
const policies = untiringPolicies().map((policy) => ({ ...policy, steps: policy.steps.map((step) => ({ ...step, transportRetry: { maxSubmissions: 3, baseMs: 20, capMs: 40 } })) }));

describeOnBackends('what a provider says', (backend) => {
  let world: World;
  let faults: Faults;
  const errors: string[] = [];
  beforeAll(async () => {
    const log = createLogger({ level: 'error', service: 'test', redactPaths: [], destination: { write: (text: string) => { errors.push(text); } } });
    world = await openWorld({ backend, providerTimeoutMs: 2_000, policies, log });
    faults = faultsOf(world);
  });
  afterAll(() => world.close());

  test('fault 6: a status of 404 a few times and then delivered ends as delivered', async () => {
    const eventId = await faults.send({ sms: [ACCEPT, { notFoundTimes: 2 }, { status: 'delivered', afterMs: 1_000 }], email: [ACCEPT] });
    await faults.answered(eventId, 'sms');
    await faults.pass(28_500);
    expect((await faults.observed(eventId)).map(({ outcome }) => outcome)).toEqual(['not_found', 'not_found']);
    expect([await world.status(eventId), faults.got(eventId, 'email')]).toEqual(['delivered', 0]);
  });

  test('fault 7: a 404 within the grace is not yet visible, never failed: nothing is claimed before the deadline, and nothing called failed after it', async () => {
    const eventId = await faults.send({ sms: [ACCEPT, { notFoundTimes: 1_000 }], email: [ACCEPT] });
    const deadline = (await faults.answered(eventId, 'sms')).attempts[0]?.decisionDeadlineAt;
    await faults.pass(25_000);
    expect([await world.status(eventId), (await faults.attempt(eventId, 'sms'))?.state, faults.calls(eventId, 'email')]).toEqual(['in_progress', 'submitted', 0]);
    await faults.pass(1_800_000);
    expect(await faults.claimedAt(eventId)).toBe(deadline);
    expect(await faults.attempt(eventId, 'sms')).toMatchObject({ state: 'submitted', reason: 'grace_ended' });
  });

  test('fault 9: sending after sent is ignored, and kept as evidence', async () => {
    const eventId = await faults.send({ sms: [ACCEPT, { status: 'sent', afterMs: 1_000 }, { status: 'sending', afterMs: 7_000 }], email: [ACCEPT] });
    await faults.answered(eventId, 'sms');
    await faults.pass(12_000);
    expect((await faults.observed(eventId)).map(({ outcome }) => outcome)).toEqual(['accepted', 'pending']);
    expect((await faults.attempt(eventId, 'sms'))?.evidence).toMatchObject({ outcome: 'accepted' });
  });

  test('fault 10: every end has a reason, which says whether the provider said it or we failed', async () => {
    const ends: [string, unknown[], string, string, string][] = [
      ['refused at the submit', [{ submit: 'reject', code: 21408, httpStatus: 403 }], 'rejected', 'blocked_region', 'provider'],
      ['opted out', [{ submit: 'reject', code: 21610 }], 'suppressed', 'opted_out', 'provider'],
      ['undelivered', [ACCEPT, { status: 'undelivered', afterMs: 1_000 }], 'undelivered', 'invalid_destination', 'provider'],
      ['undelivered without a code that we know', [ACCEPT, { status: 'undelivered', afterMs: 1_000, errorCode: 39_999 }], 'undelivered', 'carrier_failed', 'provider'],
      ['cancelled there', [ACCEPT, { status: 'canceled', afterMs: 1_000 }], 'rejected', 'cancelled_at_provider', 'provider'],
      ['never heard of again', [{ submit: 'hang' }], 'submitted_unknown', 'request_timeout', 'tocsin'],
    ];
    const throttled = await faults.send({ sms: [{ submit: 'throttle', retryAfter: 0 }] });
    for (let submissions = 1; submissions <= 3; submissions += 1) {
      await faults.soon(throttled, (state) => state.attempts[0]?.submissions === submissions && state.attempts[0].state !== 'submitting');
      world.jump(100);
    }
    expect(await faults.attempt(throttled, 'sms')).toMatchObject({ state: 'dead_lettered', reason: 'retries_exhausted' });
    const sent = await Promise.all(ends.map(async ([, script]) => faults.send({ sms: script })));
    await Promise.all(sent.map((eventId) => faults.answered(eventId, 'sms')));
    await faults.pass(1_800_000);
    const rows = await world.ask('SELECT event_id, state, reason, reason_by FROM attempt WHERE event_id = ANY($1)', [sent]);
    const ofEvent = new Map(rows.map((row) => [row['event_id'], [row['state'], row['reason'], row['reason_by']]]));
    expect(ends.map(([name], index) => [name, ofEvent.get(sent[index])])).toEqual(ends.map(([name, , ...end]) => [name, end]));
  });

  test.each([
    ['failed', 'undelivered'], ['undelivered', 'undelivered'], ['canceled', 'undelivered'],
  ])('fault 11: %s is never shown as delivered', async (said, shown) => {
    const eventId = await faults.send({ sms: [ACCEPT, { status: said, afterMs: 1_000 }, { status: 'delivered', afterMs: 8_000 }] });
    await faults.answered(eventId, 'sms');
    await faults.pass(1_800_000);
    expect(await world.status(eventId)).toBe(shown);
    const [row] = await world.ask('SELECT status FROM notification_state WHERE event_id = $1', [eventId]);
    expect(row?.['status']).toBe(shown);
  });

  test('fault 12: a temporary carrier error is tried again; undelivered is the end of it, with one POST and the email', async () => {
    const later = await faults.send({ sms: [{ submit: 'reject', code: 30001 }, ACCEPT, { status: 'delivered', afterMs: 1_000 }], email: [ACCEPT] });
    expect((await faults.answered(later, 'sms')).attempts[0]).toMatchObject({ state: 'queued', reason: 'quota_exhausted' });
    await faults.pass(20_000);
    expect([await world.status(later), faults.got(later, 'sms'), faults.got(later, 'email')]).toEqual(['delivered', 1, 0]);
    const ended = await faults.send({ sms: [ACCEPT, { status: 'undelivered', afterMs: 1_000 }], email: [ACCEPT] });
    await faults.answered(ended, 'sms');
    await faults.pass(8_000);
    await faults.answered(ended, 'email');
    expect([(await faults.attempt(ended, 'sms'))?.state, faults.calls(ended, 'sms'), faults.got(ended, 'email')]).toEqual(['undelivered', 1, 1]);
  });

  test('fault 13: a landline: one POST, the email at once, and no error of ours', async () => {
    errors.length = 0;
    const eventId = await faults.send({ sms: [{ submit: 'reject', code: 21614 }], email: [ACCEPT] });
    const state = await faults.answered(eventId, 'email');
    expect(state.attempts.map((attempt) => attempt.state)).toEqual(['rejected', 'submitted']);
    expect(state.attempts[1]?.plannedAt).toBe(world.now());
    expect([faults.calls(eventId, 'sms'), errors]).toEqual([1, []]);
  });

  test('fault 14: an SMS that says sent for ever does not hold up the email at the deadline', async () => {
    const eventId = await faults.send({ sms: [ACCEPT, { status: 'never' }], email: [ACCEPT] });
    const deadline = (await faults.answered(eventId, 'sms')).attempts[0]?.decisionDeadlineAt;
    await faults.pass(31_000);
    expect(await faults.claimedAt(eventId)).toBe(deadline);
    await faults.answered(eventId, 'email');
    expect([faults.got(eventId, 'sms'), faults.got(eventId, 'email'), await world.status(eventId)]).toEqual([1, 1, 'sent']);
  });

  test('fault 29: a permanent 4xx makes one attempt with one POST, also where its code is new to us', async () => {
    for (const code of [21_211, 54_321]) {
      const eventId = await faults.send({ sms: [{ submit: 'reject', code, httpStatus: 400 }], email: [ACCEPT] });
      await faults.answered(eventId, 'sms');
      // Or half an hour passes in the middle of the call, which is then unknown.
      await faults.answered(eventId, 'email');
      await faults.pass(1_800_000);
      const state = await world.state(eventId);
      expect(state.attempts.map((attempt) => [attempt.key, attempt.state, attempt.submissions])).toEqual([[`${eventId}.sms.1`, 'rejected', 1], [`${eventId}.email.1`, 'submitted', 1]]);
      expect(faults.calls(eventId, 'sms')).toBe(1);
    }
  });
});
