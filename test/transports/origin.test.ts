import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { LookupAddress } from 'node:dns';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readPreconditionConfig } from '../../shared/config/precondition-config.ts';
import { mayConnectTo } from '../../shared/transports/origin/address-rules.ts';
import { createOriginClient } from '../../shared/transports/origin/client.ts';
import type { OriginClient, OriginSettings } from '../../shared/transports/origin/client.ts';
import { preconditionUrlFault } from '../../shared/transports/origin/precondition-url.ts';
import { startOrigin } from '../../services/sandbox/origin.ts';
import type { OriginStandIn } from '../../services/sandbox/origin.ts';
import { makeSelfSigned } from '../../services/sandbox/self-signed.ts';

const SECRET = 'a-secret-of-more-than-thirty-two-characters';
const EVENT = 'evt_01J0000000000000000000000A';

describe('an origin system', () => {
  let origin: OriginStandIn;
  const clients: OriginClient[] = [];
  const client = (over: Partial<OriginSettings> = {}): OriginClient => {
    const made = createOriginClient({ origins: [origin.url], secrets: [SECRET], ca: origin.certificate, allowLoopback: true, now: Date.now, ...over });
    clients.push(made);
    return made;
  };
  const ask = (order: string, over: Partial<OriginSettings> = {}) => client(over).ask({ eventId: EVENT, url: `${origin.url}/orders/${order}/needs-action`, wanted: 'claim' });

  beforeAll(async () => { origin = await startOrigin({ port: 0, secret: SECRET, names: ['localhost', 'shop.example.com'] }); });
  afterAll(async () => {
    clients.forEach((one) => one.close());
    await origin.close();
  });

  test.each([
    ['an order that waits', 'o-1', { kind: 'needed' }],
    ['an order that waits no more', 'o-not-needed', { kind: 'not_needed' }],
    ['a server error', 'o-error', { kind: 'error', fault: 'http_status' }],
    ['an answer that is neither true nor false', 'o-nonsense', { kind: 'error', fault: 'answer_not_understood' }],
    ['a redirect, which is not followed', 'o-redirect', { kind: 'error', fault: 'redirected' }],
  ])('is understood where it tells of %s', async (_name, order, expected) => {
    expect(await ask(order)).toEqual(expected);
  });

  test('that says nothing is given up at the limit', async () => {
    const from = performance.now();
    expect(await ask('o-silent', { limitMs: 300 })).toEqual({ kind: 'error', fault: 'timeout' });
    expect(performance.now() - from).toBeGreaterThanOrEqual(290);
  });

  test('can tell our question by its signature over event, host, path and body', async () => {
    await ask('o-signed');
    expect(origin.questions('o-signed')).toMatchObject([{ event_id: EVENT, wanted: 'claim', signed: true }]);
  });

  test('that knows only the older secret can tell it while both are set, and not once that one is gone', async () => {
    expect(await ask('o-both', { secrets: [`new-${SECRET}`, SECRET] })).toEqual({ kind: 'needed' });
    expect(await ask('o-new', { secrets: [`new-${SECRET}`] })).toEqual({ kind: 'error', fault: 'http_status' });
    expect(origin.questions('o-new')).toMatchObject([{ signed: false }]);
  });

  test('does not take a question that is older than five minutes', async () => {
    expect(await ask('o-old', { now: () => Date.now() - 301_000 })).toEqual({ kind: 'error', fault: 'http_status' });
  });

  test('on this machine is not asked unless that is allowed', async () => {
    expect(await ask('o-loop', { allowLoopback: false })).toEqual({ kind: 'error', fault: 'address_not_allowed' });
    expect(origin.questions('o-loop')).toEqual([]);
  });

  test('that is not allow-listed is not asked', async () => {
    expect(await ask('o-list', { origins: ['https://shop.example.com'] })).toEqual({ kind: 'error', fault: 'url_not_allowed' });
    expect(origin.questions('o-list')).toEqual([]);
  });

  test('whose certificate nobody vouches for is not asked', async () => {
    expect(await ask('o-cert', { ca: null })).toEqual({ kind: 'error', fault: 'certificate' });
    expect(origin.questions('o-cert')).toEqual([]);
  });

  test('that is away is told as such', async () => {
    const gone = await startOrigin({ port: 0, secret: SECRET });
    await gone.close();
    expect(await client({ origins: [gone.url] }).ask({ eventId: EVENT, url: `${gone.url}/orders/o/needs-action`, wanted: 'claim' })).toEqual({ kind: 'error', fault: 'not_connected' });
  });

  test('that is asked by many at once answers each in its turn, and the wait does not count as its slowness', async () => {
    const { key, certificate } = makeSelfSigned();
    let open = 0;
    let most = 0;
    const server = createServer({ key, cert: certificate }, (_request, response) => {
      open += 1;
      most = Math.max(most, open);
      setTimeout(() => { open -= 1; response.writeHead(200).end('{"needs_action":true}'); }, 100);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const asking = client({ origins: [url], ca: certificate, atOnce: 3, limitMs: 1_000 });
    // Fifteen rounds of three take a second and a half, which is past the limit of each.
    const answers = await Promise.all(Array.from({ length: 45 }, () => asking.ask({ eventId: EVENT, url: `${url}/`, wanted: 'claim' })));
    expect([answers.filter((answer) => answer.kind === 'needed').length, most]).toEqual([45, 3]);
    expect(await asking.ask({ eventId: EVENT, url: `${url}/`, wanted: 'claim', notAfter: Date.now() - 1 })).toEqual({ kind: 'error', fault: 'timeout' });
    server.close();
    server.closeAllConnections();
  });

  test('whose answer has no end is cut off', async () => {
    const { key, certificate } = makeSelfSigned();
    const server = createServer({ key, cert: certificate }, (_request, response) => { response.writeHead(200).end(`{"needs_action":true,"pad":"${'x'.repeat(5_000)}"}`); }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await client({ origins: [url], ca: certificate }).ask({ eventId: EVENT, url: `${url}/`, wanted: 'claim' })).toEqual({ kind: 'error', fault: 'answer_too_long' });
    server.close();
    server.closeAllConnections();
  });

  /** A name that resolves to something else each time it is asked for. */
  const rebinding = (...answers: string[][]) => {
    const asked: string[] = [];
    const resolve: NonNullable<OriginSettings['resolve']> = (host, _options, done) => {
      asked.push(host);
      const addresses = answers[Math.min(asked.length, answers.length) - 1] ?? [];
      done(null, addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })));
    };
    return { resolve, asked };
  };
  const named = (): string => `https://shop.example.com:${new URL(origin.url).port}`;

  test.each([
    ['a private address', ['10.0.0.5']], ['this machine', ['127.0.0.1']], ['a link-local address, where clouds keep credentials', ['169.254.169.254']],
    ['a mapped address', ['::ffff:127.0.0.1']], ['a unique-local address', ['fd00::1']], ['a public and a private address', ['93.184.216.34', '192.168.1.1']],
    ['no address', []],
  ])('whose name resolves to %s is not connected to', async (_name, addresses) => {
    const { resolve, asked } = rebinding(addresses);
    const outcome = await client({ origins: [named()], allowLoopback: false, resolve }).ask({ eventId: EVENT, url: `${named()}/orders/o-dns/needs-action`, wanted: 'claim' });
    expect(outcome).toEqual({ kind: 'error', fault: 'address_not_allowed' });
    expect(asked).toEqual(['shop.example.com']);
    expect(origin.questions('o-dns')).toEqual([]);
  });

  test('is resolved once for a connection, and connected to at the address that was checked', async () => {
    const { resolve, asked } = rebinding(['127.0.0.1'], ['10.0.0.1']);
    const asking = client({ origins: [named()], resolve });
    expect(await asking.ask({ eventId: EVENT, url: `${named()}/orders/o-name/needs-action`, wanted: 'claim' })).toEqual({ kind: 'needed' });
    expect(asked).toHaveLength(1);
  });
});

describe('an address', () => {
  test.each(['93.184.216.34', '8.8.8.8', '2606:2800:220:1::1'])('%s may be connected to', (address) => {
    expect(mayConnectTo(address, false)).toBe(true);
  });
  test.each([
    '0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.9.9.9', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.8', '192.168.0.1', '198.18.0.1', '203.0.113.7', '224.0.0.1',
    '255.255.255.255', '::', '::1', '::ffff:8.8.8.8', '64:ff9b::10.0.0.1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fdff::1', 'ff02::1', '2001:db8::1', '2002:a00:1::', '2001::1', 'shop.example.com', '',
  ])('%s may not', (address) => {
    expect(mayConnectTo(address, false)).toBe(false);
  });
  test('of this machine may where that is allowed, and no other private one', () => {
    expect(['127.0.0.1', '::1', '10.0.0.1', 'fe80::1', '::ffff:10.0.0.1'].map((address) => mayConnectTo(address, true))).toEqual([true, true, false, false, false]);
  });
});

describe('a precondition_url', () => {
  const origins = ['https://shop.example.com', 'https://shop.example.com:8443'];
  test.each(['https://shop.example.com/orders/1', 'https://shop.example.com:8443/o?id=1', 'https://shop.example.com:443/'])('%s may be asked', (url) => {
    expect(preconditionUrlFault(url, origins)).toBeNull();
  });
  test.each([
    ['http://shop.example.com/', /is not https/], ['https://shop.example.org/', /is not at an origin/], ['https://shop.example.com.evil.example/', /is not at an origin/],
    ['https://user:pass@shop.example.com/', /holds a user/], ['https://shop.example.com@evil.example/', /holds a user/], ['https://shop.example.com/#x', /has a fragment/],
    ['https://shop.example.com/a b', /is not a URL/], ['https:\\\\shop.example.com\\', /is not a URL/], ['shop', /is not a URL/], ['', /is not a URL/],
    [`https://shop.example.com/${'x'.repeat(2_000)}`, /more than 2,000/], ['https://shop.example.com:9443/', /is not at an origin/],
  ])('%s may not, and says why', (url, problem) => {
    const fault = preconditionUrlFault(url, origins);
    expect(fault?.problem).toMatch(problem);
    expect(fault?.cure).not.toContain('evil');
  });
});

describe('the settings of the precondition', () => {
  const env = { PRECONDITION_ORIGINS: 'https://shop.example.com, https://b.example.com:8443', PRECONDITION_SECRET: SECRET };
  test('name origins, and secrets that are never told', () => {
    expect(readPreconditionConfig(env)).toEqual({ origins: ['https://shop.example.com', 'https://b.example.com:8443'], secrets: [SECRET], ca: null, allowLoopback: false });
    expect(readPreconditionConfig({})).toBeNull();
  });
  test.each([
    ['an origin that is not https', { PRECONDITION_ORIGINS: 'http://shop.example.com' }, /entry 1 must be an https origin/],
    ['an origin with a path', { PRECONDITION_ORIGINS: 'https://shop.example.com/x' }, /entry 1 must be an https origin/],
    ['an origin on this machine', { PRECONDITION_ORIGINS: 'https://127.0.0.1:3003' }, /entry 1 is this machine/],
    ['no secret', { PRECONDITION_SECRET: '' }, /PRECONDITION_SECRET is not set/],
    ['a short secret', { PRECONDITION_SECRET: 'short-secret' }, /entry 1 must have at least 32 characters/],
    ['an authority that is no file', { PRECONDITION_CA: '/nowhere.pem' }, /PRECONDITION_CA cannot be read \(ENOENT\)/],
    ['loopback beside a real provider', { PRECONDITION_LOOPBACK: '1', SMTP_URL: 'smtp://127.0.0.1:2525' }, /TWILIO_BASE_URL is not on this machine: unset PRECONDITION_LOOPBACK/],
  ])('are refused where there is %s', (_name, over, expected) => {
    const read = () => readPreconditionConfig({ ...env, ...over });
    expect(read).toThrow(expected);
    expect(read).not.toThrow(/short-secret|a-secret/);
  });
  test('allow this machine beside a sandbox', () => {
    const sandbox = { PRECONDITION_LOOPBACK: '1', PRECONDITION_ORIGINS: 'https://127.0.0.1:3003', SMTP_URL: 'smtp://127.0.0.1:2525', TWILIO_BASE_URL: 'http://127.0.0.1:3002' };
    expect(readPreconditionConfig({ ...env, ...sandbox })).toMatchObject({ allowLoopback: true });
  });
});
