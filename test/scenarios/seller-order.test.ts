import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { detailsOf } from '../../shared/delivery/notification-view.ts';
import { pauseNotification, resumeNotification } from '../../shared/delivery/pause-notification.ts';
import { suppressDestination } from '../../shared/delivery/suppression.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { verifyNotifications } from '../../shared/ledger/verify-database.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import type { OrderAnswer } from '../../services/sandbox/origin.ts';
import { describeOnBackends } from '../support/backends.ts';
import { expectRecord } from '../support/ends.ts';
import { shippedPolicies, urgentRequest } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** Past expiry and grace, so that everything has come to its end. */
const TO_THE_END = 45 * MINUTE;

/** The shipped policy, and the same with *hold* where the shop does not answer. */
const policies = (): Policy[] => {
  const shipped = shippedPolicies();
  const order = shipped.find(({ purpose }) => purpose === 'seller-order') as Policy;
  const hold: Policy = { ...order, purpose: 'seller-order-hold', steps: order.steps.map((step) => (step.precondition ? { ...step, precondition: 'hold' } : step)) };
  return [...shipped, hold];
};

interface Order { order: string; eventId: string; sms: string; email: string }
interface Given {
  /** What becomes of the email and of the text: statuses, or how the submission ends. */
  email?: unknown[]; sms?: unknown[]; shop?: OrderAnswer; purpose?: string; region?: string; consent?: ('sms' | 'email')[]; expiresInMs?: number;
}

const DELIVERED = [{ status: 'delivered', afterMs: 3 * SECOND }];
const NEVER = [{ status: 'never' }];

describeOnBackends('a seller\'s order', (backend) => {
  let world: World;
  let serial = 0;
  beforeAll(async () => { world = await openWorld({ backend, policies: policies(), transports: { sms: 'twilio', email: 'resend' }, random: () => 0.5, startAt: Date.UTC(2026, 10, 29, 12) }); });
  afterAll(() => world.close());

  const script = (to: string, steps: unknown[]) => expect(world.sandbox.setScenario(to, steps)).toBeNull();
  const place = async (given: Given = {}): Promise<Order> => {
    serial += 1;
    const order = `order-${serial}`;
    const [sms, email] = [`+120255501${String(20 + serial)}`, `seller-${serial}@example.com`];
    script(email, given.email ?? NEVER);
    script(sms, given.sms ?? DELIVERED);
    if (given.shop) world.origin.set(order, given.shop);
    const request: Partial<AcceptRequest> = {
      purpose: given.purpose ?? 'seller-order', idempotencyKey: order,
      recipient: {
        ref: `seller-${serial}`, sms, email, region: given.region ?? 'US', locale: 'en', timeZone: null,
        consent: (given.consent ?? ['sms', 'email']).map((channel) => ({ channel, basis: 'contract', reference: 'terms/1' })),
      },
      variables: () => ({ order_id: order, item: 'a lamp', act_by: '18:30 UTC', order_url: `https://shop.example.com/o/${order}` }),
      expiresAt: given.expiresInMs === undefined ? null : world.now() + given.expiresInMs,
      preconditionUrl: `${world.origin.url}/orders/${order}/needs-action`,
    };
    const outcome = await acceptNotification(world.engine, urgentRequest('03', request));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    return { order, eventId: outcome.eventId, sms, email };
  };
  const has = (channel: string, ...states: string[]) => (state: NotificationState): boolean => state.attempts.some((attempt) => attempt.channel === channel && states.includes(attempt.state));
  /** The email has left the queue: nothing is under way, and the clock may move. */
  const mailed = (eventId: string) => world.until(eventId, has('email', 'submitted', 'submitted_unknown', 'rejected', 'delivered'));
  const received = (to: string): number => world.sandbox.messages({ to }).length;
  const asked = (order: string): string[] => world.origin.questions(order).map(({ wanted, signed }) => (signed ? wanted : 'unsigned'));
  const close = (eventId: string, reason: string) => closeNotification(world.engine, { tenant: null, eventId, reason, actor: 'shop', requestId: 'close' });

  /** The one record of how it ended, as anyone may read it, against the kept text. */
  const ends = async (eventId: string, name: string): Promise<void> => {
    await world.advance(TO_THE_END);
    await expectRecord(world, eventId, new URL(`./golden/seller-order/${name}.txt`, import.meta.url));
  };

  test('whose email is delivered needs no text, and the shop is not asked', async () => {
    const { eventId, sms, email, order } = await place({ email: DELIVERED });
    await mailed(eventId);
    await ends(eventId, 'delivered');
    expect([received(email), received(sms), asked(order)]).toEqual([1, 0, []]);
  });

  test('whose email stays pending through the deadline gets one text, once the shop has said that the order still waits', async () => {
    const { eventId, sms, email, order } = await place();
    const at = (await mailed(eventId)).attempts[0]?.decisionDeadlineAt as number;
    await world.advance(91 * SECOND);
    const state = await world.until(eventId, has('sms', 'submitted', 'delivered'));
    expect([state.attempts[1]?.plannedAt, received(sms)]).toEqual([at, 1]);
    await ends(eventId, 'pending-through-the-deadline');
    expect([received(email), received(sms), asked(order)]).toEqual([1, 1, ['claim']]);
  });

  test('is read at 5, 15, 35 and 75 seconds, and once more five seconds before the deadline', async () => {
    const { eventId } = await place();
    const from = (await mailed(eventId)).attempts[0]?.submittedAt as number;
    await world.advance(89 * SECOND);
    const reads = (await readEntries(world.engine.db, eventId)).filter(({ kind }) => kind === 'StatusObserved').map(({ at }) => at.getTime() - from);
    expect(reads).toEqual([5, 15, 35, 75, 85].map((seconds) => seconds * SECOND));
    await close(eventId, 'cancelled');
    await world.advance(TO_THE_END);
  });

  test('that expires soon is decided on a minute earlier: the reserve is enough for the shop\'s answer, a refusal and the text', async () => {
    const { eventId, sms, order } = await place({ expiresInMs: 100 * SECOND, shop: 'error', sms: [{ submit: 'throttle', retryAfter: 2 }, { submit: 'accept' }, ...DELIVERED] });
    const state = await mailed(eventId);
    expect((state.attempts[0]?.decisionDeadlineAt as number) - state.requestedAt).toBe(40 * SECOND);
    world.jump(40 * SECOND);
    await world.coordinator.sweep();
    await world.until(eventId, (one) => one.attempts[1]?.submissions === 1 && one.attempts[1].state === 'queued');
    world.jump(3 * SECOND);
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    await ends(eventId, 'the-reserve-of-the-text');
    expect([received(sms), asked(order)]).toEqual([1, ['claim']]);
    const text = (await world.state(eventId)).attempts[1];
    expect(text?.submittedAt).toBeLessThan(state.expiresAt);
  });

  test('whose text loses its answer is found by its reference, adopted, and delivered; never sent again', async () => {
    const { eventId, sms } = await place({ sms: [{ submit: 'lose_response' }, { status: 'delivered', afterMs: 20 * SECOND }] });
    await mailed(eventId);
    await world.advance(91 * SECOND);
    await world.until(eventId, has('sms', 'submitted_unknown', 'submitted', 'delivered'));
    await ends(eventId, 'lost-response-then-delivered');
    expect(received(sms)).toBe(1);
  });

  test('whose email is delivered after the text was claimed keeps both outcomes', async () => {
    const { eventId } = await place({ email: [{ status: 'delivered', afterMs: 120 * SECOND }] });
    await mailed(eventId);
    await world.advance(91 * SECOND);
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    await ends(eventId, 'late-delivery-after-the-fallback');
    expect((await world.state(eventId)).attempts.map(({ state }) => state)).toEqual(['delivered', 'delivered']);
  });

  test('whose email is rejected for good gets its text at once, after the shop was asked', async () => {
    const { eventId, order, email } = await place({ email: [{ submit: 'reject', code: 550, enhanced: '5.1.1' }] });
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    await ends(eventId, 'permanent-rejection');
    expect([received(email), asked(order)]).toEqual([0, ['claim']]);
  });

  test('whose seller\'s address is suppressed skips the email and asks nobody to', async () => {
    const address = `seller-${serial + 1}@example.com`;
    await suppressDestination(world.engine, { tenant: 'default', channel: 'email', address, reason: 'complaint', actor: 'test' });
    const { eventId, email, order } = await place();
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    await ends(eventId, 'suppressed');
    expect([received(email), asked(order)]).toEqual([0, ['submission']]);
  });

  test('whose seller consented to no text ends with the email', async () => {
    const { eventId, sms, order } = await place({ consent: ['email'] });
    await mailed(eventId);
    await ends(eventId, 'no-consent');
    expect([received(sms), asked(order)]).toEqual([0, []]);
  });

  test('in a region that the policy does not cover is refused, and nothing is sent or asked', async () => {
    const { eventId, sms, email, order } = await place({ region: 'JP' });
    await ends(eventId, 'region-not-covered');
    expect([received(sms), received(email), asked(order)]).toEqual([0, 0, []]);
  });

  test('that is accepted before the deadline is closed by the shop, and no text follows', async () => {
    const { eventId, sms, order } = await place();
    await mailed(eventId);
    await world.advance(60 * SECOND);
    expect(await close(eventId, 'accepted')).toMatchObject({ kind: 'closed', reason: 'accepted', inFlight: false });
    await ends(eventId, 'closed-before-the-escalation');
    expect([received(sms), asked(order)]).toEqual([0, []]);
  });

  test('that needs no action any more, as the shop says when it is asked, gets no text', async () => {
    const { eventId, sms, order } = await place({ shop: 'not_needed' });
    await mailed(eventId);
    await world.advance(91 * SECOND);
    expect((await world.state(eventId)).closed?.reason).toBe('precondition_not_needed');
    await ends(eventId, 'not-needed-any-more');
    expect([received(sms), asked(order)]).toEqual([0, ['claim']]);
  });

  test.each([['error', 'http_status'], ['nonsense', 'answer_not_understood'], ['silent', 'timeout']] as const)('gets its text all the same where the shop answers with %s and the policy says send', async (shop, reason) => {
    const { eventId, sms, order } = await place({ shop });
    await mailed(eventId);
    await world.advance(91 * SECOND);
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    await ends(eventId, `shop-${shop}-send`);
    expect([received(sms), asked(order)]).toEqual([1, ['claim']]);
    const answer = (await readEntries(world.engine.db, eventId)).find(({ kind }) => kind === 'PreconditionAnswered');
    expect(answer && detailsOf(answer)).toMatchObject({ answer: 'error', reason, lapsed: false });
  });

  test('is held where the shop is unwell and the policy says hold, and gets its text once the shop has said yes', async () => {
    const { eventId, sms, order } = await place({ purpose: 'seller-order-hold', shop: 'error' });
    await mailed(eventId);
    await world.advance(105 * SECOND);
    expect([received(sms), asked(order).length]).toEqual([0, 2]);
    world.origin.set(order, 'needed');
    await world.advance(20 * SECOND);
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    await ends(eventId, 'shop-error-hold');
    expect([received(sms), asked(order)]).toEqual([1, ['claim', 'claim', 'claim']]);
  });

  test('that waits for a shop which stays unwell expires, and no text is ever sent', async () => {
    const { eventId, sms } = await place({ purpose: 'seller-order-hold', shop: 'error' });
    await mailed(eventId);
    await ends(eventId, 'expired-while-waiting');
    expect(received(sms)).toBe(0);
  });

  test('that is paused over its deadline asks the shop and sends the text once it is resumed', async () => {
    const { eventId, sms, order } = await place();
    await mailed(eventId);
    await world.advance(60 * SECOND);
    await pauseNotification(world.engine, { tenant: null, eventId, reason: 'maintenance', actor: 'operator', requestId: 'pause' });
    await world.advance(60 * SECOND);
    expect([received(sms), asked(order)]).toEqual([0, []]);
    await resumeNotification(world.engine, { tenant: null, eventId, reason: 'maintenance', actor: 'operator', requestId: 'resume' });
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    await ends(eventId, 'paused-and-resumed');
    expect([received(sms), asked(order)]).toEqual([1, ['claim']]);
  });

  test('is not asked about again within ten seconds, over a restart of every service, and is asked again after them', async () => {
    const throttled = { submit: 'throttle', retryAfter: 3 };
    const { eventId, sms, order } = await place({ sms: [throttled, { ...throttled, retryAfter: 9 }, { submit: 'accept' }, ...DELIVERED] });
    await mailed(eventId);
    const deferred = (times: number) => (state: NotificationState): boolean => state.attempts[1]?.submissions === times && state.attempts[1].state === 'queued';
    world.jump(90 * SECOND);
    await world.coordinator.sweep();
    await world.until(eventId, deferred(1));
    await world.restart();
    await world.advance(4 * SECOND);
    await world.until(eventId, deferred(2));
    expect(asked(order)).toEqual(['claim']);
    await world.advance(12 * SECOND);
    await world.until(eventId, has('sms', 'submitted', 'delivered'));
    expect(asked(order)).toEqual(['claim', 'submission']);
    expect(received(sms)).toBe(1);
    await world.advance(TO_THE_END);
  });

  test('keeps neither connection nor lock while the shop thinks: others append meanwhile, and a close counts', async () => {
    const { eventId, sms, order } = await place();
    await mailed(eventId);
    let closed: unknown = null;
    world.origin.onQuestion(async () => {
      world.origin.onQuestion(() => undefined);
      closed = await close(eventId, 'accepted');
    });
    await world.advance(91 * SECOND);
    expect(closed).toMatchObject({ kind: 'closed', reason: 'accepted' });
    await ends(eventId, 'closed-while-the-shop-was-asked');
    expect([received(sms), asked(order)]).toEqual([0, ['claim']]);
  });

  test('leaves a ledger without a fault, and its URL nowhere', async () => {
    const faults = collectFaults();
    await verifyNotifications(world.engine.db, { faults, ring: world.engine.ring });
    expect(faults.list).toEqual([]);
    expect(await world.ask('SELECT 1 FROM sealed_payload WHERE part = \'precondition\' AND box IS NOT NULL')).toEqual([]);
    for (const table of ['ledger_entry', 'notification', 'notification_state', 'outbox', 'attempt']) {
      expect(await world.ask(`SELECT 1 FROM ${table} AS t WHERE t::text LIKE '%needs-action%' LIMIT 1`)).toEqual([]);
    }
  });
});
