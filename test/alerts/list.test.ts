import { afterAll, beforeAll, expect, it, test } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { ask } from '../intake/rig.ts';
import { run } from '../cli/support.ts';
import { silentLog } from '../support/test-engine.ts';
import { openPair } from './support.ts';
import type { Pair } from './support.ts';

const MINUTE = 60_000;
const OPERATOR = { user: 'operator', password: 'correct:horse' };
let pair: Pair;
let dashboard: RunningDashboard;
const events: string[] = [];

beforeAll(async () => {
  pair = await openPair();
  dashboard = await startDashboard({ engine: pair.engines[0], log: silentLog(), config: { host: '127.0.0.1', port: 0, operator: OPERATOR } });
  // The command line reads the database's own clock: a minute and a half ahead of this one.
  pair.jump(60 * MINUTE - 9.5 * MINUTE);
  for (let made = 0; made < 3; made += 1) {
    events.push(await pair.accept({ requestId: `req-of-${made}` }));
    pair.jump(5);
  }
  await pair.pass(8 * MINUTE);
}, 60_000);
afterAll(async () => {
  await dashboard.close();
  await pair.close();
});

const see = (path: string, accept = 'text/html') => ask(`${dashboard.url}${path}`, { headers: { Accept: accept, Authorization: `Basic ${Buffer.from(`${OPERATOR.user}:${OPERATOR.password}`).toString('base64')}` } });
const json = async (path: string, accept = 'application/json') => (await see(path, accept)).body as { count: number; more: boolean; items: { event_id: string; finding: string; since: string }[] };

it('is a page that counts what it shows, oldest first, each with what to do next', async () => {
  const { status, text } = await see('/at-risk');
  expect(status).toBe(200);
  expect(text).toContain('<p id="count">6 findings.</p>');
  const shown = [...text.matchAll(/href="\/notifications\/(evt_\w+)"/g)].map((match) => match[1]);
  // All were not dispatched from one instant on each, and came near their ends later.
  expect(shown).toEqual([...events, ...events]);
  expect(text).toContain('It waits to be submitted: look to the queue, the workers and the provider.');
  expect(text).not.toMatch(/2025550|example\.com|locked out|oncall-/);
  expect(text).not.toContain('<script');
});

it('is JSON for whoever accepts nothing else, with the same count and rows', async () => {
  const list = await json('/at-risk');
  expect([list.count, list.items.length, list.more]).toEqual([6, 6, false]);
  expect(list.items.map(({ event_id: eventId }) => eventId)).toEqual([...events, ...events]);
  expect(await json('/at-risk/view', '*/*')).toEqual(list);
  expect((await see('/at-risk', '*/*')).headers.get('content-type')).toContain('text/html');
});

test('a search finds one of them, and says where there is nothing of it', async () => {
  for (const [search, found] of [[events[1], 1], ['req-of-2', 1], ['oncall-01', 3], [`${events[0]}.email.1`, 1], [events[1]?.toLowerCase(), 1], [`${events[0]}.EMAIL.1`.toUpperCase(), 1], ['REQ-of-2', 1], ['OnCall-01', 3], ['req-of-9', 0]] as const) {
    expect([search, new Set((await json(`/at-risk?q=${search}`)).items.map(({ event_id: eventId }) => eventId)).size]).toEqual([search, found]);
  }
  const { text } = await see('/at-risk?q=%3Cb%3E');
  expect(text).toContain('value="&lt;b&gt;"');
  expect(text).toContain('Nothing is found of it now.');
  // An id that nobody has is another answer than one of which nothing is found.
  for (const id of ['evt_00000000000000000000000000', 'EVT_0000000000000000000000000a']) {
    const none = (await see(`/at-risk?q=${id}`)).text;
    expect([none.includes('There is no such notification.'), none.includes('Nothing is found')]).toEqual([true, false]);
  }
});

test('the command line tells the same, as a table and as JSON', async () => {
  const env = { DATABASE_URL: pair.database.url, TOCSIN_KEYS: pair.ring, TOCSIN_DATA_DIR: '/nonexistent' };
  const shown = await run(['at-risk', '--json'], { env });
  expect([shown.code, shown.err]).toEqual([0, '']);
  const { count, items } = JSON.parse(shown.out) as Awaited<ReturnType<typeof json>>;
  expect(items).toHaveLength(count);
  expect(new Set(items.map(({ event_id: eventId }) => eventId))).toEqual(new Set(events));
  const table = await run(['at-risk', '--search', 'req-of-1', '--limit', '1'], { env });
  expect(table.out).toMatch(new RegExp(`not_dispatched +${events[1]} +game-support-urgent +sms 1: cancelled`));
  expect((await run(['at-risk', '--search', 'nobody'], { env })).out).toBe('No notification at risk matches --search; without it there may be some.\n');
  expect(await run(['at-risk', '--limit', '0'], { env })).toMatchObject({ code: 2, err: expect.stringContaining('--limit must be a whole number from 1 to 1000') });
});
