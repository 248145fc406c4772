import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { withdrawConsent } from '../../shared/delivery/consent.ts';
import type { Channel } from '../../shared/domain/words.ts';
import { describeOnBackends } from '../support/backends.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import { has, openAsking } from './eligibility-support.ts';

describeOnBackends('a consent that is taken back', (backend) => {
  let world: World;
  let asking: ReturnType<typeof openAsking>;
  beforeAll(async () => {
    world = await openWorld({ backend, transports: { sms: 'twilio', email: 'resend' }, random: () => 0.5, startAt: Date.UTC(2026, 10, 29, 12) });
    asking = openAsking(world);
  });
  afterAll(() => world.close());
  const withdraw = (channel: Channel, address: string, basis: string | null = null): Promise<boolean> =>
    withdrawConsent(world.engine, { tenant: 'default', channel, address, basis, reason: 'requested', actor: 'operator' });

  test('ends the email of a reset that waits to be tried again, and its text goes at once', async () => {
    const { eventId, email, sms } = await asking.ask({ purpose: 'password-reset', email: [{ submit: 'throttle', retryAfter: 20 }, { submit: 'accept' }] });
    await world.until(eventId, (state) => state.attempts[0]?.submissions === 1 && state.attempts[0].state === 'queued');
    expect(await withdraw('email', email)).toBe(true);
    await world.advance(30_000);
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    expect((await world.state(eventId)).attempts[0]).toMatchObject({ state: 'suppressed', reason: 'consent_withdrawn', submissions: 1 });
    await asking.ends(eventId, 'reset-whose-consent-was-taken-back');
    // The first call alone reached the provider, and was put off there.
    expect([[...world.sandbox.messages({ to: email }), ...world.sandbox.refused()].filter((message) => message.attempt_key === `${eventId}.email.1`).length, asking.received(sms)]).toEqual([1, 1]);
  });

  test('bars the text of an order at its claim, since it has no other basis; nothing else is held up', async () => {
    const { eventId, sms } = await asking.ask({ purpose: 'seller-order', email: [{ status: 'queued', afterMs: 0 }], bases: ['contract'] });
    await world.until(eventId, has('email', 'submitted'));
    await withdraw('sms', sms, 'consent');
    await withdraw('sms', sms, 'contract');
    await asking.ends(eventId, 'order-whose-contract-ended');
    expect(asking.received(sms)).toBe(0);
  });

  test('leaves what has another basis alone', async () => {
    const { eventId, sms } = await asking.ask({ purpose: 'seller-order', email: [{ submit: 'reject', code: 422 }], bases: ['contract', 'consent'] });
    await withdraw('sms', sms, 'consent');
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    expect(asking.received(sms)).toBe(1);
    await asking.ends(eventId, 'order-with-a-basis-left');
  });

  test('skips the text of a report, and the page of an on-call whose duty ended: the email starts', async () => {
    const first = await asking.ask({ purpose: 'game-support-urgent' });
    await world.until(first.eventId, has('sms', 'submitted', 'delivered'));
    await withdraw('sms', first.sms, 'on_call_duty');
    await withdraw('sms', first.sms, 'report_notice');
    const page = await asking.ask({ purpose: 'game-support-urgent', bases: ['on_call_duty'], to: first });
    const report = await asking.ask({ purpose: 'account-report', bases: ['contract', 'report_notice'], to: first });
    for (const { eventId } of [page, report]) await world.until(eventId, has('email', 'submitted', 'delivered'));
    expect(asking.received(first.sms)).toBe(1);
    await asking.ends(page.eventId, 'page-whose-duty-ended');
    await asking.ends(report.eventId, 'report-whose-notice-was-taken-back');
  });
});
