import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeOnBackends } from '../support/backends.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import { has, openAsking, shippedWith, silent, withShipped } from './eligibility-support.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const NIGHT = { from: '21:00', to: '08:00', timeZone: 'recipient' };
const PENDING = [{ status: 'queued', afterMs: 0 }];

const policies = () => withShipped([
  shippedWith('account-report', silent({ sms: NIGHT })), shippedWith('seller-order', silent({ sms: NIGHT })), shippedWith('password-reset', silent({ sms: { ...NIGHT, ifUnknown: ['America/New_York', 'America/Los_Angeles'] } })),
  shippedWith('game-support-urgent', silent({ sms: { ...NIGHT, except: ['urgent'] } })), shippedWith('game-support-routine', silent({ email: { ...NIGHT, timeZone: 'Australia/Lord_Howe' } })),
]);

describeOnBackends('in the quiet hours of its recipient', (backend) => {
  let world: World;
  let asking: ReturnType<typeof openAsking>;
  beforeAll(async () => {
    world = await openWorld({ backend, policies: policies(), transports: { sms: 'twilio', email: 'resend' }, random: () => 0.5, startAt: Date.UTC(2026, 2, 8, 2) });
    asking = openAsking(world);
  });
  afterAll(() => world.close());
  /** On to an instant, with nothing open on the way. */
  const at = (when: string): void => { world.jump(Date.parse(when) - world.now()); };

  test('the text of a report waits for the morning, which comes an hour sooner in spring, and its email goes at once', async () => {
    // Nine in the evening in New York, in the night in which two o'clock is three.
    const { eventId, sms, email } = await asking.ask({ purpose: 'account-report', timeZone: 'America/New_York' });
    await world.until(eventId, has('email', 'submitted', 'delivered'));
    expect([asking.received(email), asking.received(sms)]).toEqual([1, 0]);
    await world.advance(10 * HOUR - 1);
    expect([asking.received(sms), (await world.state(eventId)).attempts.find(({ channel }) => channel === 'sms')?.state]).toEqual([0, 'planned']);
    await world.advance(1);
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    expect([new Date(world.now()).toISOString(), asking.received(sms)]).toEqual(['2026-03-08T12:00:00.000Z', 1]);
    await asking.ends(eventId, 'report-over-a-spring-night');
  });

  test('a routine email waits over the half hour that Lord Howe leaves out', async () => {
    at('2026-10-03T11:00:00Z');
    const { eventId, email } = await asking.ask({ purpose: 'game-support-routine' });
    await world.advance(10 * HOUR - SECOND);
    expect(asking.received(email)).toBe(0);
    await world.advance(SECOND);
    await world.until(eventId, has('email', 'submitted', 'delivered'));
    expect([new Date(world.now()).toISOString(), asking.received(email)]).toEqual(['2026-10-03T21:00:00.000Z', 1]);
    await asking.ends(eventId, 'routine-over-a-spring-night-on-lord-howe');
  });

  test('the text of an order is claimed at its deadline and waits, its own deadline counted from the opening', async () => {
    // The morning after the night in which one o'clock comes twice: an hour later by UTC than the day before.
    at('2026-11-01T12:40:00Z');
    const { eventId, sms } = await asking.ask({ purpose: 'seller-order', email: PENDING, timeZone: 'America/New_York' });
    await world.until(eventId, has('email', 'submitted'));
    await world.advance(2 * MINUTE);
    const { attempts, requestedAt, expiresAt } = await world.state(eventId);
    expect(attempts[1]).toMatchObject({ channel: 'sms', state: 'planned', startsAt: requestedAt + 20 * MINUTE, decisionDeadlineAt: requestedAt + 25 * MINUTE });
    await world.advance(18 * MINUTE);
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    expect([asking.received(sms), (await world.state(eventId)).expiresAt]).toEqual([1, expiresAt]);
    await asking.ends(eventId, 'order-claimed-at-the-end-of-an-autumn-night');
  });

  test('an order whose text would come after all its time is not held up by it', async () => {
    at('2026-11-03T03:00:00Z');
    const { eventId, sms } = await asking.ask({ purpose: 'seller-order', email: PENDING, timeZone: 'America/New_York' });
    await world.until(eventId, has('email', 'submitted'));
    await asking.ends(eventId, 'order-at-night');
    expect(asking.received(sms)).toBe(0);
  });

  test('a password reset of somebody of whom no time zone is known goes by the strictest that the policy names', async () => {
    // Eight in the morning in New York, five in Los Angeles.
    at('2026-11-05T13:00:00Z');
    const { eventId, sms } = await asking.ask({ purpose: 'password-reset', email: [{ submit: 'reject', code: 422 }] });
    await world.until(eventId, (state) => state.settledAt !== null);
    await asking.ends(eventId, 'reset-without-a-time-zone');
    expect(asking.received(sms)).toBe(0);
  });

  test('an on-call is paged all the same, for the policy lets urgent notifications through', async () => {
    at('2026-11-07T05:00:00Z');
    const { eventId, sms } = await asking.ask({ purpose: 'game-support-urgent', timeZone: 'America/New_York' });
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    expect(asking.received(sms)).toBe(1);
    await asking.ends(eventId, 'page-at-night');
  });

  test('a text that its provider puts off into them waits for the morning', async () => {
    // Ten seconds to nine in the evening.
    at('2026-11-10T01:59:50Z');
    // By its text alone, so that nothing else happens at the same instant.
    const { eventId, sms, email } = await asking.ask({ purpose: 'account-report', timeZone: 'America/New_York', bases: ['report_notice'], sms: [{ submit: 'throttle', retryAfter: 15 }, { submit: 'accept' }, { status: 'delivered', afterMs: SECOND }] });
    await world.until(eventId, (state) => state.attempts[0]?.submissions === 1 && state.attempts[0].state === 'planned');
    expect((await world.state(eventId)).attempts.find(({ channel }) => channel === 'sms')).toMatchObject({ state: 'planned', submissions: 1, startsAt: Date.parse('2026-11-10T13:00:00Z') });
    await asking.ends(eventId, 'report-put-off-into-the-night', 12 * HOUR);
    expect([asking.received(sms), asking.received(email)]).toEqual([1, 0]);
  });
});
