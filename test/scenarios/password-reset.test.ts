import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { detailsOf, notificationView } from '../../shared/delivery/notification-view.ts';
import { openPart } from '../../shared/delivery/payload.ts';
import { pauseNotification, resumeNotification } from '../../shared/delivery/pause-notification.ts';
import { suppressDestination } from '../../shared/delivery/suppression.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { readEntries, readNotification } from '../../shared/ledger/reads.ts';
import { describeOnBackends } from '../support/backends.ts';
import { expectRecord } from '../support/ends.ts';
import { urgentRequest } from '../support/test-engine.ts';
import { dumpOf, encodingsOf, redisHeap, tracesIn } from '../support/traces.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const EXPIRES_AFTER_MS = 10 * MINUTE;
/** Past expiry and grace, so that everything has come to its end. */
const TO_THE_END = 30 * MINUTE;

interface Reset { eventId: string; sms: string; email: string; token: string; code: string }
interface Given { email?: unknown[]; sms?: unknown[]; region?: string; locale?: string; consent?: ('sms' | 'email')[]; expiresAfterMs?: number }

const DELIVERED = [{ status: 'delivered', afterMs: 3 * SECOND }];
/** The provider has it and has not sent it on. */
const PENDING = [{ status: 'queued', afterMs: 0 }];

/** By an email provider whose statuses can be read, or by plain SMTP, whose acceptance is the last it says. */
const settings = (backend: Parameters<typeof openWorld>[0]['backend'], email: 'resend' | 'smtp') =>
  ({ backend, transports: { sms: 'twilio', email } as const, random: () => 0.5, startAt: Date.UTC(2026, 10, 29, 12) });

const openResets = (world: World) => {
  let serial = 0;
  const ask = async (given: Given = {}): Promise<Reset> => {
    serial += 1;
    const [sms, email] = [`+120255502${String(20 + serial)}`, `player-${serial}@example.com`];
    const [token, code] = [`tok-${serial}-f3a9c1e7`, `${481_000 + serial}`];
    for (const [to, script] of [[email, given.email ?? PENDING], [sms, given.sms ?? DELIVERED]] as const) expect(world.sandbox.setScenario(to, script as unknown[])).toBeNull();
    const request: Partial<AcceptRequest> = {
      purpose: 'password-reset', idempotencyKey: `reset-${serial}`, expiresAt: world.now() + (given.expiresAfterMs ?? EXPIRES_AFTER_MS),
      recipient: {
        ref: `player-${serial}`, sms, email, region: given.region ?? 'US', locale: given.locale ?? 'en', timeZone: null,
        consent: (given.consent ?? ['sms', 'email']).map((channel) => ({ channel, basis: 'contract', reference: 'terms/1' })),
      },
      variables: () => ({ service: 'Harbour', host: 'accounts.example.com', valid_until: '12:10 UTC', reset_url: `https://accounts.example.com/reset/${token}`, reset_code: code }),
    };
    const outcome = await acceptNotification(world.engine, urgentRequest('03', request));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    return { eventId: outcome.eventId, sms, email, token, code };
  };
  return {
    ask,
    /** The one record of how it ended, as anyone may read it, against the kept text. */
    ends: async (eventId: string, name: string): Promise<void> => {
      await world.advance(TO_THE_END);
      await expectRecord(world, eventId, new URL(`./golden/password-reset/${name}.txt`, import.meta.url));
    },
    view: async (eventId: string) => {
      const record = await readNotification(world.engine.db, { eventId });
      if (!record) throw new Error(`no ${eventId}`);
      return notificationView(record, await world.engine.versions.bind(record.purpose, record.policyVersion));
    },
    /** The email has left the queue: nothing is under way, and the clock may move. */
    mailed: (eventId: string) => world.until(eventId, has('email', 'submitted', 'submitted_unknown', 'rejected', 'delivered')),
    received: (to: string): number => world.sandbox.messages({ to }).length,
    text: (to: string): string => JSON.stringify(world.sandbox.messages({ to })),
    close: (eventId: string, reason = 'consumed') => closeNotification(world.engine, { tenant: null, eventId, reason, actor: 'origin', requestId: 'close' }),
  };
};

const has = (channel: string, ...states: string[]) => (state: NotificationState): boolean => state.attempts.some((attempt) => attempt.channel === channel && states.includes(attempt.state));

describeOnBackends('a password reset', (backend) => {
  let world: World;
  let resets: ReturnType<typeof openResets>;
  beforeAll(async () => {
    world = await openWorld(settings(backend, 'resend'));
    resets = openResets(world);
  });
  afterAll(() => world.close());

  test('whose email is delivered needs no text', async () => {
    const { eventId, email, sms, token, code } = await resets.ask({ email: DELIVERED });
    await resets.mailed(eventId);
    expect([resets.text(email).includes(token), resets.text(email).includes(code)]).toEqual([true, false]);
    await resets.ends(eventId, 'delivered');
    expect([resets.received(email), resets.received(sms)]).toEqual([1, 0]);
  });

  test('has its deadline and its expiry as instants from the first entry on, and neither moves', async () => {
    const { eventId } = await resets.ask();
    const accepted = await world.state(eventId);
    expect([accepted.expiresAt - accepted.requestedAt, (accepted.attempts[0]?.decisionDeadlineAt as number) - accepted.requestedAt]).toEqual([EXPIRES_AFTER_MS, MINUTE]);
    await resets.mailed(eventId);
    await world.advance(70 * SECOND);
    const later = await world.state(eventId);
    expect([later.expiresAt, later.attempts[0]?.decisionDeadlineAt]).toEqual([accepted.expiresAt, accepted.attempts[0]?.decisionDeadlineAt]);
    await resets.close(eventId);
  });

  test('of which less is left than the text\'s reserve decides earlier, and is refused where not even the email would fit', async () => {
    const { eventId } = await resets.ask({ expiresAfterMs: 90 * SECOND });
    const { attempts, requestedAt } = await world.state(eventId);
    expect((attempts[0]?.decisionDeadlineAt as number) - requestedAt).toBe(30 * SECOND);
    await resets.close(eventId);
    await expect(resets.ask({ expiresAfterMs: 20 * SECOND })).rejects.toThrow('expiry_too_short');
  });

  test('whose email stays pending through the deadline gets one text, with the code and without the link', async () => {
    const { eventId, email, sms, token, code } = await resets.ask();
    const at = (await resets.mailed(eventId)).attempts[0]?.decisionDeadlineAt as number;
    await world.advance(61 * SECOND);
    const state = await world.until(eventId, has('sms', 'submitted'));
    expect([state.attempts[1]?.plannedAt, resets.received(sms)]).toEqual([at, 1]);
    expect([resets.text(sms).includes(code), resets.text(sms).includes(token), /https?:/.test(world.sandbox.messages({ to: sms })[0]?.text ?? '')]).toEqual([true, false, false]);
    await resets.ends(eventId, 'pending-through-the-deadline');
    expect([resets.received(email), resets.received(sms)]).toEqual([1, 1]);
  });

  test('says the same in both forms, in each language: who asks, where, until when', async () => {
    for (const locale of ['en', 'de']) {
      const { eventId, email, sms } = await resets.ask({ locale });
      await resets.mailed(eventId);
      await world.advance(61 * SECOND);
      await world.until(eventId, has('sms', 'submitted'));
      for (const to of [email, sms]) for (const part of ['Harbour', 'accounts.example.com', '12:10 UTC', locale === 'en' ? 'new password' : 'neues Passwort']) expect(resets.text(to).toLowerCase()).toContain(part.toLowerCase());
      await resets.close(eventId);
    }
  });

  test('whose email the provider says it accepted does not escalate: it was sent on, and a second message would frighten', async () => {
    const { eventId, sms } = await resets.ask({ email: [{ status: 'sent', afterMs: 2 * SECOND }] });
    await resets.mailed(eventId);
    await resets.ends(eventId, 'accepted-only');
    expect(resets.received(sms)).toBe(0);
  });

  test('whose email loses its answer escalates on *unknown*, and is never mailed twice', async () => {
    const { eventId, email, sms } = await resets.ask({ email: [{ submit: 'lose_response' }, { status: 'delivered', afterMs: 90 * SECOND }] });
    await world.until(eventId, has('email', 'submitted_unknown', 'submitted'));
    await world.advance(61 * SECOND);
    await world.until(eventId, has('sms', 'submitted'));
    await resets.ends(eventId, 'lost-response-then-delivered');
    expect([resets.received(email), resets.received(sms)]).toEqual([1, 1]);
  });

  test('whose email is delivered after the text was claimed keeps both outcomes', async () => {
    const { eventId } = await resets.ask({ email: [{ status: 'delivered', afterMs: 90 * SECOND }] });
    await resets.mailed(eventId);
    await world.advance(61 * SECOND);
    await world.until(eventId, has('sms', 'submitted'));
    await resets.ends(eventId, 'late-delivery-after-the-fallback');
    expect((await world.state(eventId)).attempts.map(({ state }) => state)).toEqual(['delivered', 'delivered']);
  });

  test('whose email is rejected for good gets its text at once', async () => {
    const { eventId, email, sms } = await resets.ask({ email: [{ submit: 'reject', code: 422 }] });
    await world.until(eventId, has('sms', 'submitted'));
    await resets.ends(eventId, 'permanent-rejection');
    expect([resets.received(email), resets.received(sms)]).toEqual([0, 1]);
  });

  test('whose address is suppressed skips the email', async () => {
    await suppressDestination(world.engine, { tenant: 'default', channel: 'email', address: 'barred@example.com', reason: 'complaint', actor: 'test' });
    const outcome = await acceptNotification(world.engine, urgentRequest('03', {
      purpose: 'password-reset', expiresAt: world.now() + EXPIRES_AFTER_MS,
      recipient: { ref: 'barred', sms: '+12025550299', email: 'barred@example.com', region: 'US', locale: 'en', timeZone: null, consent: ['sms', 'email'].map((channel) => ({ channel: channel as 'sms', basis: 'contract', reference: 'terms/1' })) },
      variables: () => ({ service: 'Harbour', host: 'accounts.example.com', valid_until: '12:10 UTC', reset_url: 'https://accounts.example.com/reset/t', reset_code: '481999' }),
    }));
    const { eventId } = outcome as { eventId: string };
    await world.until(eventId, has('sms', 'submitted'));
    await resets.ends(eventId, 'suppressed');
    expect([resets.received('barred@example.com'), resets.received('+12025550299')]).toEqual([0, 1]);
  });

  test('of somebody who consented to no text ends with the email', async () => {
    const { eventId, sms } = await resets.ask({ consent: ['email'] });
    await resets.mailed(eventId);
    await resets.ends(eventId, 'no-consent');
    expect(resets.received(sms)).toBe(0);
  });

  test('in a region that the policy does not cover is refused, and nothing is sent', async () => {
    const { eventId, sms, email } = await resets.ask({ region: 'JP' });
    await resets.ends(eventId, 'region-not-covered');
    expect([resets.received(sms), resets.received(email)]).toEqual([0, 0]);
  });

  test('whose token was used before the deadline is closed: completed, which is neither accepted nor delivered, and no text follows', async () => {
    const { eventId, sms } = await resets.ask();
    await resets.mailed(eventId);
    await world.advance(30 * SECOND);
    expect(await resets.close(eventId)).toMatchObject({ kind: 'closed', reason: 'consumed', inFlight: false });
    const view = await resets.view(eventId);
    expect([view.status, view.completed_at === null, view.attempts.map(({ outcome }) => outcome)]).toEqual(['closed', false, ['submitted']]);
    await resets.ends(eventId, 'completed-before-the-deadline');
    expect(resets.received(sms)).toBe(0);
  });

  test('of which no message could be sent before it expires ends as expired, and none is sent after', async () => {
    const { eventId, email, sms } = await resets.ask({ expiresAfterMs: 2 * MINUTE });
    await pauseNotification(world.engine, { tenant: null, eventId, reason: 'maintenance', actor: 'operator', requestId: 'pause' });
    const before = resets.received(email);
    await world.advance(3 * MINUTE);
    await resumeNotification(world.engine, { tenant: null, eventId, reason: 'maintenance', actor: 'operator', requestId: 'resume' });
    await world.advance(MINUTE);
    expect([resets.received(email), resets.received(sms)]).toEqual([before, 0]);
    expect((await world.state(eventId)).expired).toBeTruthy();
  });

  test('that no provider takes waits on both channels, and expires: nothing is sent after that', async () => {
    const { eventId, email, sms } = await resets.ask({ email: [{ submit: 'throttle', retryAfter: 3_600 }, { submit: 'accept' }], sms: [{ submit: 'throttle', retryAfter: 3_600 }, { submit: 'accept' }] });
    const waits = (channel: string) => (state: NotificationState): boolean => state.attempts.some((attempt) => attempt.channel === channel && attempt.state === 'queued' && attempt.submissions > 0);
    await world.until(eventId, waits('email'));
    world.jump(MINUTE);
    await world.coordinator.sweep();
    await world.until(eventId, waits('sms'));
    world.jump(9 * MINUTE);
    await world.coordinator.sweep();
    await resets.ends(eventId, 'expired-while-waiting');
    expect([resets.received(email), resets.received(sms)]).toEqual([0, 0]);
  });

  test('that is paused over its deadline decides as soon as it is resumed', async () => {
    const { eventId, sms } = await resets.ask();
    await resets.mailed(eventId);
    await world.advance(30 * SECOND);
    await pauseNotification(world.engine, { tenant: null, eventId, reason: 'maintenance', actor: 'operator', requestId: 'pause' });
    await world.advance(60 * SECOND);
    expect(resets.received(sms)).toBe(0);
    await resumeNotification(world.engine, { tenant: null, eventId, reason: 'maintenance', actor: 'operator', requestId: 'resume' });
    await world.until(eventId, has('sms', 'submitted'));
    await resets.ends(eventId, 'paused-and-resumed');
    expect(resets.received(sms)).toBe(1);
  });

  test('survives a restart of every service in each of its waits', async () => {
    const { eventId, email, sms } = await resets.ask();
    await world.restart();
    await resets.mailed(eventId);
    await world.restart();
    await world.advance(61 * SECOND);
    await world.restart();
    await world.until(eventId, has('sms', 'submitted'));
    await world.restart();
    await resets.ends(eventId, 'pending-through-the-deadline');
    expect([resets.received(email), resets.received(sms)]).toEqual([1, 1]);
  });
});

describeOnBackends('what a password reset leaves behind', (backend) => {
  const logged: string[] = [];
  let world: World;
  let resets: ReturnType<typeof openResets>;
  beforeAll(async () => {
    const log = createLogger({ level: 'trace', service: 'test', redactPaths: [], destination: { write: (line: string) => { logged.push(line); } } });
    world = await openWorld({ ...settings(backend, 'resend'), log });
    resets = openResets(world);
  });
  afterAll(() => world.close());

  const secretsOf = ({ token, sms, email, code }: Reset): string[] => [token, `https://accounts.example.com/reset/${token}`, `reset code ${code}`, sms, sms.slice(1), email];
  /** Where any of the texts stands, in any encoding: tables, the queue, the log. */
  const found = async (texts: readonly string[]): Promise<string[]> => {
    const places = new Map([...await dumpOf(world.ask), ['log', logged.join('')]]);
    if (world.redisUrl) places.set('redis', await redisHeap(world.redisUrl));
    return [...places].flatMap(([place, heap]) => tracesIn(heap, texts).map((trace) => `${place}: ${trace}`));
  };
  /** Everything that is still sealed for it, opened. */
  const opened = async (eventId: string): Promise<string> => {
    const boxes = await world.ask(`SELECT part, key_id, box FROM sealed_payload WHERE event_id = $1 AND box IS NOT NULL
      UNION ALL SELECT 'recipient', key_id, box FROM recipient WHERE event_id = $1 AND box IS NOT NULL UNION ALL SELECT 'observation', key_id, box FROM observation_raw WHERE event_id = $1`, [eventId]);
    return JSON.stringify(boxes.map((row) => openPart(world.engine.ring, eventId, String(row['part']), { keyId: String(row['key_id']), box: row['box'] as Buffer })));
  };

  test('would be seen by this search, in each encoding', () => {
    for (const one of encodingsOf('player-1@example.com')) expect(tracesIn(`xx${one}yy`, ['player-1@example.com'])).not.toEqual([]);
    expect(tracesIn(Buffer.from('a mail to player-1@example.com, with words').toString('base64'), ['player-1@example.com'])).not.toEqual([]);
    expect(encodingsOf('+12025550220')).toEqual(expect.arrayContaining(['%2B12025550220', Buffer.from('+12025550220').toString('hex')]));
  });

  test.each([
    ['its token was used', {}, (reset: Reset) => resets.close(reset.eventId), 'closed'],
    ['its email was delivered', { email: DELIVERED }, () => Promise.resolve(), 'delivered'],
    ['both channels failed', { email: [{ submit: 'reject', code: 422 }], sms: [{ submit: 'reject', code: 21211 }] }, () => Promise.resolve(), 'undelivered'],
    ['nothing more was heard of it', {}, () => Promise.resolve(), 'delivered'],
  ] as const)('is neither token, link nor destination once %s, wherever one looks; before, sealed boxes alone hold them', async (_, given, act, status) => {
    const reset = await resets.ask(given as unknown as Given);
    const texts = secretsOf(reset);
    expect(await found(texts)).toEqual([]);
    // What is refused twice may be over before anyone looks.
    if (status !== 'undelivered') for (const text of [reset.token, reset.code, reset.sms, reset.email]) expect(await opened(reset.eventId)).toContain(text);
    await world.until(reset.eventId, (state) => state.attempts[0]?.state !== 'queued' && state.attempts[0]?.state !== 'submitting');
    await act(reset);
    await world.advance(TO_THE_END);
    const { settledAt, payload } = await world.state(reset.eventId);
    expect(await world.status(reset.eventId)).toBe(status);
    expect(await found(texts)).toEqual([]);
    expect(tracesIn(await opened(reset.eventId), [...texts, `"${reset.code}"`])).toEqual([]);
    expect(Object.keys(payload?.destroyed ?? {}).sort()).toEqual(['addresses', 'secrets', 'variables']);
    // Not a moment longer than it took to settle, wherever nothing but an operator could have gone on.
    for (const at of Object.values(payload?.destroyed ?? {})) expect(at).toBeLessThanOrEqual(settledAt as number);
  });

  test('shows an investigator template versions and transitions, and lets nobody render the message again', async () => {
    const { eventId } = await resets.ask({ email: DELIVERED });
    await resets.mailed(eventId);
    await world.advance(MINUTE);
    const planned = (await readEntries(world.engine.db, eventId)).find(({ kind }) => kind === 'AttemptPlanned');
    expect(planned && detailsOf(planned)).toMatchObject({ template: 'password-reset-email', template_version: 1 });
    expect((await resets.view(eventId)).template).toEqual(expect.objectContaining({ owner: 'ours' }));
  });
});

describeOnBackends('a password reset by plain SMTP', (backend) => {
  let world: World;
  let resets: ReturnType<typeof openResets>;
  beforeAll(async () => {
    world = await openWorld(settings(backend, 'smtp'));
    resets = openResets(world);
  });
  afterAll(() => world.close());

  test('is not escalated where the mail server took the message: that is all it ever says', async () => {
    const { eventId, email, sms } = await resets.ask({ email: [{ submit: 'accept' }] });
    await resets.mailed(eventId);
    await resets.ends(eventId, 'taken-by-the-mail-server');
    expect([resets.received(email), resets.received(sms)]).toEqual([1, 0]);
  });

  test('is escalated where the connection was lost after the message had been written', async () => {
    const { eventId, email, sms } = await resets.ask({ email: [{ submit: 'lose_response' }] });
    await resets.mailed(eventId);
    await world.advance(61 * SECOND);
    await world.until(eventId, has('sms', 'submitted'));
    await resets.ends(eventId, 'lost-after-the-dot');
    expect([resets.received(email), resets.received(sms)]).toEqual([1, 1]);
  });
});
