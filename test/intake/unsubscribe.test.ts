import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { isOneClick } from '../../services/intake/one-click.ts';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { unsubscribeToken } from '../../shared/delivery/unsubscribe.ts';
import { publishVersions } from '../../shared/ledger/versions.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { anOffer, mailingVersions, ONE_CLICK_BODY } from '../support/mailing.ts';
import type { Answer, Rig } from './rig.ts';
import { ask, createRig, postForm, postJson } from './rig.ts';

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const MULTIPART = '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n';

describe('a body that says one click', () => {
  it.each(['List-Unsubscribe=One-Click', 'List-Unsubscribe=One-Click\r\n', 'a=b&List-Unsubscribe=One-Click&c=d', MULTIPART, MULTIPART.replace('\r\n\r\nOne', '\r\nContent-Type: text/plain\r\n\r\nOne')])('is %p', (body) => expect(isOneClick(body)).toBe(true));
  it.each(['', 'List-Unsubscribe=', 'List-Unsubscribe=One-Click-Not', 'XList-Unsubscribe=One-Click', '{"List-Unsubscribe":"One-Click"}', MULTIPART.replace('One-Click', 'No')])('is not %p', (body) => expect(isOneClick(body)).toBe(false));
});

it('a body that is long is not searched for it', () => {
  const from = performance.now();
  expect(isOneClick('name=List-Unsubscribe\n'.repeat(12_000))).toBe(false);
  expect(performance.now() - from).toBeLessThan(500);
});

describe('a link to unsubscribe', () => {
  let rig: Rig;
  let intake: RunningIntake;
  let line = 0;
  beforeAll(async () => {
    rig = await createRig(undefined, 30_000);
    const { policies, templates } = mailingVersions();
    await publishVersions(rig.engine.db, { policies, templates: templates.map((definition) => ({ name: definition.name, version: definition.version, definition })), now: Date.now() });
    intake = await rig.start({ trustProxy: 1, unsubscribesPerMinute: { address: 1_000_000, link: 1_000_000 }, publicUrl: 'https://mail.example.com' });
  });
  afterAll(() => rig.close());

  const aToken = (madeAt = Date.now()): string => {
    line += 1;
    return unsubscribeToken(rig.engine, { tenant: 'default', email: `reader${line}@example.com`, madeAt }) as string;
  };
  const at = (token: string): string => `${intake.url}/unsubscribe/${token}`;
  const rows = async (): Promise<number> => Number((await rig.engine.db.pool.query('SELECT count(*) FROM suppression')).rows[0].count);
  const withoutId = ({ status, body, headers }: Answer) => ({ status, body: { ...body, request_id: null }, cache: headers.get('cache-control') });

  it('shows one button to a browser and changes nothing, however it is looked at', async () => {
    const token = aToken();
    const before = await rows();
    const shown = await ask(at(token), { headers: { Accept: 'text/html' } });
    expect([shown.status, [...shown.text.matchAll(/<button/g)].length, shown.text.includes(`action="/unsubscribe/${token}"`)]).toEqual([200, 1, true]);
    expect(['referrer-policy', 'cache-control', 'x-robots-tag', 'set-cookie'].map((name) => shown.headers.get(name))).toEqual(['no-referrer', 'no-store', 'noindex, nofollow', null]);
    const looks: RequestInit[] = [{ method: 'HEAD' }, { headers: { 'Sec-Purpose': 'prefetch', Purpose: 'prefetch' } }, { headers: { Accept: '*/*' } }];
    for (const init of looks) expect((await ask(at(token), init)).status).toBe(200);
    for (const method of ['PUT', 'DELETE', 'PATCH']) expect((await ask(at(token), { method })).status).toBe(405);
    for (const body of ['', 'List-Unsubscribe=No', 'x']) expect((await ask(at(token), { method: 'POST', headers: FORM, body })).body).toMatchObject({ status: 400, code: 'one_click_missing' });
    expect(await rows()).toBe(before);
  });

  test.each([
    ['urlencoded', { headers: FORM, body: 'List-Unsubscribe=One-Click' }], ['multipart', { headers: { 'Content-Type': 'multipart/form-data; boundary=b' }, body: MULTIPART }],
    ['with no type stated', { headers: {}, body: Buffer.from('List-Unsubscribe=One-Click') }], ['from another site', { headers: { ...FORM, Origin: 'https://webmail.example', Cookie: 'a=b' }, body: 'List-Unsubscribe=One-Click' }],
  ])('unsubscribes by one post, %s, and the same again', async (_name, init) => {
    const token = aToken();
    const before = await rows();
    for (let times = 0; times < 2; times += 1) {
      const { status, body, headers } = await ask(at(token), { method: 'POST', ...init });
      expect([status, body, headers.get('location'), headers.get('set-cookie')]).toEqual([200, { status: 'unsubscribed' }, null, null]);
    }
    expect(await rows()).toBe(before + 1);
  });

  it('answers alike where it never was, was changed, is too old or was made under other keys, and writes nothing', async () => {
    const token = aToken();
    const foreign = unsubscribeToken({ ...rig.engine, ring: parseKeyRing(generateKeyRingText()) }, { tenant: 'default', email: 'a@example.com', madeAt: Date.now() }) as string;
    const before = await rows();
    const answers: unknown[] = [];
    for (const one of ['x', `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`, `${token}A`, 'y'.repeat(200), aToken(Date.now() - 401 * 86_400_000), foreign]) {
      answers.push(withoutId(await ask(at(one))), withoutId(await postForm(at(one), ONE_CLICK_BODY)), withoutId(await postForm(at(one), {})));
    }
    expect(answers[0]).toMatchObject({ status: 404, body: { code: 'link_not_valid' }, cache: 'no-store' });
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(await rows()).toBe(before);
    expect((await ask(at('x'), { headers: { Accept: 'text/html' } })).text).toContain('This link to unsubscribe is not whole, or too old');
  });

  it('works at least 30 days, and then some', async () => {
    expect((await ask(at(aToken(Date.now() - 399 * 86_400_000)))).status).toBe(200);
  });

  it('is limited by address where it leads nowhere, and by itself where it is good: a mail provider posts for many from one address', async () => {
    const other = await rig.start({ unsubscribesPerMinute: { address: 3, link: 3 } });
    const post = async (token: string): Promise<number> => (await postForm(`${other.url}/unsubscribe/${token}`, ONE_CLICK_BODY)).status;
    const [one, two] = [aToken(), aToken()];
    expect([await post('x'), await post('y'), await post('z'), await post('x')]).toEqual([404, 404, 404, 429]);
    expect([await post(one), await post(one), await post(one), await post(two)]).toEqual([200, 200, 200, 200]);
    const limited = await postForm(`${other.url}/unsubscribe/${one}`, ONE_CLICK_BODY);
    expect([limited.status, limited.body['code'], Number(limited.headers.get('retry-after')) > 0]).toEqual([429, 'too_many_requests', true]);
    await other.close();
  });

  it('is not accepted for where the intake is not reached by https, nor given by a caller', async () => {
    const key = await rig.createKey('default');
    const auth = { Authorization: `Bearer ${key}` };
    const plain = await rig.start();
    expect((await postJson(`${plain.url}/notifications`, anOffer('a@example.com'), { ...auth, 'Idempotency-Key': 'u1' })).body).toMatchObject({ status: 422, code: 'public_url_not_https' });
    await plain.close();
    expect((await postJson(`${intake.url}/notifications`, anOffer('a@example.com', { variables: { offer: 'x', unsubscribe_url: 'https://evil.example' } }), { ...auth, 'Idempotency-Key': 'u2' })).body)
      .toMatchObject({ status: 422, code: 'unknown_variable' });
    const body = anOffer('a@example.com');
    const send = () => postJson(`${intake.url}/notifications`, body, { ...auth, 'Idempotency-Key': 'u3' });
    expect([(await send()).status, (await send()).body['replayed']]).toEqual([202, true]);
  });

  it('leaves no trace of its token in the log', async () => {
    const token = aToken();
    await postForm(at(token), ONE_CLICK_BODY);
    await ask(at(`${token}x`));
    expect(rig.logged()).toContain('/unsubscribe/:token');
    expect(rig.logged()).not.toContain(token.slice(0, 30));
  });
});
