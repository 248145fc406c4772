import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './support.ts';

interface Received { path: string | undefined; headers: IncomingHttpHeaders; body: unknown }
const RECEIPT = { event_id: 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', status: 'accepted' };

describe('tocsin send', () => {
  let server: Server;
  let url: string;
  let dataDir: string;
  let received: Received[] = [];
  let answer: { status: number; body: string; headers?: Record<string, string> };

  beforeAll(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => {
        received.push({ path: request.url, headers: request.headers, body: /json/.test(request.headers['content-type'] ?? '') ? JSON.parse(Buffer.concat(chunks).toString() || 'null') as unknown : null });
        response.writeHead(answer.status, answer.headers).end(answer.body);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    dataDir = await mkdtemp(join(tmpdir(), 'tocsin-cli-'));
    await writeFile(join(dataDir, 'standalone.json'), JSON.stringify({
      intake: url, dashboard: url, sandbox: url, smtp: 'smtp://127.0.0.1:1', database: 'postgres://127.0.0.1:1/x', queue: 'postgres', api_key: 'tk_own', operator: { user: 'u', password: 'p' },
    }));
  });
  beforeEach(() => {
    received = [];
    answer = { status: 202, body: JSON.stringify(RECEIPT) };
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(dataDir, { recursive: true });
  });

  it('hands a notification to the running standalone with its key, and says what to do next', async () => {
    const ran = await run(['send', '--purpose', 'game-support-urgent', '--ref', '0012', '--sms', '+12025550101', '--consent', 'sms:on_call_duty', '--consent', 'email:contract:c/7', '--var', 'a=b=c', '--var', 'n=1'], { env: { TOCSIN_DATA_DIR: dataDir } });
    expect(ran.code).toBe(0);
    expect(received[0]).toMatchObject({
      path: '/notifications', headers: { authorization: 'Bearer tk_own', 'idempotency-key': expect.stringMatching(/^cli-/) },
      body: { purpose: 'game-support-urgent', recipient: { ref: '0012', sms: '+12025550101', region: 'US', locale: 'en', consent: ['sms:on_call_duty', { channel: 'email', basis: 'contract', reference: 'c/7' }] }, variables: { a: 'b=c', n: '1' } },
    });
    expect(ran.out).toContain(`idempotency_key  ${String(received[0]?.headers['idempotency-key'])}`);
    expect(ran.out).toContain(`next: npx tocsin watch ${RECEIPT.event_id}`);
  });

  it('sends the demo of a purpose with nothing else given: its report is stored first, and carried', async () => {
    answer = { status: 201, body: JSON.stringify({ ...RECEIPT, artifact: 'art_01ARZ3NDEKTSV4RRFFQ69G5FAV' }) };
    const ran = await run(['send', 'account-report', '--demo'], { env: { TOCSIN_DATA_DIR: dataDir } });
    expect([ran.code, received.map(({ path }) => path)]).toEqual([0, ['/artifacts', '/notifications']]);
    expect(received[0]).toMatchObject({ headers: { authorization: 'Bearer tk_own', 'content-type': 'text/csv', 'content-digest': expect.stringMatching(/^sha-256=:.{44}:$/) } });
    expect(received[1]).toMatchObject({ body: { purpose: 'account-report', artifacts: ['art_01ARZ3NDEKTSV4RRFFQ69G5FAV'], recipient: { sms: '+12025550101' } } });
    expect((await run(['send', 'no-such-purpose', '--demo'], { env: { TOCSIN_DATA_DIR: dataDir } })).err).toContain('--demo needs one of these purposes: account-report');
  });

  it('sends nothing where its report is refused or cannot be read', async () => {
    answer = { status: 413, body: JSON.stringify({ code: 'body_too_large', detail: 'The report is too large.' }) };
    const ran = await run(['send', 'account-report', '--demo', '--json'], { env: { TOCSIN_DATA_DIR: dataDir } });
    expect([ran.code, JSON.parse(ran.out), received.map(({ path }) => path)]).toEqual([1, { error: expect.objectContaining({ code: 'body_too_large', field: '--report' }) }, ['/artifacts']]);
    expect((await run(['send', 'account-report', '--demo', '--report', join(dataDir, 'none.pdf')], { env: { TOCSIN_DATA_DIR: dataDir } })).code).toBe(2);
  });

  it('posts the support form without any key', async () => {
    const ran = await run(['send', '--ticket', '--category', 'payment_lockout', '--message', '123', '--player', 'p-1', '--on-call', '03', '--idempotency-key', 'k-1', '--json'], { env: { TOCSIN_DATA_DIR: dataDir } });
    expect(JSON.parse(ran.out)).toEqual({ ...RECEIPT, idempotency_key: 'k-1' });
    expect(received[0]).toMatchObject({ path: '/tickets', body: { category: 'payment_lockout', message: '123', player_ref: 'p-1', on_call: '03', region: 'US', locale: 'en' } });
    expect(received[0]?.headers.authorization).toBeUndefined();
  });

  it('takes the whole body from standard input', async () => {
    await run(['send', '--json-file', '-'], { env: { TOCSIN_DATA_DIR: dataDir }, stdin: '{"purpose":"p"}' });
    expect(received[0]).toMatchObject({ path: '/notifications', body: { purpose: 'p' } });
  });

  it('makes up a seller\'s order for the demo, with the sandbox\'s shop to ask, and says what can be done with it', async () => {
    answer = { status: 202, body: JSON.stringify({ ...RECEIPT, url: 'https://127.0.0.1:3003' }) };
    const ran = await run(['send', 'seller-order', '--demo', '--outcome', '03'], { env: { TOCSIN_DATA_DIR: dataDir } });
    expect([ran.code, received.at(-1)]).toMatchObject([0, {
      path: '/notifications', body: { purpose: 'seller-order', recipient: { sms: '+12025550103', email: 'seller+03@example.com' }, precondition_url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:3003\/orders\/demo-[0-9a-f]{8}\/needs-action$/) },
    }]);
    expect(ran.out).toContain(`npx tocsin close ${RECEIPT.event_id} --reason accepted`);
    expect((await run(['send', 'other', '--demo'], { env: { TOCSIN_DATA_DIR: dataDir } })).code).toBe(2);
    expect((await run(['send', 'seller-order', '--demo', '--outcome', '9'], { env: { TOCSIN_DATA_DIR: dataDir } })).code).toBe(2);
  });

  it.each(['seller-order', 'password-reset', 'account-report'])('has the demo of %s expire when it is told to', async (purpose) => {
    answer = { status: 202, body: JSON.stringify({ ...RECEIPT, url: 'https://127.0.0.1:3003', artifact: 'art_01ARZ3NDEKTSV4RRFFQ69G5FAV' }) };
    const before = Date.now();
    expect(await run(['send', purpose, '--demo', '--expires-in', '5m'], { env: { TOCSIN_DATA_DIR: dataDir } })).toMatchObject({ code: 0 });
    const expiresAt = Date.parse((received.at(-1)?.body as { expires_at: string }).expires_at);
    expect(expiresAt).toBeGreaterThanOrEqual(before + 300_000);
    expect(expiresAt).toBeLessThanOrEqual(Date.now() + 300_000);
  });

  it('says that nothing answers where the sandbox should be, and that nothing was sent', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'tocsin-cli-'));
    await writeFile(join(elsewhere, 'standalone.json'), JSON.stringify({
      intake: url, dashboard: url, sandbox: 'http://127.0.0.1:1', smtp: 'smtp://127.0.0.1:1', database: 'postgres://127.0.0.1:1/x', queue: 'postgres', api_key: 'tk_own', operator: { user: 'u', password: 'p' },
    }));
    const away = await run(['send', 'seller-order', '--demo', '--json'], { env: { TOCSIN_DATA_DIR: elsewhere } });
    expect([away.code, JSON.parse(away.out), received]).toEqual([1, { error: {
      code: 'sandbox_away', message: 'nothing answers at http://127.0.0.1:1, where standalone.json says that the sandbox is; nothing was sent', cure: 'start Tocsin again (npm start); `npx tocsin doctor` tells what runs',
    } }, []]);
    answer = { status: 404, body: '<html>' };
    expect(await run(['send', 'seller-order', '--demo'], { env: { TOCSIN_DATA_DIR: dataDir } })).toMatchObject({ code: 1, err: expect.stringContaining(`what answers at ${url} (404) has no shop that could be asked; nothing was sent`) });
    await rm(elsewhere, { recursive: true });
  });

  it.each([
    ['', 'standard input, which --json-file - reads, is empty'],
    ['{"purpose":\n  oops}', 'standard input, which --json-file - reads, is not JSON'],
    ['{bad', 'is not JSON, at character 2'],
    ['["+12025550101"]', 'holds JSON, but no object with the fields of the request'],
  ])('says of standard input that holds %j what is wrong, and never quotes it', async (stdin, said) => {
    const ran = await run(['send', '--json-file', '-'], { env: { TOCSIN_DATA_DIR: dataDir }, stdin });
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining(said) });
    expect(ran.err).not.toMatch(/oops|bad|2025550101/);
    expect(received).toEqual([]);
  });

  it('refuses what a body from a file would pass over', async () => {
    for (const line of [['seller-order'], ['--locale', 'de'], ['--consent', 'sms:contract'], ['--demo']]) {
      expect(await run(['send', ...line, '--json-file', '-'], { env: { TOCSIN_DATA_DIR: dataDir }, stdin: '{}' })).toMatchObject({ code: 2, err: expect.stringMatching(/cannot stand beside/) });
    }
    expect(received).toEqual([]);
  });

  it('makes up a password reset for the demo, with an expiry of the origin\'s and secrets of its own each time', async () => {
    const bodies = [];
    for (let round = 0; round < 2; round += 1) {
      expect((await run(['send', 'password-reset', '--demo', '--outcome', '05'], { env: { TOCSIN_DATA_DIR: dataDir } })).code).toBe(0);
      bodies.push(received.at(-1)?.body as { expires_at: string; variables: Record<string, string> });
    }
    expect(bodies[0]).toMatchObject({ purpose: 'password-reset', expires_at: expect.stringMatching(/^2.*Z$/), recipient: { email: 'player+05@example.com' }, variables: { host: 'accounts.example.com', reset_code: expect.stringMatching(/^\d{6}$/) } });
    expect(bodies[0]?.variables['reset_url']).not.toBe(bodies[1]?.variables['reset_url']);
  });

  it('does not give the standalone\'s key to another host', async () => {
    const ran = await run(['send', '--json-file', '-', '--url', 'http://127.0.0.1:9'], { env: { TOCSIN_DATA_DIR: dataDir }, stdin: '{}' });
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('POST /notifications needs an API key');
  });

  it('passes a refusal on: what, which field, what to do', async () => {
    answer = { status: 422, body: JSON.stringify({ code: 'expiry_too_short', detail: 'expires_at leaves too little time: allow 61 s.', field: 'expires_at' }) };
    const ran = await run(['send', '--json-file', '-', '--json'], { env: { TOCSIN_DATA_DIR: dataDir }, stdin: '{}' });
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toEqual({ error: { code: 'expiry_too_short', field: 'expires_at', message: 'refused (422): expires_at leaves too little time: allow 61 s.' } });
    answer = { status: 429, body: '{}', headers: { 'retry-after': '7' } };
    expect((await run(['send', '--json-file', '-'], { env: { TOCSIN_DATA_DIR: dataDir }, stdin: '{}' })).err).toContain('try again in 7 s');
  });

  it('says how to repeat safely where no answer came, and knows what is no intake', async () => {
    const away = await run(['send', '--json-file', '-', '--url', 'http://127.0.0.1:9', '--api-key', 'k', '--idempotency-key', 'k-2'], { env: { TOCSIN_DATA_DIR: dataDir }, stdin: '{}' });
    expect(away.code).toBe(1);
    expect(away.err).toContain('the same command with --idempotency-key k-2 is safe to repeat');
    answer = { status: 200, body: '<html>' };
    expect((await run(['send', '--json-file', '-'], { env: { TOCSIN_DATA_DIR: dataDir }, stdin: '{}' })).err).toContain('is not the intake of Tocsin');
  });
});
