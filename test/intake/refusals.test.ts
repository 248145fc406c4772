import { connect } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { ask, aTicket, createDoor, createRig, postForm, postJson } from './rig.ts';
import type { Rig } from './rig.ts';

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
    expect((await postJson(`${intake.url}/tickets`, '[]')).body).toMatchObject({ status: 400, code: 'invalid_field' });
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
});

describe('request ids and the log', () => {
  it('gives a sane request id back and replaces any other', async () => {
    expect((await ask(`${intake.url}/healthz`, { headers: { 'X-Request-Id': 'abc-123' } })).headers.get('x-request-id')).toBe('abc-123');
    expect((await ask(`${intake.url}/healthz`, { headers: { 'X-Request-Id': 'a b<c>' } })).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
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
