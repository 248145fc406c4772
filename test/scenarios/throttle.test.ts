import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeOnBackends } from '../support/backends.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import type { Asked } from './eligibility-support.ts';
import { has, openAsking, shippedWith, stepWith, withShipped } from './eligibility-support.ts';

const MINUTE = 60_000;
const policies = () => withShipped([
  shippedWith('game-support-urgent', stepWith('sms', { throttle: { most: 1, withinMs: 10 * MINUTE } })), shippedWith('password-reset', stepWith('sms', { throttle: { most: 2, withinMs: 60 * MINUTE } })),
]);

describeOnBackends('a recipient who has had as many as the policy allows', (backend) => {
  let world: World;
  let asking: ReturnType<typeof openAsking>;
  beforeAll(async () => {
    world = await openWorld({ backend, policies: policies(), transports: { sms: 'twilio', email: 'resend' }, random: () => 0.5, startAt: Date.UTC(2026, 10, 29, 12) });
    asking = openAsking(world);
  });
  afterAll(() => world.close());
  const reached = (eventId: string) => world.until(eventId, (state) => state.attempts.some(({ submittedAt }) => submittedAt !== null));
  const page = (to?: Asked): Promise<Asked> => asking.ask({ purpose: 'game-support-urgent', ...(to ? { to } : {}) });

  test('is paged once by a flood of tickets, and mailed for the others; once the window is over, paged again', async () => {
    const first = await page();
    await reached(first.eventId);
    const flood: Asked[] = [];
    for (let more = 0; more < 4; more += 1) flood.push(await page(first));
    for (const { eventId } of flood) await reached(eventId);
    expect([asking.received(first.sms), asking.received(first.email)]).toEqual([1, 4]);
    expect((await world.state(flood[0]?.eventId as string)).steps.map(({ channel, phase, reason }) => [channel, phase, reason])).toEqual([['sms', 'skipped', 'throttled'], ['email', 'started', null]]);
    await world.advance(10 * MINUTE);
    await reached((await page(first)).eventId);
    expect([asking.received(first.sms), asking.received(first.email)]).toEqual([2, 4]);
    await asking.ends(first.eventId, 'page-that-begins-a-flood');
    await asking.ends(flood[3]?.eventId as string, 'page-in-a-flood');
  });

  test('is paged once also where all of them come at the same time, before any was sent', async () => {
    const first = await asking.ask({ purpose: 'game-support-routine' });
    const flood = await Promise.all(Array.from({ length: 6 }, () => page(first)));
    for (const { eventId } of flood) await reached(eventId);
    const states = await Promise.all(flood.map(({ eventId }) => world.state(eventId)));
    const ends = states.map(({ steps, attempts }) => attempts.find(({ channel }) => channel === 'sms')?.reason ?? steps[0]?.reason);
    expect([asking.received(first.sms), asking.received(first.email), ends.filter((reason) => reason === 'throttled').length]).toEqual([1, 6, 5]);
    const late = states.find(({ attempts }) => attempts[0]?.reason === 'throttled');
    if (late) await asking.ends(late.eventId, 'page-that-lost-to-the-flood');
  });

  test('gets no third code by text within the hour, and each reset says so', async () => {
    const first = await asking.ask({ purpose: 'password-reset', email: [{ submit: 'reject', code: 422 }] });
    await world.until(first.eventId, has('sms', 'submitted', 'delivered'));
    const again = () => asking.ask({ purpose: 'password-reset', to: first });
    await world.until((await again()).eventId, has('sms', 'submitted', 'delivered'));
    const third = await again();
    await world.until(third.eventId, (state) => state.settledAt !== null);
    expect(asking.received(first.sms)).toBe(2);
    await asking.ends(third.eventId, 'third-reset-within-the-hour');
  });
});
