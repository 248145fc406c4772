import { connect } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { ask, aTicket, createDoor, createRig, postForm, postJson } from './rig.ts';
import type { Answer, Rig } from './rig.ts';

let rig: Rig;
let intake: RunningIntake;
let door: Awaited<ReturnType<typeof createDoor>>;

beforeAll(async () => {
  rig = await createRig(async (url) => {
    door = await createDoor(url);
    return door.url;
  });
  intake = await rig.start();
});
afterAll(async () => {
  await rig.close();
  await door.shut();
});

const count = async (): Promise<number> => Number((await rig.engine.db.pool.query<{ n: string }>('SELECT count(*) AS n FROM notification')).rows[0]?.n);

describe('a request that cannot be read', () => {
  it('answers malformed JSON with 400 and says so', async () => {
    expect((await postJson(`${intake.url}/tickets`, '{"category": ')).body).toMatchObject({ status: 400, code: 'malformed_json', title: 'Bad Request' });
    expect((await postJson(`${intake.url}/tickets`, '')).body).toMatchObject({ status: 400, code: 'malformed_json' });
  });

  it('names the fields that are missing where the body has none, or is no object', async () => {
    for (const body of ['{}', '[]', 'null', '"help"']) {
      const answer = (await postJson(`${intake.url}/tickets`, body)).body;
      expect(answer).toMatchObject({ status: 400, code: 'invalid_field', field: 'category' });
      expect((answer.errors as { field: string }[]).map((one) => one.field)).toEqual(['category', 'message', 'region', 'locale', 'player_ref']);
      expect(/not an object/.test(answer.detail as string)).toBe(body !== '{}');
    }
  });

  const numbered = (count: number, value: string): [string, string][] => Array.from({ length: count }, (_, index) => [String(index), value]);

  it.each<[string, () => Promise<Answer>]>([
    ['a JSON object of 22,000 unknown fields', () => postJson(`${intake.url}/tickets`, Object.fromEntries(numbered(22_000, '')))],
    ['a form of 30,000 unknown fields', () => postForm(`${intake.url}/tickets`, Object.fromEntries(numbered(30_000, '1')))],
    ['a form of empty fields only', () => postForm(`${intake.url}/tickets`, Object.fromEntries(numbered(29_000, '')))],
    ['such a form from a browser', () => postForm(`${intake.url}/tickets`, Object.fromEntries(numbered(29_000, '1')), { Accept: 'text/html' })],
    ['a list of 100,000 entries', () => postJson(`${intake.url}/tickets`, `{"contact":[${'0,'.repeat(100_000)}0]}`)],
    ['objects in objects, 40,000 deep', () => postJson(`${intake.url}/tickets`, `${'{"a":'.repeat(40_000)}0${'}'.repeat(40_000)}`)],
    ['lists in lists, 120,000 deep', () => postJson(`${intake.url}/tickets`, `${'['.repeat(120_000)}${']'.repeat(120_000)}`)],
  ])('refuses %s by its shape alone, with a short answer', async (_what, send) => {
    const answer = await send();
    expect(answer.status).toBe(400);
    expect(answer.text.length).toBeLessThan(10_000);
    expect(answer.text).toMatch(/too_many_fields|<p>The form has more than 100 fields/);
  });

  it('names 20 faults at most, says how many more there are, and never repeats a long name', async () => {
    const names = Array.from({ length: 90 }, (_, index) => `${index}${'\u0007é火'.repeat(200)}`);
    const answer = await postJson(`${intake.url}/tickets`, { ...aTicket(), ...Object.fromEntries(names.map((name) => [name, 1])) });
    expect(answer.body).toMatchObject({ status: 400, code: 'unknown_field', more_errors: 70 });
    expect(answer.body.errors).toHaveLength(20);
    expect(answer.body.detail).toContain('85 more fields are at fault.');
    expect(Buffer.byteLength(answer.text)).toBeLessThan(10_000);
  });

  it.each([['spaces', ' \n\t'], ['characters without width', '\u200b\u2060\ufeff\u200d'], ['fillers', '\u3164\u2800\u115f'], ['direction marks', '\u202e\u2066']])('takes a message of nothing but %s as empty', async (_what, message) => {
    expect((await postJson(`${intake.url}/tickets`, aTicket({ message }))).body).toMatchObject({ status: 400, field: 'message', errors: [{ problem: 'is empty' }] });
    expect((await postJson(`${intake.url}/tickets`, aTicket({ player_ref: message }))).body).toMatchObject({ status: 400, field: 'player_ref' });
    expect((await postJson(`${intake.url}/tickets`, aTicket({ message: `${message}!` }))).status).toBe(202);
  });

  it('answers a form that is no UTF-8 with 400 instead of replacing what it cannot read', async () => {
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await ask(`${intake.url}/tickets`, { method: 'POST', headers, body: 'category=feedback&message=%ED%A0%BD' })).body).toMatchObject({ status: 400, code: 'malformed_form' });
  });

  it('answers another content type with 415 and names those it takes', async () => {
    const answer = await ask(`${intake.url}/tickets`, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: 'help' });
    expect(answer.body).toMatchObject({ status: 415, accepted: ['application/json', 'application/x-www-form-urlencoded'] });
    expect((await postJson(`${intake.url}/tickets`, '{}', { 'Content-Type': 'application/json; charset=latin1' })).status).toBe(415);
  });

  it('answers a body of 10 MB with 413, and the client gets the answer', async () => {
    const answer = await postJson(`${intake.url}/tickets`, aTicket({ message: 'x'.repeat(10_000_000) }));
    expect(answer.body).toMatchObject({ status: 413, code: 'body_too_large' });
    expect((await postJson(`${intake.url}/tickets`, aTicket())).status).toBe(202);
  });

  it('counts characters, not bytes or halves: 10,000 emoji pass, one more does not', async () => {
    expect((await postJson(`${intake.url}/tickets`, aTicket({ message: '🔥'.repeat(10_000) }))).status).toBe(202);
    expect((await postJson(`${intake.url}/tickets`, aTicket({ message: '🔥'.repeat(10_001) }))).body).toMatchObject({ status: 400, field: 'message' });
  });

  it('answers another method with 405 and what is allowed, and an unknown path with 404', async () => {
    const answer = await ask(`${intake.url}/tickets`, { method: 'DELETE' });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toContain('POST');
    expect((await ask(`${intake.url}/nothing`)).body).toMatchObject({ status: 404, code: 'not_found' });
    expect((await ask(`${intake.url}/receipts/%E0%A4%A`)).body).toMatchObject({ status: 400, code: 'malformed_path' });
    const page = await ask(`${intake.url}/nothing`, { headers: { Accept: 'text/html' } });
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.text).toContain('<h1>There is nothing here</h1>');
  });

  it('answers an unknown receipt token like any unknown page', async () => {
    expect((await ask(`${intake.url}/receipts/${'A'.repeat(43)}`)).body).toMatchObject({ status: 404, code: 'not_found' });
    expect((await ask(`${intake.url}/receipts/short`)).body).toMatchObject({ status: 404, code: 'not_found' });
  });
});

describe('limits', () => {
  it('answers 429 with Retry-After, per player and per address', async () => {
    const strict = await rig.start({ ticketsPerMinute: { address: 5, player: 2 } });
    const send = (player: string) => postJson(`${strict.url}/tickets`, aTicket({ player_ref: player }));
    expect([(await send('one')).status, (await send('one')).status]).toEqual([202, 202]);
    const perPlayer = await send('one');
    expect(perPlayer.body).toMatchObject({ status: 429, code: 'too_many_requests' });
    expect(Number(perPlayer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect([(await send('two')).status, (await send('three')).status, (await send('four')).status]).toEqual([202, 202, 429]);
  });

  it('counts no replay against the player, and answers one also when the limit is reached', async () => {
    const strict = await rig.start({ ticketsPerMinute: { address: 600, player: 2 } });
    const ticket = aTicket();
    const send = (key: string, body = ticket) => postJson(`${strict.url}/tickets`, body, { 'Idempotency-Key': key });
    const first = await send('replayed');
    for (let round = 0; round < 5; round += 1) expect((await send('replayed')).body).toEqual({ ...first.body, replayed: true });
    expect([(await send('second')).status, (await send('third')).status]).toEqual([202, 429]);
    expect((await send('replayed')).status).toBe(200);
    expect((await send('replayed', { ...ticket, message: 'other' })).status).toBe(409);
  });

  it('lets nobody who knows a player\'s reference keep that player from the form', async () => {
    const strict = await rig.start({ trustProxy: 1, ticketsPerMinute: { address: 600, player: 1 } });
    const send = (from: string) => postJson(`${strict.url}/tickets`, aTicket({ player_ref: 'known-to-all' }), { 'X-Forwarded-For': from });
    expect([(await send('203.0.113.9')).status, (await send('203.0.113.9')).status, (await send('198.51.100.7')).status]).toEqual([202, 429, 202]);
    expect([(await send('2001:db8:1:2::1')).status, (await send('2001:db8:1:2::2')).status]).toEqual([202, 429]);
  });
});

describe('request ids and the log', () => {
  it('gives a request id back that is a UUID or a ULID, and replaces any other, since the ledger keeps it', async () => {
    const given = async (id: string) => (await ask(`${intake.url}/healthz`, { headers: { 'X-Request-Id': id } })).headers.get('x-request-id');
    for (const id of ['0b8f7d1c-4a47-4c2e-9d53-6d8f2f3a9e10', '01ARZ3NDEKTSV4RRFFQ69G5FAV']) expect(await given(id)).toBe(id);
    for (const id of ['abc-123', 'a b<c>', 'p_4111111111111111', '41111111-1111-1111-1111-111111111111']) expect(await given(id)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{21}$/);
  });

  it('logs route patterns and never a token, a query or a body', async () => {
    const { body } = await postJson(`${intake.url}/tickets`, aTicket({ message: 'xyzzy-text' }));
    const url = new URL(body.status_url as string);
    await ask(`${url.href}?paused=1&secret=xyzzy-query`, { headers: { Authorization: 'Bearer xyzzy-key' } });
    expect(rig.logged()).toContain('/receipts/:token');
    expect(rig.logged()).not.toContain('xyzzy');
    expect(rig.logged()).not.toContain(url.pathname.split('/').at(-1) as string);
  });
});

describe('health', () => {
  it('is alive, ready, and keeps up', async () => {
    expect((await ask(`${intake.url}/healthz`)).body).toEqual({ status: 'alive' });
    expect((await ask(`${intake.url}/readyz`)).body).toEqual({ status: 'ready' });
    expect((await ask(`${intake.url}/healthz/engine`)).body).toMatchObject({ status: 'ok', oldest_due: { decision_ms: expect.any(Number) } });
  });

  it('says that the engine is behind once something has been due for more than ten seconds', async () => {
    await postJson(`${intake.url}/tickets`, aTicket());
    const { now } = rig.engine;
    rig.engine.now = () => now() + 60_000;
    try {
      expect((await ask(`${intake.url}/healthz/engine`)).body).toMatchObject({ status: 503, code: 'engine_behind' });
    } finally {
      rig.engine.now = now;
    }
  });
});

describe('while the database is away', () => {
  it('answers 503 with Retry-After and accepts nothing; the same request under the same key is taken once it is back', async () => {
    const before = await count();
    const headers = { 'Idempotency-Key': 'through-the-outage' };
    const ticket = aTicket();
    await door.shut();
    const away = await postJson(`${intake.url}/tickets`, ticket, headers);
    expect(away.body).toMatchObject({ status: 503, code: 'database_away' });
    expect(away.headers.get('retry-after')).toBe('5');
    expect((await ask(`${intake.url}/readyz`)).body).toMatchObject({ status: 503, code: 'database_away' });
    expect((await ask(`${intake.url}/healthz`)).status).toBe(200);
    expect((await postJson(`${intake.url}/notifications`, {}, { Authorization: `Bearer tk_${'0'.repeat(12)}_${'A'.repeat(43)}` })).status).toBe(503);
    const form = await postForm(`${intake.url}/tickets`, { ...(ticket as Record<string, string>), message: 'kept for me' }, { Accept: 'text/html' });
    expect(form.status).toBe(503);
    expect(form.text).toContain('kept for me</textarea>');
    await door.reopen();
    expect(await count()).toBe(before);
    expect((await postJson(`${intake.url}/tickets`, ticket, headers)).status).toBe(202);
    expect(await count()).toBe(before + 1);
  });
});

describe('stopping', () => {
  it('ends idle keep-alive connections and frees the port', async () => {
    const one = await rig.start();
    const socket = connect(one.port, '127.0.0.1');
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const all = readAll(socket);
    await new Promise((resolve) => { socket.once('data', resolve); });
    await one.close();
    expect(await all).toContain('200 OK');
    await expect(fetch(`${one.url}/healthz`)).rejects.toThrow();
  });
});
