import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { SMTPConnectionSendInfo } from 'nodemailer/lib/smtp-connection';
import { composeMime } from '../../shared/content/mime.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { referenceOf } from '../../shared/domain/words.ts';
import { createResendTransport } from '../../shared/transports/resend/client.ts';
import { createSinchTransport } from '../../shared/transports/sinch/client.ts';
import { resultOfDelivery } from '../../shared/transports/smtp/submit.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { createTwilioTransport } from '../../shared/transports/twilio/client.ts';
import { describeOnBackends } from '../support/backends.ts';
import { SANDBOX_ACCOUNT } from '../support/sandbox-providers.ts';
import { SENDER } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import type { TestServer } from '../transports/http-server.ts';
import { json, startHttpServer } from '../transports/http-server.ts';
import { reportMail } from './reports.ts';
import type { Report } from './reports.ts';
import { faultsOf } from './support.ts';
import type { Faults } from './support.ts';

const ACCEPT = { submit: 'accept' };
const KEY = 'evt_01KB7Y0000ABCDEFGHJKMNPQRS';
const MIME = composeMime({ from: { address: 't@example.com', name: 'T' }, to: 'a@example.com', subject: 'x', text: 'x', html: '<p>x</p>', attemptKey: `${KEY}.email.1`, plannedAt: 0 });

describeOnBackends('what a provider answers', (backend) => {
  let world: World;
  let faults: Faults;
  let server: TestServer;
  let adapters: Record<'twilio' | 'sinch' | 'resend', Transport>;
  beforeAll(async () => {
    world = await openWorld({ backend, providerTimeoutMs: 2_000, transports: { sms: 'twilio', email: 'smtp', mailReports: true } });
    faults = faultsOf(world);
    server = await startHttpServer(json(500, {}));
    const common = { baseUrl: server.url, timeoutMs: 2_000, now: world.now };
    adapters = {
      twilio: createTwilioTransport({ ...common, accountSid: SANDBOX_ACCOUNT.accountSid, authToken: 't' }),
      sinch: createSinchTransport({ ...common, planId: 'p', token: 't' }), resend: createResendTransport({ ...common, token: 't' }),
    };
  });
  afterAll(async () => {
    await Promise.all(Object.values(adapters).map((one) => one.close()));
    await server.close();
    await world.close();
  });

  const submitBy = (name: keyof typeof adapters) => adapters[name].submit(name === 'resend'
    ? { attemptKey: `${KEY}.email.1`, mayStart: () => true, message: { channel: 'email', to: 'a@example.com', from: 't@example.com', mime: MIME } }
    : { attemptKey: `${KEY}.sms.1`, mayStart: () => true, message: { channel: 'sms', to: '+12025550101', from: '+12025550100', text: 'x' } });
  const mailOf = (eventId: string) => world.sandbox.messages().find((message) => message.attempt_key === `${eventId}.email.1`);
  let mails = 0;
  /** Delivers a mail to the mailbox that reports come to, and has it read. */
  const report = async (mail: Report | Buffer): Promise<void> => {
    mails += 1;
    await writeFile(join(world.mailbox, 'new', `${mails}.M1P1.host`), Buffer.isBuffer(mail) ? mail : reportMail(mail));
    await world.coordinator.attendBounces();
  };
  /** An email first, and a text where that does not arrive: a password reset. */
  const reset = async (name: string): Promise<{ eventId: string; email: string; messageId: string }> => {
    const [sms, email] = [`+1202555${String(4_000 + mails)}`, `${name}@example.com`];
    const consent = (['sms', 'email'] as const).map((channel) => ({ channel, basis: 'contract', reference: 'terms/1' }));
    const eventId = await world.accept('00', {
      purpose: 'password-reset', recipient: { ref: name, sms, email, region: 'US', locale: 'en', timeZone: null, consent },
      variables: () => ({ service: 'Harbour', host: 'accounts.example.com', valid_until: '12:10 UTC', reset_url: 'https://accounts.example.com/reset/t', reset_code: '481999' }),
    });
    await faults.answered(eventId, 'email');
    const messageId = mailOf(eventId)?.headers['message-id'] ?? '';
    expect(messageId).toBe(`<${eventId}.email.1@example.com>`);
    return { eventId, email, messageId };
  };
  const stands = async (eventId: string) => {
    const { attempts } = await world.state(eventId);
    return attempts.map(({ channel, state, reason }) => [channel, state, reason]);
  };

  test('fault 15: a 2xx with an error inside is that error, by every adapter: refused, suppressed or later, as its code says, and an id only where it does not deny one', async () => {
    const cases: [number, number, string, string][] = [[21_211, 200, 'rejected', 'invalid_destination'], [21_610, 201, 'suppressed', 'opted_out'], [54_321, 202, 'rejected', 'refused_by_provider'], [20_429, 200, 'queued', 'rate_limited']];
    for (const [code, httpStatus, name, reason] of cases) {
      const eventId = await faults.send({ sms: [{ submit: 'reject', code, httpStatus }], email: [ACCEPT] });
      const { attempts } = await faults.answered(eventId, 'sms');
      expect([code, attempts[0]?.state, attempts[0]?.reason, attempts[0]?.providerMessageId]).toEqual([code, name, reason, null]);
      // Nothing may wait in a queue while the clock moves.
      if (name === 'queued') await closeNotification(world.engine, { tenant: null, eventId, reason: 'cancelled', actor: 'ana', requestId: 'c' });
      else expect((await faults.answered(eventId, 'email')).attempts[1]?.plannedAt).toBe(world.now());
    }
    const inside: [keyof typeof adapters, object, object][] = [
      ['twilio', { sid: 'SM1', status: 'queued', error_code: 30_005 }, { kind: 'rejected', reason: 'invalid_destination' }],
      ['twilio', { sid: 'SM1', status: 'failed', error_code: '21610' }, { kind: 'rejected', outcome: 'suppressed', reason: 'opted_out' }],
      ['twilio', { sid: 'SM1', code: 20_003 }, { kind: 'provider_unavailable', reason: 'provider_auth' }],
      ['sinch', { id: 'B1', code: 'syntax_invalid_parameter_format' }, { kind: 'rejected', reason: 'invalid_destination' }],
      // Nobody knows whether that one denies what it names: it counts neither as taken nor as refused.
      ['sinch', { id: 'B1', code: 'a_new_one' }, { kind: 'unknown', reason: 'answer_not_understood' }],
      ['twilio', { sid: 'SM1', status: 'queued', error_code: 30_001 }, { kind: 'accepted', providerMessageId: 'SM1' }],
      ['resend', { id: 'E1', statusCode: 422, name: 'validation_error' }, { kind: 'rejected' }],
      ['resend', { id: 'E1', statusCode: 429, name: 'rate_limit_exceeded' }, { kind: 'deferred', reason: 'rate_limited' }],
      ['resend', { id: 'E1', statusCode: 403, name: 'invalid_api_key' }, { kind: 'provider_unavailable' }],
    ];
    for (const [name, body, result] of inside) {
      server.answerWith(json(200, body));
      expect([name, await submitBy(name)]).toEqual([name, expect.objectContaining(result)]);
    }
  });

  test('fault 16: a longer id, a prefix and another message\'s event never match: not in a listing, not in a status, not in a report', async () => {
    const eventId = await faults.send({ sms: [{ submit: 'lose_response' }, { listed: false }], email: [ACCEPT] });
    expect((await faults.answered(eventId, 'sms')).attempts[0]?.state).toBe('submitted_unknown');
    const to = world.sandbox.messages().find((message) => message.attempt_key === `${eventId}.sms.1`)?.to as string;
    const post = async (text: string): Promise<void> => {
      const { accountSid, authToken } = SANDBOX_ACCOUNT;
      const answer = await fetch(`${world.sandbox.httpUrl}/2010-04-01/Accounts/${accountSid}/Messages.json`, {
        method: 'POST', headers: { Authorization: `Basic ${btoa(`${accountSid}:${authToken}`)}` }, body: new URLSearchParams({ To: to, From: SENDER.sms, Body: text }),
      });
      expect(answer.status).toBe(201);
    };
    world.sandbox.setScenario(to, [ACCEPT, { status: 'delivered', afterMs: 0 }]);
    const reference = referenceOf(`${eventId}.sms.1`);
    for (const other of [`${reference}0`, `X${reference}`, reference.slice(0, -1), `${reference}é`, reference.toLowerCase().replace(/^/, 'é')]) await post(`Tocsin URGENT. Ref ${other} https://example.com`);
    await faults.pass(40_000);
    await faults.answered(eventId, 'email');
    expect([(await faults.attempt(eventId, 'sms'))?.state, await faults.count(eventId, 'AttemptAdopted'), faults.got(eventId, 'email')]).toEqual(['submitted_unknown', 0, 1]);
    await post(`Tocsin URGENT. Ref ${reference} https://example.com`);
    await faults.pass(120_000);
    expect([(await faults.attempt(eventId, 'sms'))?.state, await faults.count(eventId, 'AttemptAdopted')]).toEqual(['delivered', 1]);

    const listed = (client_reference: string, id: string) => ({ id, client_reference, canceled: false });
    const search = { attemptKey: `${KEY}.sms.1`, reference: referenceOf(`${KEY}.sms.1`), to: '+12025550101', from: '+12025550100', submissionStartedAt: world.now() };
    const batches = [listed(`${KEY}.sms.10`, 'B10'), listed(`${KEY}.sms`, 'B0'), listed(`${KEY}.email.1`, 'B3')];
    server.answerWith(json(200, { batches, count: 3, page: 0, page_size: 30 }));
    expect(await adapters.sinch.lookUp?.(search)).toEqual({ kind: 'none' });
    server.answerWith(json(200, { batches: [...batches, listed(`${KEY}.sms.1`, 'B1')], count: 4, page: 0, page_size: 30 }));
    expect(await adapters.sinch.lookUp?.(search)).toMatchObject({ kind: 'found', providerMessageId: 'B1' });
    const status = (name: keyof typeof adapters, id: string, body: object) => {
      server.answerWith(json(200, body));
      return adapters[name].readStatus?.({ attemptKey: `${KEY}.sms.1`, providerMessageId: id, to: '+12025550101' });
    };
    for (const [id, answered] of [['SM1', 'SM12'], ['SM12', 'SM1']] as const) expect(await status('twilio', id, { sid: answered, status: 'delivered' })).toMatchObject({ kind: 'read_failed' });
    for (const [id, answered] of [['B1', 'B12'], ['B12', 'B1']] as const) expect(await status('sinch', id, { batch_id: answered, recipient: '12025550101', status: 'Delivered' })).toMatchObject({ kind: 'read_failed' });
    for (const [id, answered] of [['E1', 'E12'], ['E12', 'E1']] as const) expect(await status('resend', id, { id: answered, last_event: 'delivered' })).toMatchObject({ kind: 'read_failed' });

    const [mine, other] = [await reset('mine'), await reset('other')];
    const failed = { action: 'failed', status: '5.1.1', to: [mine.email] };
    const strangers: Report[] = [
      { ...failed, messageId: `<${mine.eventId}.email.10@example.com>` }, { ...failed, messageId: `<${mine.eventId}.email@example.com>` }, { ...failed, messageId: `<${mine.eventId}.email.1@elsewhere.example>` },
      { ...failed, messageId: `<x${mine.eventId}.email.1@example.com>` }, { ...failed, messageId: `<${mine.eventId.toLowerCase()}.email.1@example.com>` }, { ...failed, messageId: '<in-reply-to@example.net>' },
      { ...failed, messageId: null, envelopeId: `${mine.eventId}.email.2` }, { ...failed, messageId: null, envelopeId: mine.eventId.slice(0, -1) }, { ...failed, messageId: null, envelopeId: `${mine.eventId}.sms.1` },
      // two names that disagree; several recipients, none of which is ours
      { ...failed, messageId: other.messageId, envelopeId: `${mine.eventId}.email.1` }, { ...failed, messageId: mine.messageId, to: ['a@example.net', 'b@example.net'] },
    ];
    for (const one of strangers) await report(one);
    for (const { eventId: event } of [mine, other]) expect([await stands(event), await faults.count(event, 'StatusObserved')]).toEqual([[['email', 'submitted', null]], 0]);
    await report({ ...failed, messageId: null, envelopeId: `${mine.eventId}.email.1` });
    expect([(await stands(mine.eventId))[0], await stands(other.eventId)]).toEqual([['email', 'undelivered', 'invalid_destination'], [['email', 'submitted', null]]]);
  });

  test('fault 17: a delayed delivery report is no bounce, however often it comes and whatever its status: nothing is claimed; a failed one is', async () => {
    const { eventId, email, messageId } = await reset('slow');
    for (const status of ['4.4.1', '4.2.2', '5.1.1']) await report({ action: 'delayed', status, messageId, to: [email], diagnostic: `450 ${status} try again`, returned: 'message' });
    expect((await faults.observed(eventId)).map(({ outcome, counts }) => [outcome, counts])).toEqual(Array(3).fill(['accepted', true]));
    expect([await stands(eventId), await world.status(eventId)]).toEqual([[['email', 'submitted', null]], 'in_progress']);
    await faults.pass(70_000);
    expect([await faults.count(eventId, 'FallbackClaimed'), faults.got(eventId, 'sms')]).toEqual([0, 0]);
    // Given up at last, after the deadline and before the expiry: the text goes at once.
    await report({ action: 'Failed', status: '4.4.7', messageId, to: [email], diagnostic: '450 4.2.2 mailbox full' });
    await faults.answered(eventId, 'sms');
    expect([(await stands(eventId))[0], faults.got(eventId, 'sms')]).toEqual([['email', 'undelivered', 'message_expired_at_provider'], 1]);
    // Late and repeated ones are kept, and change nothing.
    await report({ action: 'failed', status: '5.1.1', messageId, to: [email] });
    await report({ action: 'delivered', status: '2.0.0', messageId, to: [email] });
    expect([(await stands(eventId))[0], await faults.count(eventId, 'FallbackClaimed'), faults.got(eventId, 'sms')]).toEqual([['email', 'undelivered', 'message_expired_at_provider'], 1, 1]);

    const hard = await reset('gone');
    // Not reports: in prose, quoted in another mail, an answer of an absent person.
    const bytes = reportMail({ action: 'failed', status: '5.1.1', messageId: hard.messageId, to: [hard.email] }).toString('utf8');
    const prose = `From: MAILER-DAEMON@mx.example.net\r\nSubject: failure notice\r\nContent-Type: text/plain\r\n\r\nAction: failed\r\nStatus: 5.1.1\r\nMessage-ID: ${hard.messageId}\r\n`;
    for (const other of [prose, `From: a@example.net\r\nContent-Type: message/rfc822\r\n\r\n${bytes}`, bytes.replace('report-type=delivery-status', 'report-type=feedback-report'), '', 'x'.repeat(70_000)]) await report(Buffer.from(other));
    expect(await stands(hard.eventId)).toEqual([['email', 'submitted', null]]);
    // The field says no more than that it failed for good; the server's own text says why.
    await report({ action: 'failed', status: '5.0.0', messageId: hard.messageId, to: [hard.email.toUpperCase()], diagnostic: '550 5.1.1 <gone@example.com>: no such user' });
    await faults.answered(hard.eventId, 'sms');
    expect((await stands(hard.eventId))[0]).toEqual(['email', 'undelivered', 'invalid_destination']);
    const kept = JSON.stringify(await world.ask('SELECT body FROM ledger_entry WHERE event_id = $1', [hard.eventId]));
    expect([kept.includes('no such user'), kept.includes('gone@example.com'), kept.includes('"mailbox"') || kept.includes('\\"mailbox\\"')]).toEqual([false, false, true]);
  });

  test('fault 19: one bad address leaves the others as they are: each of a batch has its own outcome, and a list that a server takes in part is taken', async () => {
    const BAD = [{ submit: 'reject', code: 550, enhanced: '5.1.1', at: 'rcpt' }];
    const batch = await Promise.all([[ACCEPT], [ACCEPT], BAD, [ACCEPT], [ACCEPT], BAD, [ACCEPT]].map((email) => faults.send({ email })));
    const states = await Promise.all(batch.map(async (eventId) => (await faults.answered(eventId, 'email')).attempts[0]));
    expect(states.map((attempt) => [attempt?.state, attempt?.reason ?? null])).toEqual([2, 5].reduce((all, at) => all.with(at, ['rejected', 'invalid_destination']), Array(7).fill(['submitted', null])));
    expect(batch.map((eventId) => faults.got(eventId, 'email'))).toEqual([1, 1, 0, 1, 1, 0, 1]);

    const { hostname, port } = new URL(world.sandbox.smtpUrl);
    expect(world.sandbox.setScenario('bad@example.com', BAD)).toBeNull();
    const sendTo = async (to: string[]): Promise<SMTPConnectionSendInfo> => {
      const connection = new SMTPConnection({ host: hostname, port: Number(port), ignoreTLS: true, logger: false });
      await new Promise<void>((resolve, reject) => { connection.once('error', reject); connection.connect((error) => (error ? reject(error) : resolve())); });
      try {
        return await new Promise((resolve, reject) => { connection.send({ from: 't@example.com', to }, MIME, (error, info) => (error ? reject(error) : resolve(info))); });
      } finally {
        connection.quit();
      }
    };
    for (const list of [['one@example.com', 'bad@example.com', 'two@example.com'], ['bad@example.com', 'one@example.com'], ['one@example.com', 'bad@example.com']]) {
      const info = await sendTo(list);
      expect([info.accepted, info.rejected]).toEqual([list.filter((to) => to !== 'bad@example.com'), ['bad@example.com']]);
      expect(resultOfDelivery(info, 'dot', 'id')).toMatchObject({ kind: 'accepted', providerMessageId: 'id' });
    }
    expect(world.sandbox.messages({ to: 'one@example.com' })).toHaveLength(3);
  });
});
