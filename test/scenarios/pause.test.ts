import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pauseNotification, resumeNotification } from '../../shared/delivery/pause-notification.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { describeOnBackends } from '../support/backends.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

describeOnBackends('a paused notification', (backend) => {
  let world: World;
  beforeAll(async () => { world = await openWorld({ backend, providerTimeoutMs: 1_000 }); });
  afterAll(() => world.close());

  const request = (eventId: string) => ({ tenant: null, eventId, reason: 'wrong_person', actor: 'ana', requestId: 'p' });
  const pause = (eventId: string) => pauseNotification(world.engine, request(eventId));
  const resume = (eventId: string) => resumeNotification(world.engine, request(eventId));
  const got = (eventId: string, channel: string) => world.sandbox.messages().filter((message) => message.attempt_key?.startsWith(`${eventId}.${channel}`)).length;
  const emailed = (eventId: string) => world.until(eventId, (state) => state.attempts[1]?.state === 'submitted');

  test('is polled past its deadline and claims no email; once resumed, the email is sent at once, and once', async () => {
    const eventId = await world.accept('03');
    await world.until(eventId, (state) => state.attempts[0]?.state === 'submitted');
    expect(await pause(eventId)).toMatchObject({ kind: 'paused', inFlight: false });
    const deadline = (await world.state(eventId)).attempts[0]?.decisionDeadlineAt as number;
    await world.advance(60_000);
    const polls = (await readEntries(world.engine.db, eventId)).filter((entry) => entry.kind === 'StatusObserved');
    expect(polls.some((entry) => entry.at.getTime() > deadline)).toBe(true);
    expect(await world.kinds(eventId)).not.toContain('FallbackClaimed');
    await resume(eventId);
    // The claim rests on a poll; where the newest is too old, one more look is taken first.
    await world.advance(4_000);
    await emailed(eventId);
    expect([got(eventId, 'sms'), got(eventId, 'email')]).toEqual([1, 1]);
  });

  test('whose SMS waits for a retry sends nothing while paused, and sends it once resumed', async () => {
    await world.sandbox.setOutage('sms', 'closed');
    const eventId = await world.accept('01');
    await world.until(eventId, (state) => (state.attempts[0]?.generation ?? 0) > 1);
    await pause(eventId);
    await world.sandbox.setOutage('sms', 'off');
    world.jump(10_000);
    await world.coordinator.sweep();
    expect((await world.state(eventId)).attempts[0]).toMatchObject({ state: 'queued' });
    expect(got(eventId, 'sms')).toBe(0);
    await resume(eventId);
    await world.until(eventId, (state) => state.attempts[0]?.state === 'submitted');
    expect(got(eventId, 'sms')).toBe(1);
    await world.advance(25_000);
    expect(await world.status(eventId)).toBe('delivered');
  });

  test('names a call in flight, and keeps what came of it', async () => {
    const number = '+12025551901';
    expect(world.sandbox.setScenario(number, [{ submit: 'accept', answerAfterMs: 250 }, { status: 'delivered', afterMs: 2_000 }] as never)).toBeNull();
    const consent = [{ channel: 'sms' as const, basis: 'consent', reference: 'c' }];
    const eventId = await world.accept('00', { recipient: { ref: 'held', sms: number, email: null, region: 'US', locale: 'en', timeZone: null, consent } });
    await world.until(eventId, (state) => state.attempts[0]?.state === 'submitting');
    expect(await pause(eventId)).toMatchObject({ kind: 'paused', inFlight: true });
    await world.until(eventId, (state) => state.attempts[0]?.state === 'submitted');
    await world.advance(25_000);
    expect(await world.status(eventId)).toBe('delivered');
  });
});
