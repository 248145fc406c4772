import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { retryAttempt } from '../../shared/delivery/retry-attempt.ts';
import { addressPrint, suppressDestination } from '../../shared/delivery/suppression.ts';
import { detailsOf } from '../../shared/delivery/notification-view.ts';
import { explain } from '../../shared/domain/explain.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { describeOnBackends } from '../support/backends.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

describeOnBackends('a destination that must not be contacted', (backend) => {
  let world: World;
  let line = 0;
  beforeAll(async () => { world = await openWorld({ backend }); });
  afterAll(() => world.close());

  /** A number of its own, with a script for what becomes of its messages. */
  const scripted = (script: unknown[]): string => {
    line += 1;
    const number = `+1202555${String(1_600 + line)}`;
    expect(world.sandbox.setScenario(number, script as never)).toBeNull();
    return number;
  };
  const accept = (number: string): Promise<string> => {
    const consent = [{ channel: 'sms' as const, basis: 'consent', reference: 'c' }, { channel: 'email' as const, basis: 'consent', reference: 'c' }];
    return world.accept('00', { recipient: { ref: number.slice(-4), sms: number, email: `r${number.slice(-4)}@example.com`, region: 'US', locale: 'en', timeZone: null, consent } });
  };
  const got = (eventId: string, channel: string) =>
    [...world.sandbox.messages(), ...world.sandbox.refused()].filter((message) => message.attempt_key?.startsWith(`${eventId}.${channel}`)).length;
  const emailed = (eventId: string) => world.until(eventId, (state) => state.attempts.some((attempt) => attempt.channel === 'email' && attempt.state === 'submitted'));
  const listed = (eventId: string) => world.ask('SELECT channel, reason, source, address_print, sender_print FROM suppression WHERE event_id = $1', [eventId]);
  const told = async (eventId: string): Promise<string> => {
    const state = await world.state(eventId);
    const { policy } = await world.engine.versions.bind(state.purpose, state.policyVersion);
    const entries = (await readEntries(world.engine.db, eventId)).map((entry) => ({ at: entry.at.getTime(), kind: entry.kind, details: detailsOf(entry) }));
    return explain(state, entries, policy).join('\n');
  };
  const onTheList = (number: string) => ({
    channel: 'sms', reason: 'opted_out', source: 'provider', address_print: addressPrint(world.engine.ring, 'sms', number),
    sender_print: Buffer.from(world.engine.senderPrints.sms ?? '', 'hex'),
  });

  test('fault 8: accepted at create, later failed as opted-out -> suppressed, and on the suppression list with recipient and sender', async () => {
    const number = scripted([{ submit: 'accept' }, { status: 'failed', afterMs: 1_000, errorCode: 21610 }]);
    const first = await accept(number);
    await world.until(first, (state) => state.attempts[0]?.state === 'submitted');
    await world.advance(8_000);
    await emailed(first);
    expect((await world.state(first)).attempts[0]).toMatchObject({ state: 'suppressed', reason: 'opted_out', submissions: 1 });
    expect(await listed(first)).toEqual([onTheList(number)]);
    expect(await told(first)).toContain('its destination is on the suppression list from then on');

    const second = await accept(number);
    await emailed(second);
    const state = await world.state(second);
    expect(state.steps.map(({ channel, phase, reason }) => [channel, phase, reason])).toEqual([['sms', 'skipped', 'suppressed'], ['email', 'started', null]]);
    expect([got(second, 'sms'), got(second, 'email')]).toEqual([0, 1]);
    expect(await told(second)).toContain('(suppressed): its destination is on the suppression list');
  });

  test('fault 18: suppression seen only after acceptance -> suppressed, whatever the status itself says', async () => {
    const number = scripted([{ submit: 'accept' }, { status: 'sent', afterMs: 500 }, { status: 'undelivered', afterMs: 7_000, errorCode: 21610 }]);
    const eventId = await accept(number);
    await world.until(eventId, (state) => state.attempts[0]?.state === 'submitted');
    await world.advance(12_000);
    await emailed(eventId);
    expect((await world.state(eventId)).attempts[0]).toMatchObject({ state: 'suppressed', reason: 'opted_out' });
    expect(await listed(eventId)).toEqual([onTheList(number)]);
  });

  test('an opt-out told at the submission itself is on the list, and a retry is refused as suppressed', async () => {
    const number = scripted([{ submit: 'reject', code: 21610 }]);
    const eventId = await accept(number);
    await emailed(eventId);
    expect(await listed(eventId)).toEqual([onTheList(number)]);
    const retried = await retryAttempt(world.engine, { tenant: null, attempt: `${eventId}.sms.1`, reason: 'checked', overrides: { evenIfDelivered: true, acceptDuplicate: true }, actor: 'operator', requestId: 'r' });
    expect(retried).toEqual({ kind: 'refused', refusal: 'suppressed' });
    expect(got(eventId, 'sms')).toBe(1);
  });

  test('one that is suppressed while its submission waits to be tried again gets no more of it, and the email goes at once', async () => {
    const number = scripted([{ submit: 'throttle', retryAfter: 1 }]);
    const eventId = await accept(number);
    await world.until(eventId, (state) => state.attempts[0]?.submissions === 1 && state.attempts[0].state === 'queued');
    expect(await suppressDestination(world.engine, { tenant: 'default', channel: 'sms', address: number, reason: 'requested', actor: 'operator' })).toBe(true);
    await world.advance(3_000);
    await emailed(eventId);
    expect((await world.state(eventId)).attempts[0]).toMatchObject({ state: 'suppressed', reason: 'suppressed', submissions: 1 });
    expect([got(eventId, 'sms'), got(eventId, 'email')]).toEqual([1, 1]);
    expect(await told(eventId)).toContain('which counts as a step that was skipped: so email was claimed at once');
  });

  test('on every channel leaves the notification suppressed, with nothing sent', async () => {
    const number = scripted([{ submit: 'accept' }]);
    for (const [channel, address] of [['sms', number], ['email', `r${number.slice(-4)}@example.com`]] as const) {
      await suppressDestination(world.engine, { tenant: 'default', channel, address, reason: 'requested', actor: 'operator' });
    }
    const eventId = await accept(number);
    expect([await world.status(eventId), (await world.state(eventId)).settledAt]).toEqual(['suppressed', world.now()]);
    expect([got(eventId, 'sms'), got(eventId, 'email')]).toEqual([0, 0]);
  });
});
