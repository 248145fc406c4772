import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, test } from '@jest/globals';
import { SMTPServer } from 'smtp-server';
import { createSmtpTransport } from '../../shared/transports/smtp/client.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { closedPort, listen } from './http-server.ts';
import type { Act } from './smtp-script.ts';
import { startScriptedSmtp } from './smtp-script.ts';

const KEY = 'evt_01KB7Y0000ABCDEFGHJKMNPQRS.email.1';
const MIME = [
  `Message-ID: <${KEY}@example.com>`, 'From: Tocsin <no-reply@example.com>', 'To: on-call@example.com', 'Subject: down', '',
  'Grüße 😀', '.', '..', '.dot first', 'tab\tand trailing space ', '', 'end', '',
].join('\r\n');
const MESSAGE = { channel: 'email', to: 'on-call@example.com', from: 'Tocsin <no-reply@example.com>', mime: MIME } as const;
const submission = (mayStart = () => true, mime = MIME) => ({ attemptKey: KEY, message: { ...MESSAGE, mime }, mayStart });
const smtpAt = (url: string, timeoutMs = 2_000, maxConnections = 2) => createSmtpTransport({ url, timeoutMs, maxConnections, name: 'tocsin.example.com' });

let server: Awaited<ReturnType<typeof startScriptedSmtp>>;
let smtp: Transport;
beforeEach(async () => {
  server = await startScriptedSmtp();
  smtp = smtpAt(server.url);
});
afterEach(async () => {
  await smtp.close();
  await server.close();
});

describe('submitting by SMTP', () => {
  it('hands over the message byte for byte and is accepted under its Message-ID', async () => {
    expect(await smtp.submit(submission())).toMatchObject({ kind: 'accepted', providerMessageId: `<${KEY}@example.com>`, raw: { code: '250' } });
    expect(server.messages.map(({ data }) => data)).toEqual([MIME]);
    expect(server.messages[0]).toMatchObject({ to: ['RCPT TO:<on-call@example.com>'] });
    expect(server.messages[0]?.from).toMatch(/^MAIL FROM:<no-reply@example\.com> BODY=8BITMIME SIZE=\d+$/);
    expect(server.verbs[0]).toBe('EHLO tocsin.example.com');
  });

  it('hands a long message with many dots over unchanged', async () => {
    const mime = `${MIME}${'.line\r\n'.repeat(12_000)}`;
    server.answerWith({ EHLO: '250 test' });
    expect(await smtp.submit(submission(undefined, mime))).toMatchObject({ kind: 'accepted' });
    expect(server.messages[0]?.data === mime).toBe(true);
  });

  it('takes the attempt key for an id where the message has no Message-ID', async () => {
    expect(await smtp.submit(submission(undefined, 'Subject: x\r\n\r\nhi\r\n'))).toMatchObject({ kind: 'accepted', providerMessageId: KEY });
  });

  const hangUp: Act = (socket) => socket.destroy();
  test.each<[string, Parameters<typeof startScriptedSmtp>[0], object]>([
    ['hangs up before greeting', { GREETING: hangUp }, { kind: 'deferred', reason: 'connection_refused', retryAfterMs: null }],
    ['greets with 421', { GREETING: '421 busy' }, { kind: 'deferred', reason: 'rate_limited' }],
    ['greets with 554', { GREETING: '554 not you' }, { kind: 'provider_unavailable', reason: 'provider_account' }],
    ['greets in another protocol', { GREETING: 'HTTP/1.1 400 Bad Request' }, { kind: 'deferred', reason: 'connection_refused' }],
    ['hangs up on MAIL', { MAIL: hangUp }, { kind: 'deferred', reason: 'reset_before_write', retryAfterMs: null }],
    ['wants authentication at MAIL', { MAIL: '530 5.7.0 authenticate' }, { kind: 'provider_unavailable', reason: 'provider_auth' }],
    ['knows no such recipient', { RCPT: '550 5.1.1 no such user' }, { kind: 'rejected', outcome: 'rejected', reason: 'invalid_destination', raw: { code: '550 5.1.1' } }],
    ['does not relay', { RCPT: '550 5.7.1 relaying denied' }, { kind: 'rejected', reason: 'refused_by_provider' }],
    ['greylists', { RCPT: '451 4.3.0 come back' }, { kind: 'deferred', reason: 'provider_temporary' }],
    ['says 421 at RCPT', { RCPT: '421 4.7.0 slow down' }, { kind: 'deferred', reason: 'rate_limited' }],
    ['hangs up on DATA', { DATA: hangUp }, { kind: 'deferred', reason: 'reset_before_write' }],
    ['refuses DATA', { DATA: '452 4.3.1 full' }, { kind: 'deferred', reason: 'provider_temporary' }],
    ['refuses the message', { DOT: '554 5.6.0 bad content' }, { kind: 'rejected', reason: 'content_refused' }],
    ['defers the message', { DOT: '451 4.3.0 later' }, { kind: 'deferred', reason: 'provider_temporary' }],
    ['says 421 after the dot', { DOT: '421 4.3.2 shutting down' }, { kind: 'deferred', reason: 'rate_limited' }],
    ['closes after the dot', { DOT: (socket) => socket.end() }, { kind: 'unknown', reason: 'lost_response' }],
    ['resets after the dot', { DOT: (socket) => socket.resetAndDestroy() }, { kind: 'unknown', reason: 'lost_response' }],
    ['breaks off its reply', { DOT: (socket) => socket.end('25') }, { kind: 'unknown', reason: 'lost_response' }],
    ['answers the dot with nonsense', { DOT: 'what?' }, { kind: 'unknown', reason: 'answer_not_understood' }],
  ])('to a server that %s', async (_name, script, result) => {
    server.answerWith(script ?? {});
    expect(await smtp.submit(submission())).toMatchObject(result);
    const transactions = server.verbs.filter((line) => line.startsWith('MAIL'));
    expect(transactions.length).toBeLessThanOrEqual(1);
    // the next message is none the worse for it
    server.answerWith({});
    expect(await smtp.submit(submission())).toMatchObject({ kind: 'accepted' });
  });

  it('has one message in the mailbox, not two, where the connection drops after the dot', async () => {
    server.answerWith({ DOT: (socket) => socket.destroy() });
    expect(await smtp.submit(submission())).toEqual({ kind: 'unknown', reason: 'lost_response' });
    expect(server.messages).toHaveLength(1);
  });

  it('is unknown where no reply to the dot comes in time, and deferred where the time ran out before it', async () => {
    const hasty = smtpAt(server.url, 150);
    server.answerWith({ DOT: () => undefined });
    expect(await hasty.submit(submission())).toEqual({ kind: 'unknown', reason: 'request_timeout' });
    server.answerWith({ RCPT: () => undefined });
    expect(await hasty.submit(submission())).toEqual({ kind: 'deferred', reason: 'reset_before_write', retryAfterMs: null });
    await hasty.close();
  });

  it('is definitely not sent where the server refuses while a long message is still on its way', async () => {
    let refused = false;
    const picky = await startScriptedSmtp({ DATA: (socket) => {
      socket.write('354 go ahead\r\n');
      socket.once('data', () => {
        if (!refused) socket.write('552 5.3.4 too big\r\n');
        refused = true;
        socket.pause();
      });
    }, EHLO: '250 test' });
    const client = smtpAt(picky.url, 10_000);
    expect(await client.submit(submission(undefined, `${MIME}${'x'.repeat(70)}\r\n`.repeat(150_000)))).toMatchObject({ kind: 'rejected', reason: 'content_refused' });
    picky.answerWith({});
    expect(await client.submit(submission())).toMatchObject({ kind: 'accepted' });
    expect(picky.connections()).toBe(2);
    await client.close();
    await picky.close();
  });

  it('writes nothing of a message larger than the server says it takes', async () => {
    server.answerWith({ EHLO: '250-test\r\n250 SIZE 10' });
    expect(await smtp.submit(submission())).toMatchObject({ kind: 'rejected', reason: 'content_refused' });
    expect(server.verbs.filter((line) => line.startsWith('MAIL'))).toEqual([]);
  });

  it('refuses an address that would smuggle a command, and writes nothing of it', async () => {
    const message = { ...MESSAGE, to: 'a@example.com>\r\nRCPT TO:<b@example.com' };
    expect(await smtp.submit({ ...submission(), message })).toMatchObject({ kind: 'rejected', reason: 'invalid_destination' });
    expect(server.verbs.filter((line) => /^(MAIL|RCPT)/.test(line))).toEqual([]);
  });

  it('is deferred where nobody listens', async () => {
    const down = smtpAt(`smtp://127.0.0.1:${await closedPort()}`);
    expect(await down.submit(submission())).toEqual({ kind: 'deferred', reason: 'connection_refused', retryAfterMs: null });
    await down.close();
  });

  it('writes no MAIL FROM where too long has passed since the ledger said it would start, and keeps the connection', async () => {
    let asked = 0;
    expect(await smtp.submit(submission(() => { asked += 1; return false; }))).toEqual({ kind: 'abandoned', reason: 'start_too_late' });
    expect(asked).toBe(1);
    expect(server.verbs.some((line) => line.startsWith('MAIL'))).toBe(false);
    expect(await smtp.submit(submission())).toMatchObject({ kind: 'accepted' });
    expect(server.connections()).toBe(1);
  });
});

describe('logging in', () => {
  const at = (port: number) => smtpAt(`smtp://user:pa%20ss@127.0.0.1:${port}`);

  it('sends the credentials once per connection', async () => {
    server.answerWith({ EHLO: '250-test\r\n250 AUTH PLAIN' });
    const client = at(server.port);
    expect(await client.submit(submission())).toMatchObject({ kind: 'accepted' });
    expect(await client.submit(submission())).toMatchObject({ kind: 'accepted' });
    expect(server.verbs.filter((line) => line.startsWith('AUTH'))).toEqual([`AUTH PLAIN ${Buffer.from('\0user\0pa ss').toString('base64')}`]);
    await client.close();
  });

  test.each<[string, object]>([
    ['535 5.7.8 no', { kind: 'provider_unavailable', reason: 'provider_auth' }],
    ['454 4.3.0 directory away', { kind: 'deferred', reason: 'provider_temporary' }],
  ])('%s', async (reply, result) => {
    server.answerWith({ EHLO: '250-test\r\n250 AUTH PLAIN', AUTH: reply });
    const client = at(server.port);
    expect(await client.submit(submission())).toMatchObject(result);
    await client.close();
  });
});

describe('the pool of connections', () => {
  it('carries one message after another on one connection, clearing a refused transaction first', async () => {
    await smtp.submit(submission());
    server.answerWith({ RCPT: '550 5.1.1 no' });
    await smtp.submit(submission());
    server.answerWith({});
    await smtp.submit(submission());
    expect(server.connections()).toBe(1);
    expect(server.verbs.map((line) => line.slice(0, 4)).filter((verb) => verb === 'MAIL' || verb === 'RSET')).toEqual(['MAIL', 'MAIL', 'RSET', 'MAIL']);
  });

  it('opens no more connections than allowed, and all waiting messages go', async () => {
    const results = await Promise.all(Array.from({ length: 7 }, () => smtp.submit(submission())));
    expect(results.map(({ kind }) => kind)).toEqual(Array.from({ length: 7 }, () => 'accepted'));
    expect(server.connections()).toBe(2);
    expect(server.messages).toHaveLength(7);
  });

  it('replaces a connection that the server closed while it was idle, asking the fence once', async () => {
    await smtp.submit(submission());
    const [socket] = server.sockets;
    if (!socket) throw new Error('no connection');
    socket.end();
    await once(socket, 'close');
    let asked = 0;
    expect(await smtp.submit(submission(() => { asked += 1; return true; }))).toMatchObject({ kind: 'accepted' });
    expect([asked, server.connections(), server.messages.length]).toEqual([1, 2, 2]);
  });

  it('says QUIT when it is closed, and takes no message afterwards', async () => {
    await smtp.submit(submission());
    await smtp.close();
    expect(server.verbs.at(-1)).toBe('QUIT');
    expect(await smtp.submit(submission())).toMatchObject({ kind: 'deferred' });
  });
});

describe('a real SMTP server', () => {
  it('that pipelines receives the message', async () => {
    const bodies: string[] = [];
    const real = new SMTPServer({
      authOptional: true,
      disableReverseLookup: true,
      hideSTARTTLS: true,
      onData: (stream, _session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => { bodies.push(Buffer.concat(chunks).toString('utf8')); done(); });
      },
    });
    const port = await listen(real.server);
    const client = smtpAt(`smtp://127.0.0.1:${port}`);
    expect(await client.submit(submission())).toMatchObject({ kind: 'accepted' });
    expect(await client.submit(submission())).toMatchObject({ kind: 'accepted' });
    expect(bodies).toEqual([MIME, MIME]);
    await client.close();
    await new Promise<void>((resolve) => { real.close(() => resolve()); });
  });
});
