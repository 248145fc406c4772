import { afterEach, beforeEach, describe, expect, it, test } from '@jest/globals';
import { createTwilioTransport } from '../../shared/transports/twilio/client.ts';
import { carriesReference } from '../../shared/transports/twilio/look-up.ts';
import type { TestServer } from './http-server.ts';
import { closedPort, json, startHttpServer, startTcpServer } from './http-server.ts';
import { UNUSABLE_IDS } from './unusable-ids.ts';

const NOW = Date.UTC(2026, 10, 29, 12, 0, 0);
const KEY = 'evt_01KB7Y0000ABCDEFGHJKMNPQRS.sms.1';
const MESSAGE = { channel: 'sms', to: '+12025550101', from: '+12025550199', text: 'Server down & out (ref NPQRSS1)' } as const;
const twilioAt = (baseUrl: string, timeoutMs = 2_000, maxSockets = 5) =>
  createTwilioTransport({ baseUrl, accountSid: 'AC1', authToken: 'secret', timeoutMs, maxSockets, now: () => NOW });
const submission = (mayStart = () => true) => ({ attemptKey: KEY, message: MESSAGE, mayStart });

let server: TestServer;
let twilio: ReturnType<typeof twilioAt>;
beforeEach(async () => {
  server = await startHttpServer(json(201, { sid: 'SM1', status: 'queued', error_code: null }));
  twilio = twilioAt(server.url);
});
afterEach(async () => {
  await twilio.close();
  await server.close();
});

describe('submitting to Twilio', () => {
  it('posts the form once, with credentials and the attempt key, and is accepted under the sid', async () => {
    expect(await twilio.submit(submission())).toMatchObject({ kind: 'accepted', providerMessageId: 'SM1', raw: { httpStatus: 201, code: 'queued' } });
    expect(server.received).toHaveLength(1);
    const [post] = server.received;
    expect(post).toMatchObject({ method: 'POST', url: '/2010-04-01/Accounts/AC1/Messages.json' });
    expect(post?.headers).toMatchObject({
      'tocsin-attempt-key': KEY, authorization: `Basic ${Buffer.from('AC1:secret').toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(Object.fromEntries(new URLSearchParams(post?.body))).toEqual({ To: MESSAGE.to, From: MESSAGE.from, Body: MESSAGE.text });
  });

  it('asks for a template that Twilio keeps by its id, with what stands for its placeholders and without a text', async () => {
    const providerTemplate = { id: `HX${'0'.repeat(32)}`, variables: { 1: 'A1', 2: '"quoted"' } };
    await twilio.submit({ ...submission(), message: { ...MESSAGE, providerTemplate } });
    expect(Object.fromEntries(new URLSearchParams(server.received[0]?.body))).toEqual({
      To: MESSAGE.to, From: MESSAGE.from, ContentSid: providerTemplate.id, ContentVariables: '{"1":"A1","2":"\\"quoted\\""}' });
    await twilio.submit({ ...submission(), message: { ...MESSAGE, providerTemplate: { ...providerTemplate, variables: {} } } });
    expect([...new URLSearchParams(server.received[1]?.body).keys()]).toEqual(['To', 'From', 'ContentSid']);
  });

  it('names a messaging service as such', async () => {
    const from = `MG${'0'.repeat(32)}`;
    await twilio.submit({ ...submission(), message: { ...MESSAGE, from } });
    expect(new URLSearchParams(server.received[0]?.body).get('MessagingServiceSid')).toBe(from);
  });

  test.each([
    ['21211', json(400, { code: 21211, message: 'no' }), { kind: 'rejected', outcome: 'rejected', reason: 'invalid_destination', raw: { code: '21211' } }],
    ['opted out', json(400, { code: 21610 }), { kind: 'rejected', outcome: 'suppressed', reason: 'opted_out' }],
    ['an unknown 4xx', json(400, { code: 12345 }), { kind: 'rejected', outcome: 'rejected', reason: 'refused_by_provider', raw: { code: '12345' } }],
    ['429 with a wish', json(429, { code: 20429 }, { 'Retry-After': '7' }), { kind: 'deferred', reason: 'rate_limited', retryAfterMs: 7_000 }],
    ['429 with a date', json(429, {}, { 'Retry-After': 'Sun, 29 Nov 2026 12:00:09 GMT' }), { kind: 'deferred', reason: 'rate_limited', retryAfterMs: 9_000 }],
    ['429 with garbage', json(429, {}, { 'Retry-After': 'later' }), { kind: 'deferred', reason: 'rate_limited', retryAfterMs: null }],
    ['a full queue', json(400, { code: 30001 }), { kind: 'deferred', reason: 'quota_exhausted' }],
    ['401', json(401, { code: 20003 }), { kind: 'provider_unavailable', reason: 'provider_auth' }],
    ['a suspended account', json(403, { code: 30002 }), { kind: 'provider_unavailable', reason: 'provider_account' }],
    ['500', json(500, { code: 20500 }), { kind: 'unknown', reason: 'provider_error' }],
    ['201 without an id', json(201, { status: 'queued' }), { kind: 'unknown', reason: 'answer_without_id' }],
    ['200 with an error inside', json(200, { sid: 'SM1', status: 'failed', error_code: 21610 }), { kind: 'rejected', outcome: 'suppressed', reason: 'opted_out' }],
    ['201 that failed at once by a full queue', json(201, { sid: 'SM1', status: 'failed', error_code: 30001 }), { kind: 'deferred', reason: 'quota_exhausted' }],
    ['201 that failed at once by an unknown code', json(201, { sid: 'SM1', status: 'failed', error_code: 30999 }), { kind: 'rejected', reason: 'refused_by_provider', raw: { code: '30999' } }],
    ['201 with an unknown error and a message', json(201, { sid: 'SM1', status: 'queued', error_code: 30999 }), { kind: 'accepted', providerMessageId: 'SM1', raw: { code: '30999' } }],
    ['201 with a full queue and a message', json(201, { sid: 'SM1', status: 'queued', error_code: 30001 }), { kind: 'accepted', providerMessageId: 'SM1' }],
    ['201 with a full queue and a message whose id cannot be kept', json(201, { sid: '+12025550101', status: 'queued', error_code: 30001 }), { kind: 'unknown', reason: 'answer_without_id' }],
    ['201 of one that has opted out, and a message', json(201, { sid: 'SM1', status: 'queued', error_code: 21610 }), { kind: 'rejected', outcome: 'suppressed' }],
    ['200 with an error resource of a server that failed', json(200, { code: 21211, status: 503 }), { kind: 'unknown', reason: 'provider_error' }],
    ['200 with an error resource of an unknown 4xx', json(200, { code: 12345, status: 400 }), { kind: 'rejected', reason: 'refused_by_provider' }],
    ['200 with an error that nobody knows', json(200, { code: 12345 }), { kind: 'rejected', reason: 'refused_by_provider', raw: { code: '12345' } }],
    ['200 with a limit and a message', json(200, { sid: 'SM1', code: 20429, status: 429 }), { kind: 'accepted', providerMessageId: 'SM1' }],
    ['201 with an error that denies its message', json(201, { sid: 'SM1', status: 'queued', error_code: 30005 }), { kind: 'rejected', reason: 'invalid_destination' }],
    ['200 with an error resource', json(200, { code: 20429, status: 429 }), { kind: 'deferred', reason: 'rate_limited' }],
    ['201 that failed at once', json(201, { sid: 'SM1', status: 'failed' }), { kind: 'rejected', reason: 'refused_by_provider' }],
    ['a redirect', json(307, {}, { Location: '/elsewhere' }), { kind: 'unknown', reason: 'answer_not_understood' }],
  ])('%s', async (_name, answer, result) => {
    server.answerWith(answer);
    expect(await twilio.submit(submission())).toMatchObject(result);
    expect(server.received).toHaveLength(1);
  });

  test.each([`SM${'0a'.repeat(16)}`, '4ef9a417-02e9-4d39-ad75-9611e0fcc33c', '01FC66621XXXXX119Z8PMV1QPQ', 'aGVsbG8+/w==', '120255501011'])('keeps the id %s', async (sid) => {
    server.answerWith(json(201, { sid, status: 'queued' }));
    expect(await twilio.submit(submission())).toMatchObject({ kind: 'accepted', providerMessageId: sid });
  });

  test.each(UNUSABLE_IDS)('a success under the id %j is one without an id: nothing of it is kept as it is', async (id) => {
    server.answerWith(json(201, { sid: id, status: 'queued' }));
    const result = await twilio.submit(submission());
    expect(result).toMatchObject({ kind: 'unknown', reason: 'answer_without_id' });
    expect(result).not.toHaveProperty('providerMessageId');
  });

  test.each<[string, string]>([['no JSON', '<html>OK</html>'], ['a JSON list', '[]'], ['too long', `{"sid":"SM1","x":"${'x'.repeat(70_000)}"}`]])(
    'a 201 whose body is %s is not understood', async (_name, body) => {
      server.answerWith((_request, response) => response.writeHead(201).end(body));
      expect(await twilio.submit(submission())).toMatchObject({ kind: 'unknown', reason: 'answer_not_understood' });
      expect(server.received).toHaveLength(1);
    });

  it('is unknown, after one post, where the connection is reset after the request was read', async () => {
    server.answerWith((_request, response) => response.socket?.resetAndDestroy());
    expect(await twilio.submit(submission())).toEqual({ kind: 'unknown', reason: 'lost_response' });
    expect(server.received).toHaveLength(1);
  });

  it('is unknown where the body breaks off before its end', async () => {
    server.answerWith((_request, response) => {
      response.writeHead(201, { 'Content-Length': '100' });
      response.write('{"sid":"SM1"', () => response.socket?.end());
    });
    expect(await twilio.submit(submission())).toEqual({ kind: 'unknown', reason: 'lost_response' });
  });

  it('is unknown where what comes back is not HTTP', async () => {
    const tcp = await startTcpServer((socket) => socket.once('data', () => socket.end('220 smtp.example.com\r\n')));
    const wrong = twilioAt(`http://127.0.0.1:${tcp.port}`);
    expect(await wrong.submit(submission())).toEqual({ kind: 'unknown', reason: 'answer_not_understood' });
    await wrong.close();
    await tcp.close();
  });

  it('is deferred where nobody listens, and works again without a restart when somebody does', async () => {
    const down = twilioAt(`http://127.0.0.1:${await closedPort()}`);
    expect(await down.submit(submission())).toEqual({ kind: 'deferred', reason: 'connection_refused', retryAfterMs: null });
    expect(await down.submit(submission())).toMatchObject({ kind: 'deferred' });
    await down.close();
    const nameless = twilioAt('http://no-such-host.invalid');
    expect(await nameless.submit(submission())).toEqual({ kind: 'deferred', reason: 'connection_refused', retryAfterMs: null });
    await nameless.close();
  });

  it('is deferred where no TLS handshake comes about, for nothing was written', async () => {
    const plain = await startTcpServer((socket) => socket.once('data', () => socket.destroy()));
    const secure = twilioAt(`https://127.0.0.1:${plain.port}`);
    expect(await secure.submit(submission())).toMatchObject({ kind: 'deferred', reason: 'connection_refused' });
    await secure.close();
    await plain.close();
  });

  it('is deferred where the wait for a free connection uses up the time', async () => {
    const held = new Promise<() => void>((resolve) => {
      server.answerWith((_request, response) => resolve(() => json(201, { sid: 'SM1' })(_request, response)));
    });
    const narrow = twilioAt(server.url, 150, 1);
    const [first, second] = await Promise.all([narrow.submit(submission()), narrow.submit(submission())]);
    expect(first).toEqual({ kind: 'unknown', reason: 'request_timeout' });
    expect(second).toMatchObject({ kind: 'deferred' });
    (await held)();
    await narrow.close();
    expect(server.received).toHaveLength(1);
  });

  it('writes nothing where too long has passed since the ledger said it would start', async () => {
    let asked = 0;
    expect(await twilio.submit(submission(() => { asked += 1; return false; }))).toEqual({ kind: 'abandoned', reason: 'start_too_late' });
    expect(asked).toBe(1);
    expect(server.received).toHaveLength(0);
    expect(await twilio.submit(submission())).toMatchObject({ kind: 'accepted' });
  });

  it('throws what a broken fence throws, and writes nothing', async () => {
    await expect(twilio.submit(submission(() => { throw new Error('broken fence'); }))).rejects.toThrow('broken fence');
    expect(server.received).toHaveLength(0);
  });
});

describe('kept-alive connections', () => {
  it('carry one message after another', async () => {
    for (let n = 0; n < 3; n += 1) expect(await twilio.submit(submission())).toMatchObject({ kind: 'accepted' });
    expect(server.connections()).toBe(1);
  });

  it('that the server closed cost no message: the next goes over a fresh one, asked for once', async () => {
    const closed = new Promise<void>((resolve) => {
      server.answerWith((request, response) => {
        const { socket } = response;
        socket?.once('close', resolve);
        response.once('finish', () => socket?.end());
        json(201, { sid: 'SM1' })(request, response);
      });
    });
    await twilio.submit(submission());
    await closed;
    let asked = 0;
    server.answerWith(json(201, { sid: 'SM2' }));
    expect(await twilio.submit(submission(() => { asked += 1; return true; }))).toMatchObject({ kind: 'accepted', providerMessageId: 'SM2' });
    expect([asked, server.received.length, server.connections()]).toEqual([1, 2, 2]);
  });

  it('are not reused where the server announces that it ends them within a second', async () => {
    server.answerWith((request, response) => json(201, { sid: 'SM1' }, { 'Keep-Alive': 'timeout=1', Connection: 'keep-alive' })(request, response));
    await twilio.submit(submission());
    await twilio.submit(submission());
    expect(server.connections()).toBe(2);
  });
});

describe('reading a status from Twilio', () => {
  const request = { attemptKey: KEY, providerMessageId: 'SM1', to: MESSAGE.to };
  test.each([
    ['delivered', json(200, { sid: 'SM1', status: 'delivered' }), { kind: 'observed', outcome: 'delivered', reason: null, raw: { code: 'delivered' } }],
    ['sent', json(200, { sid: 'SM1', status: 'sent' }), { kind: 'observed', outcome: 'accepted' }],
    ['failed as opted out', json(200, { sid: 'SM1', status: 'failed', error_code: 21610 }), { kind: 'observed', outcome: 'suppressed', reason: 'opted_out', raw: { code: '21610' } }],
    ['a new word', json(200, { sid: 'SM1', status: 'teleported' }), { kind: 'observed', outcome: 'unknown', reason: 'status_not_recognised', raw: { code: 'teleported' } }],
    ['an inbound status', json(200, { sid: 'SM1', status: 'received' }), { kind: 'read_failed', reason: 'answer_not_understood' }],
    ['no status', json(200, { sid: 'SM1' }), { kind: 'read_failed', reason: 'answer_not_understood' }],
    ['a sid of which ours is a prefix', json(200, { sid: 'SM12', status: 'delivered' }), { kind: 'read_failed', reason: 'answer_not_understood' }],
    ['404', json(404, { code: 20404 }), { kind: 'not_found' }],
    ['429', json(429, {}, { 'Retry-After': '2' }), { kind: 'read_failed', reason: 'rate_limited', retryAfterMs: 2_000 }],
    ['401', json(401, { code: 20003 }), { kind: 'read_failed', reason: 'provider_auth' }],
    ['400', json(400, { code: 21211 }), { kind: 'read_failed', reason: 'read_failed' }],
    ['503', json(503, {}), { kind: 'read_failed', reason: 'provider_error' }],
  ])('%s', async (_name, answer, reading) => {
    server.answerWith(answer);
    expect(await twilio.readStatus(request)).toMatchObject(reading);
    expect(server.received[0]).toMatchObject({ method: 'GET', url: '/2010-04-01/Accounts/AC1/Messages/SM1.json' });
  });

  it('fails, and is no evidence, where the answer is nonsense or lost', async () => {
    server.answerWith((_request, response) => response.end('OK'));
    expect(await twilio.readStatus(request)).toMatchObject({ kind: 'read_failed', reason: 'answer_not_understood' });
    server.answerWith((_request, response) => response.socket?.resetAndDestroy());
    expect(await twilio.readStatus(request)).toMatchObject({ kind: 'read_failed', reason: 'lost_response' });
  });
});

describe('looking a message up at Twilio', () => {
  const request = { attemptKey: KEY, reference: 'NPQRSS1', to: MESSAGE.to, from: MESSAGE.from, submissionStartedAt: NOW - 60_000 };
  const entry = (over: object = {}) => ({
    sid: 'SM1', to: MESSAGE.to, from: MESSAGE.from, body: MESSAGE.text, status: 'sent', date_created: 'Sun, 29 Nov 2026 11:59:01 +0000', ...over,
  });
  const listing = (...messages: object[]) => json(200, { messages, next_page_uri: null });

  it('asks for recipient, sender and day, and finds the one message that carries the reference', async () => {
    server.answerWith(listing(entry({ sid: 'SM0', body: 'another' }), entry()));
    expect(await twilio.lookUp(request)).toMatchObject({ kind: 'found', providerMessageId: 'SM1', outcome: 'accepted', raw: { code: 'sent' } });
    const query = new URL(server.received[0]?.url ?? '', server.url).searchParams;
    expect(Object.fromEntries(query)).toMatchObject({ To: MESSAGE.to, From: MESSAGE.from, 'DateSent>': '2026-11-29' });
  });

  test.each([
    ['another recipient', { to: '+12025550102' }], ['another sender', { from: '+12025550198' }],
    ['a longer token', { body: 'ref NPQRSS12' }], ['no date', { date_created: null }],
    ['an earlier date', { date_created: 'Sun, 29 Nov 2026 11:58:00 +0000' }],
  ])('does not take a message with %s for ours', async (_name, over) => {
    server.answerWith(listing(entry(over)));
    expect(await twilio.lookUp(request)).toEqual({ kind: 'none' });
  });

  test.each(UNUSABLE_IDS)('does not call ours absent because its sid is %j', async (sid) => {
    server.answerWith(listing(entry({ sid })));
    expect(await twilio.lookUp(request)).toMatchObject({ kind: 'read_failed', reason: 'answer_not_understood' });
  });

  it('counts several, but one message listed twice once', async () => {
    server.answerWith(listing(entry(), entry({ sid: 'SM2' }), entry()));
    expect(await twilio.lookUp(request)).toEqual({ kind: 'several', matches: 2 });
  });

  it('reads on over pages', async () => {
    server.answerWith((seen, response) => {
      const second = seen.url.includes('PageToken');
      json(200, { messages: second ? [entry()] : [], next_page_uri: second ? null : '/2010-04-01/Accounts/AC1/Messages.json?PageToken=PA1' })(seen, response);
    });
    expect(await twilio.lookUp(request)).toMatchObject({ kind: 'found' });
    expect(server.received).toHaveLength(2);
  });

  it('claims nothing from an endless listing, a foreign page, an error or nonsense', async () => {
    server.answerWith(json(200, { messages: [entry()], next_page_uri: '/2010-04-01/Accounts/AC1/Messages.json?Page=1' }));
    expect(await twilio.lookUp(request)).toMatchObject({ kind: 'read_failed', reason: 'read_failed' });
    server.answerWith(json(200, { messages: [], next_page_uri: 'http://192.0.2.1/' }));
    expect(await twilio.lookUp(request)).toMatchObject({ kind: 'read_failed', reason: 'answer_not_understood' });
    server.answerWith(json(404, {}));
    expect(await twilio.lookUp(request)).toMatchObject({ kind: 'read_failed', reason: 'not_found' });
    server.answerWith(json(200, { messages: 'none' }));
    expect(await twilio.lookUp(request)).toMatchObject({ kind: 'read_failed', reason: 'answer_not_understood' });
    expect(await twilio.lookUp({ ...request, reference: '' })).toMatchObject({ kind: 'read_failed' });
  });

  it('knows a reference as a whole token only, whatever characters it has', () => {
    expect(carriesReference('(NPQRSS1).', 'NPQRSS1')).toBe(true);
    expect(carriesReference('éNPQRSS1', 'NPQRSS1')).toBe(false);
    expect(carriesReference('a.c', 'a.c')).toBe(true);
    expect(carriesReference('abc', 'a.c')).toBe(false);
  });
});
