import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { ask, createRig, postJson } from './rig.ts';
import type { Answer, Rig } from './rig.ts';
import { PATIENCE_MS } from '../ledger/feed-support.ts';

let rig: Rig;
let intake: RunningIntake;
let key: string;
let strangersKey: string;
let sent: string[];

interface Item { event_id: string; version: number; status: string; changed_at: string; updated_at: string; attempts: { outcome: string }[] }
interface Feed { items: Item[]; next_cursor: string; has_more: boolean }

const get = (path: string, as = key): Promise<Answer> => ask(`${intake.url}${path}`, { headers: { Authorization: `Bearer ${as}` } });
const feed = async (query: string, as = key): Promise<Feed> => {
  const answer = await get(`/notifications${query}`, as);
  expect(answer.status).toBe(200);
  return answer.body as unknown as Feed;
};
/** Reads from the beginning until so many items have come; a transaction of another test may hold the feed back for a moment. */
const feedOf = async (count: number, as = key): Promise<Feed> => {
  const givesUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const read = await feed('?limit=200', as);
    if (read.items.length >= count) return read;
    if (performance.now() > givesUpAt) throw new Error(`${read.items.length} items and no more`);
  }
};

let keys = 0;
const send = async (as: string): Promise<string> => {
  const answer = await postJson(`${intake.url}/notifications`, {
    purpose: 'game-support-urgent',
    recipient: { ref: 'user-1', sms: '+12025550101', email: 'someone@example.com', region: 'US', locale: 'en', consent: ['sms:on_call_duty', 'email:on_call_duty'] },
    variables: { category: 'payment_lockout', queue: 'payments', region: 'US', locale: 'en', player_ref: 'p', message: 'm', received_at: 'now', ticket_url: 'https://example.com/t' },
  }, { Authorization: `Bearer ${as}`, 'Idempotency-Key': `feed-${keys += 1}` });
  expect(answer.status).toBe(202);
  return String(answer.body.event_id);
};

beforeAll(async () => {
  rig = await createRig();
  intake = await rig.start();
  key = await rig.createKey('acme');
  strangersKey = await rig.createKey('stranger');
  expect(await feed('')).toEqual({ items: [], next_cursor: expect.any(String), has_more: false });
  sent = [await send(key), await send(key)];
  await send(strangersKey);
  sent.push(await send(key));
  await postJson(`${intake.url}/notifications/${sent[0]}/close`, { reason: 'taken' }, { Authorization: `Bearer ${key}` });
});
afterAll(() => rig.close());

describe('the change feed', () => {
  it('tells each change with what the notification looked like then', async () => {
    const { items, has_more: hasMore } = await feedOf(4);
    expect(items.map((item) => [item.event_id, item.status])).toEqual([[sent[0], 'accepted'], [sent[1], 'accepted'], [sent[2], 'accepted'], [sent[0], 'closed']]);
    expect(items.map((item) => item.attempts[0]?.outcome)).toEqual(['queued', 'queued', 'queued', 'cancelled']);
    expect(hasMore).toBe(false);
    const { version, changed_at: changedAt, ...view } = items[3] as Item;
    expect(view).toEqual((await get(`/notifications/${sent[0]}`)).body);
    expect(changedAt).toBe(view.updated_at);
    expect(version).toBeGreaterThan((items[0] as Item).version);
  });

  it('goes on from next_cursor, in pages of any size, and repeats a page for the same cursor', async () => {
    const whole = await feedOf(4);
    const first = await feed('?limit=3');
    expect(first).toMatchObject({ items: whole.items.slice(0, 3), has_more: true });
    const second = await feed(`?limit=3&after=${first.next_cursor}`);
    expect(second).toMatchObject({ items: whole.items.slice(3), has_more: false });
    expect(await feed(`?after=${first.next_cursor}`)).toEqual(second);
    expect(await feed(`?after=${second.next_cursor}`)).toMatchObject({ items: [], has_more: false });
    const exact = await feed('?limit=4');
    expect(exact).toMatchObject({ items: whole.items, has_more: false });
  });

  it('shows a tenant its own changes only', async () => {
    const { items } = await feedOf(1, strangersKey);
    expect(items).toHaveLength(1);
    expect(sent).not.toContain(items[0]?.event_id);
  });

  it('names no provider, address or text, and is not to be cached', async () => {
    const answer = await get('/notifications');
    expect(answer.text).not.toMatch(/twilio|smtp|example\.com|2025550/i);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('wants an API key', async () => {
    expect((await ask(`${intake.url}/notifications`)).body).toMatchObject({ status: 401, code: 'unauthorized' });
  });
});

describe('a cursor', () => {
  it('that was changed anywhere, cut, or signed for another tenant is refused', async () => {
    const { next_cursor: cursor } = await feedOf(4);
    const other = (letter: string): string => (letter === 'A' ? 'B' : 'A');
    const changed = [...cursor].map((letter, index) => cursor.slice(0, index) + other(letter) + cursor.slice(index + 1));
    const wrong = [...changed.filter((_one, index) => index % 7 === 0), changed.at(-1) as string, cursor.slice(0, -1), cursor.slice(1), `${cursor}A`, cursor.split('.')[0] as string, '', 'nonsense', '%00'];
    for (const one of wrong) expect((await get(`/notifications?after=${one}`)).body).toMatchObject({ status: 400, code: 'cursor_invalid', field: 'after' });
    expect((await get(`/notifications?after=${cursor}`, strangersKey)).body).toMatchObject({ status: 400, code: 'cursor_invalid' });
    expect((await get(`/notifications?after=${cursor}`)).status).toBe(200);
  });
});

describe('what is asked for', () => {
  test.each(['0', '201', '-1', '1.5', 'many', '', '1e2', '0x10', '99999999999999999999'])('refuses a limit of "%s"', async (limit) => {
    expect((await get(`/notifications?limit=${limit}`)).body).toMatchObject({ status: 400, code: 'invalid_field', field: 'limit' });
  });

  it('refuses a parameter twice, and one that it does not know', async () => {
    expect((await get('/notifications?limit=1&limit=2')).body).toMatchObject({ status: 400, code: 'invalid_field', field: 'limit', detail: expect.stringContaining('was given more than once') });
    expect((await get('/notifications?cursor=x')).body).toMatchObject({ status: 400, code: 'unknown_field', field: 'cursor' });
  });

  it('takes 200, and 50 where nothing is said', async () => {
    expect((await get('/notifications?limit=200')).status).toBe(200);
    await Promise.all(Array.from({ length: 52 }, () => send(strangersKey)));
    await feedOf(53, strangersKey);
    const read = await feed('', strangersKey);
    expect(read.items).toHaveLength(50);
    expect(read.has_more).toBe(true);
  });
});
