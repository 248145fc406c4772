import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { loadRoster } from '../../shared/content/roster.ts';
import { detailsOf } from '../../shared/delivery/notification-view.ts';
import { renderAgain } from '../../shared/delivery/render-again.ts';
import { explain } from '../../shared/domain/explain.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { listNotificationPage } from '../../shared/ledger/list-notifications.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { takeTicket } from '../../services/intake/tickets.ts';
import { describeOnBackends } from '../support/backends.ts';
import { shippedPolicies } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const MINUTE = 60_000;
/** As shipped, but retried in an instant: the queue counts its delays by the host's clock, which no test moves. */
const policies = shippedPolicies().map((policy) => ({ ...policy, steps: policy.steps.map((step) => ({ ...step, transportRetry: { ...step.transportRetry, baseMs: 20, capMs: 40 } })) }));
const NUMBER = '+12025550101';
const MAILBOX = 'oncall-01@example.com';
const has = (channel: string) => (state: NotificationState): boolean => state.attempts.some((one) => one.channel === channel && one.submittedAt !== null);

/** With the demo's roster, whose first on-call gets every SMS. */
describeOnBackends('a flood of tickets to one on-call', (backend) => {
  let world: World;
  // The one backend mails by SMTP, the other by an API, so that both carry the conversation.
  const email = backend.kind === 'postgres' ? 'resend' as const : 'smtp' as const;
  const flood: string[] = [];
  beforeAll(async () => {
    world = await openWorld({ backend, policies, transports: { sms: 'twilio', email }, random: () => 0.5, startAt: Date.UTC(2026, 10, 29, 12, 58) });
    for (let one = 0; one < 5; one += 1) await ticket('sms');
    await ticket('email');
    await ticket('email');
  });
  afterAll(() => world.close());

  const ticket = async (told: 'sms' | 'email' | 'nobody yet'): Promise<string> => {
    // So that their ids are in the order in which they came.
    world.jump(1);
    const desk = { engine: world.engine, roster: loadRoster(fileURLToPath(new URL('../../policies', import.meta.url))), dashboardUrl: 'https://dashboard.example.com' };
    const fields = { category: 'payment_lockout', message: `Locked out, ${flood.length}.`, region: 'US', locale: 'en', playerRef: `p-${flood.length}`, contact: { sms: null, email: null }, onCall: 'oncall-01', formToken: null };
    const { eventId } = await takeTicket(desk, fields, { key: null, requestId: 'r' });
    flood.push(eventId);
    if (told !== 'nobody yet') await world.until(eventId, has(told));
    return eventId;
  };
  const explained = async (eventId: string): Promise<string[]> => {
    const state = await world.state(eventId);
    const { policy } = await world.engine.versions.bind(state.purpose, state.policyVersion);
    return explain(state, (await readEntries(world.engine.db, eventId)).map((entry) => ({ at: entry.at.getTime(), kind: entry.kind, details: detailsOf(entry) })), policy);
  };
  const mails = () => world.sandbox.messages({ to: MAILBOX }).reverse();
  const header = (mail: { headers: Record<string, string> }, name: string): string | undefined => Object.entries(mail.headers).find(([key]) => key.toLowerCase() === name)?.[1];

  test('pages five times; the sixth is skipped as throttled and mailed at once', async () => {
    expect(world.sandbox.messages({ to: NUMBER })).toHaveLength(5);
    const [sixth] = flood.slice(5) as [string];
    expect((await world.state(sixth)).steps.map(({ channel, phase, reason }) => [channel, phase, reason])).toEqual([['sms', 'skipped', 'throttled'], ['email', 'started', null]]);
    expect(mails().map(({ attempt_key: key }) => key)).toEqual(flood.slice(5).map((eventId) => `${eventId}.email.1`));
  });

  test('says of each how many are let through in what time, by which version, and what came instead', async () => {
    expect((await explained(flood[5] as string))[1]).toBe('SMS, step 1 of policy game-support-urgent/2, was skipped at 2026-11-29T12:58:00.006Z (throttled): its destination had the 5 that policy game-support-urgent/2 lets through within 5 min, so email was started instead.');
  });

  test('is one conversation for a mail program, with a record and a provable mail for each', async () => {
    const [one, other] = mails();
    const root = one && header(one, 'references');
    expect(root).toMatch(/^<thread\.[0-9a-f]{32}@example\.com>$/);
    expect([other && header(other, 'references'), other && header(other, 'in-reply-to'), other?.subject]).toEqual([root, root, '[Urgent] Tickets for payments-urgent']);
    expect(one?.subject).toBe(other?.subject);
    // What SMTP took is settled, and its secrets are gone with that.
    for (const eventId of flood.slice(5)) expect((await renderAgain(world.engine, eventId))?.map(({ verdict }) => verdict)).toEqual([email === 'smtp' ? 'destroyed' : 'matches']);
  });

  test('goes out again as it was planned where its provider puts it off: a retry stays in its conversation, and needs no other hash', async () => {
    const [first] = mails();
    expect(world.sandbox.setScenario(MAILBOX, [{ submit: 'throttle' }, { submit: 'accept' }])).toBeNull();
    const eventId = await ticket('nobody yet');
    await world.until(eventId, (state) => state.attempts.some(({ channel, state: now, submissions }) => channel === 'email' && now === 'queued' && submissions === 1));
    // Into the next hour: what counts is when the notification was asked for.
    world.jump(2 * MINUTE);
    await world.until(eventId, has('email'));
    const retried = mails().at(-1);
    expect([retried?.attempt_key, retried && header(retried, 'references')]).toEqual([`${eventId}.email.1`, first && header(first, 'references')]);
    expect((await world.kinds(eventId)).filter((kind) => kind === 'SubmissionStarted' || kind === 'AttemptDeadLettered')).toEqual(['SubmissionStarted', 'SubmissionStarted']);
  });

  test('is marked in the list, which counts what went beyond and shows nothing else where that is asked', async () => {
    const { rows } = await listNotificationPage(world.engine.db, {});
    expect(rows.filter(({ throttled }) => throttled).map(({ eventId }) => eventId)).toEqual(flood.slice(5).reverse());
    expect(new Set(rows.map(({ recipient }) => recipient)).size).toBe(1);
    expect((await listNotificationPage(world.engine.db, { throttled: true })).rows.map(({ eventId }) => eventId)).toEqual(flood.slice(5).reverse());
  });

  test('is paged again once the window is over', async () => {
    await world.advance(5 * MINUTE);
    await ticket('sms');
    expect(world.sandbox.messages({ to: NUMBER })).toHaveLength(6);
  });
});
