import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { takeTicket } from '../../services/intake/tickets.ts';
import { loadRoster } from '../../shared/content/roster.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { detailsOf } from '../../shared/delivery/notification-view.ts';
import { openPart } from '../../shared/delivery/payload.ts';
import { pauseNotification, resumeNotification } from '../../shared/delivery/pause-notification.ts';
import { suppressDestination } from '../../shared/delivery/suppression.ts';
import { explain } from '../../shared/domain/explain.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { readEntries, readTicket } from '../../shared/ledger/reads.ts';
import { expectAnswers } from '../support/answers.ts';
import { describeOnBackends } from '../support/backends.ts';
import { golden, steadied } from '../support/golden.ts';
import { shippedPolicies } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Past expiry and grace of either, so that everything has come to its end. */
const TO_THE_END = { 'game-support-urgent': HOUR, 'game-support-routine': 26 * HOUR };
type Purpose = keyof typeof TO_THE_END;

const ACCEPT = { submit: 'accept' };
const DELIVERED = [ACCEPT, { status: 'delivered', afterMs: 3 * SECOND }];
/** The provider has it and has not sent it on. */
const PENDING = [ACCEPT, { status: 'queued', afterMs: 0 }];
const THROTTLED = { submit: 'throttle' };
/** As shipped, but retried in an instant: the queue counts its delays by the host's clock, which no test moves. */
const policies = shippedPolicies().map((policy) => ({ ...policy, steps: policy.steps.map((step) => ({ ...step, transportRetry: { ...step.transportRetry, baseMs: 20, capMs: 40 } })) }));

interface Given { purpose?: Purpose; sms?: unknown[]; email?: unknown[]; region?: string; consent?: ('sms' | 'email')[]; suppressed?: boolean }
interface Ticket { eventId: string; sms: string; email: string; purpose: Purpose }

const has = (channel: string, ...states: string[]) => (state: NotificationState): boolean => state.attempts.some((attempt) => attempt.channel === channel && states.includes(attempt.state));
/** A submission of it was definitely not processed, and it waits to be tried again. */
const waits = (channel: string) => (state: NotificationState): boolean => state.attempts.some((attempt) => attempt.channel === channel && attempt.state === 'queued' && attempt.submissions > 0);

describeOnBackends('how a ticket ends', (backend) => {
  let world: World;
  let serial = 0;
  beforeAll(async () => { world = await openWorld({ backend, policies, random: () => 0.5, startAt: Date.UTC(2026, 10, 29, 12) }); });
  afterAll(() => world.close());

  const take = async ({ purpose = 'game-support-urgent', sms = DELIVERED, email = [ACCEPT], region = 'US', consent = ['sms', 'email'], suppressed = false }: Given): Promise<Ticket> => {
    serial += 1;
    const to = { sms: `+1202555${String(5_000 + serial)}`, email: `on-call-${serial}@example.com` };
    for (const [channel, script] of [['sms', sms], ['email', email]] as const) expect(world.sandbox.setScenario(to[channel], script as never)).toBeNull();
    const barred = purpose === 'game-support-urgent' ? 'sms' : 'email';
    if (suppressed) await suppressDestination(world.engine, { tenant: 'default', channel: barred, address: to[barred], reason: 'requested', actor: 'ana' });
    const eventId = await world.accept('00', {
      purpose, recipient: { ref: `on-call-${serial}`, ...to, region, locale: 'en', timeZone: null, consent: consent.map((channel) => ({ channel, basis: 'on_call_duty', reference: 'duty/1' })) },
    });
    return { eventId, ...to, purpose };
  };
  const received = ({ sms, email }: Ticket): number[] => [sms, email].map((to) => world.sandbox.messages({ to }).length);
  const request = (eventId: string) => ({ tenant: null, eventId, reason: 'maintenance', actor: 'ana', requestId: 'r' });
  const close = (eventId: string) => closeNotification(world.engine, { ...request(eventId), reason: 'taken' });
  /** To an instant at which something waits in a queue; what is due by then comes to pass. */
  const jump = async (ms: number): Promise<void> => {
    world.jump(ms);
    await world.coordinator.sweep();
  };

  /** The one record of how it ended, as anyone may read it, against the kept text. */
  const ends = async ({ eventId, purpose }: Ticket, name: string): Promise<void> => {
    await world.advance(TO_THE_END[purpose]);
    const state = await world.state(eventId);
    const { policy } = await world.engine.versions.bind(state.purpose, state.policyVersion);
    const told = explain(state, (await readEntries(world.engine.db, eventId)).map((entry) => ({ at: entry.at.getTime(), kind: entry.kind, details: detailsOf(entry) })), policy);
    const text = steadied(`status: ${await world.status(eventId)}\n\n${told.join('\n')}\n`, state.requestedAt);
    await expectAnswers(world, eventId, `${purpose}/${name}`);
    expect(text).toContain(`policy ${purpose}/2`);
    expect(state.settledAt !== null || state.rejected !== null).toBe(true);
    expect(text).toBe(golden(new URL(`./golden/${purpose}/${name}.txt`, import.meta.url), text));
  };

  test('an urgent one whose SMS is delivered needs no email', async () => {
    const ticket = await take({});
    await world.until(ticket.eventId, has('sms', 'submitted'));
    await ends(ticket, 'delivered');
    expect(received(ticket)).toEqual([1, 0]);
  });

  test.each([
    ['stays pending through the deadline', PENDING, 'pending-through-the-deadline'],
    ['is sent on and never confirmed', [ACCEPT, { status: 'never' }], 'accepted-only'],
    ['is delivered after the email was claimed', [ACCEPT, { status: 'delivered', afterMs: 40 * SECOND }], 'late-delivery-after-the-fallback'],
    ['loses its answer and is never found', [{ submit: 'lose_response' }, { listed: false }], 'lost-response-never-found'],
    ['loses its answer, is found, and delivered in time', [{ submit: 'lose_response' }, { status: 'delivered', afterMs: 8 * SECOND }], 'lost-response-then-delivered'],
    ['loses its answer, is found, and delivered after the email was claimed', [{ submit: 'lose_response' }, { status: 'delivered', afterMs: 40 * SECOND }], 'lost-response-then-delivered-late'],
    ['is undelivered', [ACCEPT, { status: 'undelivered', afterMs: 3 * SECOND }], 'undelivered'],
  ])('an urgent one whose SMS %s', async (_says, sms, name) => {
    const ticket = await take({ sms });
    await world.until(ticket.eventId, has('sms', 'submitted', 'submitted_unknown'));
    await ends(ticket, name);
    expect(received(ticket)).toEqual([1, name === 'lost-response-then-delivered' ? 0 : 1]);
  });

  test.each([
    ['whose SMS is rejected for good', { sms: [{ submit: 'reject', code: 21211 }] }, 'permanent-rejection'],
    ['whose number is suppressed', { suppressed: true }, 'suppressed'],
    ['to a person who consented to no SMS', { consent: ['email'] as const }, 'no-consent'],
  ])('an urgent one %s is an email at once', async (_says, given, name) => {
    const ticket = await take(given as Given);
    await world.until(ticket.eventId, has('email', 'submitted'));
    await ends(ticket, name);
    expect(received(ticket)).toEqual([0, 1]);
  });

  test.each(['game-support-urgent', 'game-support-routine'] as const)('a ticket of %s from a region that its policy does not cover is refused, and nothing is sent', async (purpose) => {
    const ticket = await take({ purpose, region: 'BR' });
    await ends(ticket, 'region-not-covered');
    expect(received(ticket)).toEqual([0, 0]);
  });

  test('an urgent one that is taken before the deadline gets no email', async () => {
    const ticket = await take({ sms: PENDING });
    await world.until(ticket.eventId, has('sms', 'submitted'));
    await world.advance(15 * SECOND);
    expect(await close(ticket.eventId)).toMatchObject({ kind: 'closed', reason: 'taken', inFlight: false });
    await ends(ticket, 'closed-before-the-escalation');
    expect(received(ticket)).toEqual([1, 0]);
  });

  test('an urgent one that no provider takes waits, and expires: nothing is sent after that', async () => {
    const ticket = await take({ sms: [{ ...THROTTLED, retryAfter: 3_600 }, ACCEPT], email: [THROTTLED] });
    await world.until(ticket.eventId, waits('sms'));
    await jump(30 * SECOND);
    await world.until(ticket.eventId, waits('email'));
    await jump(14 * MINUTE + 30 * SECOND);
    await ends(ticket, 'expired-while-waiting');
    expect(received(ticket)).toEqual([0, 0]);
  });

  test('an urgent one that is paused over its deadline gets its email once it is resumed', async () => {
    const ticket = await take({ sms: PENDING });
    await world.until(ticket.eventId, has('sms', 'submitted'));
    await world.advance(15 * SECOND);
    await pauseNotification(world.engine, request(ticket.eventId));
    await world.advance(MINUTE);
    expect(received(ticket)).toEqual([1, 0]);
    await resumeNotification(world.engine, request(ticket.eventId));
    await world.until(ticket.eventId, has('email', 'submitted'));
    await ends(ticket, 'paused-and-resumed');
    expect(received(ticket)).toEqual([1, 1]);
  });

  test.each(['payment_lockout', 'bug_report'])('of a %s says in an SMS what it is about and where it can be read; no word of the player, and no card number by any channel', async (category) => {
    const cards = ['4111 1111 1111 1111', '5500-0000-0000-0004', '378282246310005', '4111111111111111', '6011\u00a00009\u00a09013\u00a09424'];
    const message = `MARKED-7f3a my code is 482913, charged on ${cards.join(', ')} twice; order 20261129000017`;
    const desk = { engine: world.engine, roster: loadRoster(fileURLToPath(new URL('../../policies', import.meta.url))), dashboardUrl: 'https://dashboard.example.com' };
    const fields = { category, message, region: 'EU', locale: 'en', playerRef: `p-${category}`, contact: { sms: '+12025550188', email: 'player@example.com' }, onCall: null, formToken: null };
    const { eventId, urgency } = await takeTicket(desk, fields, { key: null, requestId: 'r' });
    const first = urgency === 'urgent' ? 'sms' : 'email';
    await world.until(eventId, has(first, 'submitted'));
    await world.advance(31 * SECOND);
    await world.until(eventId, has('email', 'submitted'));
    const sent = world.sandbox.messages().filter((one) => one.attempt_key?.startsWith(eventId));
    expect(sent.map(({ channel }) => channel).sort()).toEqual(first === 'sms' ? ['email', 'sms'] : ['email']);
    for (const { body } of sent.filter(({ channel }) => channel === 'sms')) expect(body).toMatch(/^Tocsin URGENT: payment_lockout, EU, payments-urgent\. Ref [0-9A-Z]{8} https:\/\/dashboard\.example\.com\/tickets\/evt_[0-9A-Z]{26}$/);
    const digits = JSON.stringify(sent).replace(/[^0-9A-Za-z"]/g, '');
    expect(cards.filter((card) => digits.includes(card.replace(/\D/g, '')) || JSON.stringify(sent).includes(card))).toEqual([]);
    const mail = sent.find(({ channel }) => channel === 'email');
    expect([mail?.text, mail?.subject?.includes('MARKED')]).toEqual([expect.stringContaining('MARKED-7f3a my code is 482913, charged on •••• •••• •••• 1111, ••••-••••-••••-0004, •••••••••••0005, ••••••••••••1111, '), false]);
    expect(JSON.stringify(sent)).not.toMatch(/player@example|2025550188/);
    const ticket = await readTicket(world.engine.db, { eventId });
    expect(openPart(world.engine.ring, eventId, 'ticket', ticket?.sealed as { keyId: string; box: Uint8Array })).toMatchObject({ message });
  });

  const routine = (given: Given = {}): Promise<Ticket> => take({ ...given, purpose: 'game-support-routine' });

  test.each([
    ['that the mail server takes is sent, which is all it ever says', {}, 'taken-by-the-mail-server', 1],
    ['whose answer is lost after the dot is unknown, and never mailed again', { email: [{ submit: 'lose_response' }] }, 'lost-after-the-dot', 1],
    ['that the mail server refuses for good is undelivered', { email: [{ submit: 'reject', code: 550, enhanced: '5.1.1' }] }, 'permanent-rejection', 0],
    ['to a suppressed address is suppressed', { suppressed: true }, 'suppressed', 0],
    ['to a person who consented to no email is suppressed', { consent: [] }, 'no-consent', 0],
  ])('a routine one %s', async (_says, given, name, mails) => {
    const ticket = await routine(given);
    await world.until(ticket.eventId, (state) => state.settledAt !== null || has('email', 'submitted', 'submitted_unknown')(state));
    await ends(ticket, name);
    expect(received(ticket)).toEqual([0, mails]);
  });

  test('a routine one that the mail server takes only after the deadline', async () => {
    const ticket = await routine({ email: [THROTTLED, ACCEPT] });
    await world.until(ticket.eventId, waits('email'));
    await jump(11 * MINUTE);
    await world.until(ticket.eventId, has('email', 'submitted'));
    await ends(ticket, 'pending-through-the-deadline');
    expect(received(ticket)).toEqual([0, 1]);
  });

  test('a routine one that is taken while its email waits is never mailed', async () => {
    const ticket = await routine({ email: [THROTTLED] });
    await world.until(ticket.eventId, waits('email'));
    await close(ticket.eventId);
    await ends(ticket, 'closed-before-it-was-sent');
    expect(received(ticket)).toEqual([0, 0]);
  });

  test('a routine one that no mail server takes expires', async () => {
    const ticket = await routine({ email: [THROTTLED] });
    await world.until(ticket.eventId, waits('email'));
    await jump(24 * HOUR);
    await ends(ticket, 'expired-while-waiting');
    expect(received(ticket)).toEqual([0, 0]);
  });

  test('a routine one that is paused waits, and is mailed once it is resumed', async () => {
    const ticket = await routine({ email: [THROTTLED, ACCEPT] });
    await world.until(ticket.eventId, waits('email'));
    await pauseNotification(world.engine, request(ticket.eventId));
    await jump(MINUTE);
    expect(received(ticket)).toEqual([0, 0]);
    await resumeNotification(world.engine, request(ticket.eventId));
    await world.until(ticket.eventId, has('email', 'submitted'));
    await ends(ticket, 'paused-and-resumed');
    expect(received(ticket)).toEqual([0, 1]);
  });
});
