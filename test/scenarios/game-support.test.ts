import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readEntries } from '../../shared/ledger/reads.ts';
import { describeOnBackends } from '../support/backends.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

describeOnBackends('an urgent ticket', (backend) => {
  let world: World;
  beforeAll(async () => { world = await openWorld({ backend }); });
  afterAll(() => world.close());

  const submitted = (eventId: string) => world.until(eventId, (state) => state.attempts[0]?.state === 'submitted');
  const received = (eventId: string, channel: string) => world.sandbox.messages().filter((message) => message.attempt_key?.startsWith(`${eventId}.${channel}`));
  const count = async (eventId: string, kind: string) => (await world.kinds(eventId)).filter((one) => one === kind).length;

  test('whose SMS is never confirmed ends in exactly one email at the deadline, as sent', async () => {
    const eventId = await world.accept('03');
    const at = (await submitted(eventId)).attempts[0]?.decisionDeadlineAt as number;
    await world.advance(40_000);
    const state = await world.until(eventId, (one) => one.attempts[1]?.state === 'submitted');
    const claim = (await readEntries(world.engine.db, eventId)).find((entry) => entry.kind === 'FallbackClaimed');
    expect(claim?.at.getTime()).toBe(at);
    expect(received(eventId, 'sms')).toHaveLength(1);
    expect(received(eventId, 'email')).toHaveLength(1);
    expect(await world.status(eventId)).toBe('sent');
    expect(state.steps.map((step) => step.channel)).toEqual(['sms', 'email']);
    await world.advance(1_800_000);
    expect(received(eventId, 'email')).toHaveLength(1);
    expect((await world.state(eventId)).settledAt).not.toBeNull();
  });

  test('is polled at 5, 10 and 20 s within the jitter, and once more two seconds before the deadline', async () => {
    const eventId = await world.accept('03');
    const acceptedAt = (await submitted(eventId)).attempts[0]?.submittedAt as number;
    await world.advance(29_000);
    const polls = (await readEntries(world.engine.db, eventId)).filter((entry) => entry.kind === 'StatusObserved').map((entry) => entry.at.getTime() - acceptedAt);
    expect(polls).toHaveLength(4);
    [5_000, 10_000, 20_000].forEach((offset, index) => {
      expect(polls[index]).toBeGreaterThanOrEqual(offset * 0.9);
      expect(polls[index]).toBeLessThanOrEqual(offset * 1.1 + 500);
    });
    expect(polls[3]).toBeGreaterThan(27_000);
    await world.advance(2_000_000);
  });

  test('whose SMS is delivered ends as delivered without an email', async () => {
    const eventId = await world.accept('01');
    await submitted(eventId);
    await world.advance(60_000);
    expect(await world.status(eventId)).toBe('delivered');
    expect(received(eventId, 'email')).toHaveLength(0);
    expect(await count(eventId, 'FallbackClaimed')).toBe(0);
    expect((await world.state(eventId)).settledAt).not.toBeNull();
  });

  test('whose SMS is undelivered claims the email at once, before the deadline', async () => {
    const eventId = await world.accept('02');
    const deadline = (await submitted(eventId)).attempts[0]?.decisionDeadlineAt as number;
    await world.advance(8_000);
    const state = await world.until(eventId, (one) => one.attempts[1]?.state === 'submitted');
    expect(state.attempts[0]?.state).toBe('undelivered');
    expect(state.attempts[1]?.plannedAt).toBeLessThan(deadline);
    expect(await world.status(eventId)).toBe('sent');
  });

  test('whose SMS is confirmed late becomes delivered, and nothing else is sent', async () => {
    const eventId = await world.accept('04');
    await submitted(eventId);
    await world.advance(31_000);
    await world.until(eventId, (one) => one.attempts[1]?.state === 'submitted');
    expect(await world.status(eventId)).toBe('sent');
    await world.advance(60_000);
    expect(await world.status(eventId)).toBe('delivered');
    expect((await world.state(eventId)).attempts.map((attempt) => attempt.state)).toEqual(['delivered', 'submitted']);
    expect([received(eventId, 'sms').length, received(eventId, 'email').length]).toEqual([1, 1]);
  });

  test('whose SMS is rejected claims the email at once, with one POST', async () => {
    const eventId = await world.accept('05');
    const state = await world.until(eventId, (one) => one.attempts[1]?.state === 'submitted');
    expect(state.attempts[0]).toMatchObject({ state: 'rejected', reason: 'invalid_destination', submissions: 1 });
    expect(await world.status(eventId)).toBe('sent');
  });

  test('whose SMS is throttled first ends in one accepted message', async () => {
    const eventId = await world.accept('06');
    await world.until(eventId, (one) => one.attempts[0]?.generation === 2);
    await world.advance(3_000);
    await submitted(eventId);
    await world.advance(30_000);
    expect(await world.status(eventId)).toBe('delivered');
    expect([received(eventId, 'sms').length, received(eventId, 'email').length]).toEqual([1, 0]);
    expect(await count(eventId, 'SubmissionDeferred')).toBe(1);
  });

  test('whose answer is lost is unknown, never sent twice, and adopted where the look-up finds exactly one match', async () => {
    const eventId = await world.accept('07');
    await world.until(eventId, (one) => one.attempts[0]?.state === 'submitted_unknown');
    await world.advance(40_000);
    await world.until(eventId, (one) => one.attempts[1]?.state === 'submitted');
    expect(await count(eventId, 'AttemptAdopted')).toBe(1);
    expect([received(eventId, 'sms').length, received(eventId, 'email').length]).toEqual([1, 1]);
    expect(await count(eventId, 'SubmissionStarted')).toBe(2);
  });

  test('whose lost message cannot be found stays unknown, and the email follows at the deadline', async () => {
    const number = '+12025550177';
    expect(world.sandbox.setScenario(number, [{ submit: 'lose_response' }, { listed: false }])).toBeNull();
    const recipient = { ref: 'r77', sms: number, email: 'r77@example.com', region: 'US', locale: 'en', timeZone: null, consent: [{ channel: 'sms' as const, basis: 'consent', reference: 'c' }, { channel: 'email' as const, basis: 'consent', reference: 'c' }] };
    const eventId = await world.accept('77', { recipient });
    await world.until(eventId, (one) => one.attempts[0]?.state === 'submitted_unknown');
    await world.advance(40_000);
    const state = await world.until(eventId, (one) => one.attempts[1]?.state === 'submitted');
    expect(state.attempts[0]?.state).toBe('submitted_unknown');
    expect([received(eventId, 'sms').length, received(eventId, 'email').length]).toEqual([1, 1]);
    expect(await world.status(eventId)).toBe('sent');
  });
});
