import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { openPair } from '../alerts/support.ts';
import type { Pair } from '../alerts/support.ts';
import { ask } from '../intake/rig.ts';
import { silentLog, urgentRequest } from '../support/test-engine.ts';

let pair: Pair;
let dashboard: RunningDashboard;
let [mine, other] = ['', ''];
beforeAll(async () => {
  pair = await openPair();
  dashboard = await startDashboard({ engine: pair.engines[0], log: silentLog(), config: { host: '127.0.0.1', port: 0, operator: { user: 'admin', password: 'correct:horse' } } });
  mine = await pair.accept({ requestId: 'req-of-mine', recipient: { ...urgentRequest().recipient, ref: 'oncall mine' } });
  other = await pair.accept({ requestId: 'req-of-another' });
  await pair.pass(8 * 60_000);
}, 60_000);
afterAll(async () => {
  await dashboard?.close();
  await pair?.close();
});

const see = (path: string, headers: Record<string, string> = {}) => ask(`${dashboard.url}${path}`, { headers: { Authorization: `Basic ${Buffer.from('admin:correct:horse').toString('base64')}`, Accept: 'text/html', ...headers } });
/** What a page says is wrong. */
const problem = (text: string): string => (/role="alert">([^<]*)</.exec(text)?.[1] ?? '').replaceAll('&quot;', '"');

describe('the filters of lists', () => {
  test.each([
    ['/?state=accepted', '“state” is no filter of this list. There are: event, status, purpose, throttled, before.'],
    ['/?status=sleeping', /^“sleeping” does not fit into “status”. There is no such status. There are: accepted, in_progress, /],
    ['/?purpose=nothing', /^“nothing” does not fit into “purpose”. There is no such purpose. There are: .*game-support-urgent/],
    ['/?before=7', '“7” does not fit into “before”. It is an event id.'],
    ['/?status=accepted&status=sent', '“status” is given several times. Give it once.'],
    ['/?constructor=x', /^“constructor” is no filter/],
    ['/?%2B12025550147=x', /^“\+1•••••0147” is no filter/],
    ['/at-risk?event=evt_1', '“event” is no filter of this list. There are: q.'],
    ['/at-risk/view?search=x', '“search” is no filter of this list. There are: q.'],
    [`/at-risk?q=${'x'.repeat(201)}`, /no longer than 200 characters\.$/],
    ['/audit?who=ada', '“who” is no filter of this list. There are: actor, action, since, before.'],
    ['/audit?actor=a+b', /^“a b” does not fit into “actor”/],
    ['/audit?action=notification.sing', /There is no such action. There are: .*notification\.close/],
    ['/audit?before=0', /^“0” does not fit into “before”/],
    ['/templates?name=x', '“name” is no filter of this list. It has none.'],
  ])('%s is answered with 400 and what there is, not with another list', async (path, words) => {
    const { status, text } = await see(path);
    expect([status, problem(text)]).toEqual([400, typeof words === 'string' ? words : expect.stringMatching(words)]);
    expect(text).not.toContain(mine);
  });

  it('tells a program the same as a problem with a code', async () => {
    const { status, headers, text } = await see('/at-risk/view?search=x', { Accept: 'application/json' });
    expect([status, headers.get('content-type')]).toEqual([400, expect.stringMatching(/^application\/problem\+json/)]);
    expect(JSON.parse(text)).toMatchObject({ status: 400, code: 'unknown_filter', detail: expect.stringContaining('There are: q') as unknown });
  });

  it('takes an empty one for one that is not set, as forms send it', async () => {
    for (const path of ['/?event=&status=&purpose=', '/at-risk?q=', '/audit?actor=&action=&since=']) expect([path, (await see(path)).status]).toEqual([path, 200]);
  });
});

describe('the search of what is at risk', () => {
  const found = async (q: string): Promise<string[]> => {
    const list = `/at-risk?q=${encodeURIComponent(q)}`;
    const [page, json] = await Promise.all([see(list), see(list, { Accept: 'application/json' })]);
    const ids = (json.body['items'] as { event_id: string }[]).map((one) => one.event_id);
    expect([...page.text.matchAll(/<td[^>]*><div><a href="\/notifications\/(evt_\w+)"/g)].map((match) => match[1])).toEqual(ids);
    return [...new Set(ids)];
  };
  it('finds by event id, attempt key, recipient reference and request id, and nothing else with it', async () => {
    for (const q of [mine, `${mine}.sms.1`, 'oncall mine', 'req-of-mine', '  req-of-mine ']) expect([q, await found(q)]).toEqual([q, [mine]]);
    expect(await found('req-of-another')).toEqual([other]);
    expect((await found('')).sort()).toEqual([mine, other].sort());
  });
  it('finds nothing by a part of it, by somebody else, or by an address', async () => {
    for (const q of [mine.slice(0, -1), 'oncall', 'oncall-99', 'req-of', '+12025550103', '%']) expect([q, await found(q)]).toEqual([q, []]);
  });
});
