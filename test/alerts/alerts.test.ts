import { createHash, createHmac } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from '@jest/globals';
import { startAlertDuty } from '../../services/coordinator/alerts.ts';
import { listRisks, riskListView } from '../../shared/delivery/at-risk.ts';
import { postAlerts, reviewAlerts } from '../../shared/delivery/alerts.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { pauseNotification } from '../../shared/delivery/pause-notification.ts';
import { leaseAlertPosts } from '../../shared/ledger/alerts.ts';
import { createAlertmanager } from '../../shared/transports/alerts/alertmanager.ts';
import { createWebhook } from '../../shared/transports/alerts/webhook.ts';
import { openListener } from '../support/alert-tools.ts';
import type { Heard, Listener } from '../support/alert-tools.ts';
import { LINKS, openPair } from './support.ts';
import type { Pair } from './support.ts';

const MINUTE = 60_000;
const SECRET = 'a-secret-of-the-pager-with-forty-characters';
let pair: Pair;
let listener: Listener;

beforeAll(async () => {
  pair = await openPair();
  listener = await openListener();
});
// Whatever a test leaves has expired when the next one begins.
afterEach(async () => {
  pair.jump(40 * MINUTE);
  await pair.pass(1);
  await reviewAlerts(pair.engines[0], []);
  pair.jump(5 * MINUTE);
  for (const receiver of ['webhook', 'alertmanager'] as const) await postAlerts(pair.engines[0], { name: receiver, send: async (notices) => notices.map(() => true) }, LINKS);
  listener.heard.length = 0;
  listener.answers.status = () => 200;
});
afterAll(async () => {
  await listener.close();
  await pair.close();
});

const webhook = () => createWebhook({ url: `${listener.url}/alerts?team=7`, secrets: [SECRET, `${SECRET}-old`] });
const review = () => reviewAlerts(pair.engines[0], ['webhook']);
const told = () => listener.heard.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
const take = (eventId: string) => closeNotification(pair.engines[0], { tenant: null, eventId, reason: 'taken', actor: 'test', requestId: 'r' });

describe('what is at risk, kept on Postgres', () => {
  test('fault 36: a list\'s count and its rows come from one query and agree, whoever writes meanwhile', async () => {
    const events = await Promise.all(Array.from({ length: 12 }, () => pair.accept()));
    await pair.pass(8 * MINUTE);
    const [{ db, ...engine }] = pair.engines;
    // Whenever something was asked, somebody closes one of what is listed before anything else can be asked.
    const query = async (...asked: Parameters<typeof db.query>): Promise<never[]> => {
      const rows = await db.query(...asked);
      if (asked[0].text.includes('risk_at')) await take(events.pop() as string);
      return rows as never[];
    };
    for (const findings of [24, 22, 20]) {
      // Each is found twice: at risk, and not dispatched.
      const { rows, count } = await listRisks({ ...engine, db: { ...db, query } as typeof db }, { shown: 1_000, search: null });
      expect([rows.length, count]).toEqual([findings, findings]);
    }
    const { rows, count, more } = await listRisks(pair.engines[1], { shown: 3, search: null });
    expect([rows.length, count, more]).toEqual([3, 18, false]);
    expect(rows.map(({ since }) => since)).toEqual(rows.map(({ since }) => since).toSorted((one, other) => one - other));
  });

  it('is found by event id, attempt key, recipient reference and request id, and by nothing else', async () => {
    const mine = await pair.accept({ requestId: 'req-mine' });
    await pair.accept({ requestId: 'req-other', recipient: { ref: 'somebody', sms: '+12025550102', email: null, region: 'US', locale: 'en', timeZone: null, consent: [{ channel: 'sms', basis: 'on_call_duty', reference: 'd' }] } });
    await pair.pass(8 * MINUTE);
    const events = async (search: string) => [...new Set((await listRisks(pair.engines[0], { shown: 100, search })).rows.map(({ eventId }) => eventId))];
    for (const search of [mine, `${mine}.sms.1`, 'oncall-01', 'req-mine']) expect([search, await events(search)]).toEqual([search, [mine]]);
    for (const search of ['oncall-0', 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', '+12025550101', '%']) expect(await events(search)).toEqual([]);
  });

  it('says nothing of addresses or texts', async () => {
    await pair.accept();
    await pair.pass(8 * MINUTE);
    const text = JSON.stringify(riskListView(await listRisks(pair.engines[0], { shown: 100, search: null })));
    expect(text).toContain('at_risk');
    for (const secret of ['+1202', 'example.com', 'locked out', 'oncall']) expect(text).not.toContain(secret);
  });

  it('leaves the list, and its index, once it ended by the clock alone', async () => {
    const eventId = await pair.accept();
    await pauseNotification(pair.engines[0], { tenant: null, eventId, reason: 'other', actor: 'test', requestId: 'r' });
    await pair.pass(8 * MINUTE);
    expect((await review()).raised).toEqual([`at_risk/${eventId}`]);
    pair.jump(7 * MINUTE);
    const { ended } = await review();
    expect(ended).toEqual([`at_risk/${eventId}`]);
    expect(await pair.ask('SELECT risk_at FROM notification_state WHERE event_id = $1', [eventId])).toEqual([{ risk_at: null }]);
  });
});

describe('an alert, kept on Postgres', () => {
  test('fault 32: N replicas raise one alert, tell of it once, and end it once', async () => {
    const eventId = await pair.accept();
    await pair.pass(8 * MINUTE);
    const duties = pair.engines.map((engine) => startAlertDuty({ engine, receivers: [webhook()], links: LINKS, heartbeatUrl: null }));
    // Beside their own turns: reviews of both at once, as if each had the duty.
    const reviews = await Promise.all(Array.from({ length: 10 }, (_, index) => reviewAlerts(pair.engines[index % 2 as 0 | 1], ['webhook'])));
    expect(reviews.flatMap(({ raised }) => raised)).toEqual([`at_risk/${eventId}`]);
    await Promise.all(duties.flatMap((duty) => [duty.tick(), duty.tick()]));
    await Promise.all(duties.map((duty) => duty.tick()));
    expect(told().map(({ dedup_key: key, status }) => [key, status])).toEqual([[`at_risk/${eventId}`, 'firing']]);
    await take(eventId);
    pair.jump(6_000);
    await Promise.all(duties.map((duty) => duty.tick()));
    await Promise.all(duties.map((duty) => duty.tick()));
    expect(told().map(({ status }) => status)).toEqual(['firing', 'resolved']);
    expect(await pair.ask('SELECT count(*)::int AS n FROM alert WHERE event_id = $1', [eventId])).toEqual([{ n: 1 }]);
    await Promise.all(duties.map((duty) => duty.close()));
  });

  it('is told again while it lasts, under the same key, and not before its time', async () => {
    await pair.accept();
    await pair.pass(8 * MINUTE);
    await review();
    for (const expected of [1, 1]) {
      await postAlerts(pair.engines[0], webhook(), LINKS);
      expect(told()).toHaveLength(expected);
    }
    pair.jump(MINUTE);
    await postAlerts(pair.engines[1], webhook(), LINKS);
    expect(new Set(told().map(({ dedup_key: key }) => key)).size).toBe(1);
    expect(told().map(({ seconds_to_deadline: left }) => left)).toEqual([420, 360]);
  });

  it('that a coordinator took and never told, because it died, is told by another one', async () => {
    await pair.accept();
    await pair.pass(8 * MINUTE);
    await review();
    const at = pair.now();
    expect(await leaseAlertPosts(pair.engines[0].db, { receiver: 'webhook', now: at, leaseUntil: at + 30_000, limit: 50 })).toHaveLength(1);
    await postAlerts(pair.engines[1], webhook(), LINKS);
    expect(told()).toEqual([]);
    pair.jump(30_000);
    await postAlerts(pair.engines[1], webhook(), LINKS);
    expect(told()).toMatchObject([{ status: 'firing' }]);
  });

  it('that its receiver did not take is told again, ever later, and its end is never lost', async () => {
    const eventId = await pair.accept();
    await pair.pass(8 * MINUTE);
    await review();
    listener.answers.status = () => 500;
    expect(await postAlerts(pair.engines[0], webhook(), LINKS)).toEqual({ told: 0, failed: 1 });
    await take(eventId);
    pair.jump(1_000);
    await review();
    // Its end is due at once.
    expect(await postAlerts(pair.engines[0], webhook(), LINKS)).toEqual({ told: 0, failed: 1 });
    expect(await postAlerts(pair.engines[0], webhook(), LINKS)).toEqual({ told: 0, failed: 0 });
    listener.answers.status = () => 204;
    pair.jump(2_000);
    expect(await postAlerts(pair.engines[0], webhook(), LINKS)).toEqual({ told: 1, failed: 0 });
    pair.jump(10 * MINUTE);
    expect(await postAlerts(pair.engines[0], webhook(), LINKS)).toEqual({ told: 0, failed: 0 });
    expect(told().at(-1)).toMatchObject({ status: 'resolved', event_id: eventId });
  });

  it('is not ended by a look that is older than the one that found it to last', async () => {
    const eventId = await pair.accept();
    await pair.pass(8 * MINUTE);
    await review();
    // Of the same instant: a later look is wanted to end it.
    await take(eventId);
    expect((await review()).ended).toEqual([]);
    pair.jump(1);
    expect((await review()).ended).toEqual([`at_risk/${eventId}`]);
    expect((await reviewAlerts(pair.engines[1], ['webhook'])).ended).toEqual([]);
  });

  it('warns once for a purpose, naming the oldest, before it pages for each', async () => {
    const first = await pair.accept();
    pair.jump(5);
    await pair.accept();
    await pair.pass(70_000);
    expect((await review()).raised).toEqual(['reserve_used/game-support-urgent']);
    await postAlerts(pair.engines[0], webhook(), LINKS);
    expect(told()).toMatchObject([{ severity: 'warning', alert: 'reserve_used', event_id: first, count: 2, runbook: 'docs/runbooks/reserve-used.md' }]);
    await pair.pass(7 * MINUTE);
    const { raised, ended } = await review();
    expect([raised.length, ended]).toEqual([2, ['reserve_used/game-support-urgent']]);
  });

  it('warns where what was due did not come to pass', async () => {
    const eventId = await pair.accept();
    pair.jump(40_000);
    expect((await review()).raised).toEqual(['stalled/game-support-urgent']);
    await postAlerts(pair.engines[0], webhook(), LINKS);
    expect(told()).toMatchObject([{ alert: 'stalled', event_id: eventId, next_action: { code: 'restore_engine' } }]);
    await pair.pass(1);
    expect((await review()).ended).toEqual(['stalled/game-support-urgent']);
  });
});

describe('the webhook', () => {
  const isSigned = ({ headers, path, body }: Heard, secret: string): boolean => {
    const header = String(headers['tocsin-signature']);
    const at = /^t=(\d+)/.exec(header)?.[1] ?? '';
    const text = ['tocsin-alert-1', at, 'POST', String(headers['host']), path, createHash('sha256').update(body).digest('hex')].join('\n');
    return header.split(',').includes(`v1=${createHmac('sha256', secret).update(text).digest('hex')}`);
  };

  it('is signed under every secret, names everything that an operator needs, and nothing else', async () => {
    const eventId = await pair.accept();
    await pair.pass(8 * MINUTE);
    await review();
    await postAlerts(pair.engines[0], webhook(), LINKS);
    const [heard] = listener.heard as [Heard];
    expect([isSigned(heard, SECRET), isSigned(heard, `${SECRET}-old`), isSigned({ ...heard, body: `${heard.body} ` }, SECRET)]).toEqual([true, true, false]);
    expect(JSON.parse(heard.body)).toEqual({
      version: 1, status: 'firing', dedup_key: `at_risk/${eventId}`, alert: 'at_risk', severity: 'page', summary: `Nothing under way can reach the recipient before the deadline: ${eventId} (game-support-urgent)`,
      event_id: eventId, purpose: 'game-support-urgent', policy_version: 2, region: 'US', urgency: 'urgent', channels: ['sms 1: cancelled (superseded)', 'email 1: queued'], count: 1,
      last_status_read_at: null, deadline_at: new Date(pair.now() + 7 * MINUTE).toISOString(), seconds_to_deadline: 420,
      next_action: { code: 'restore_sending', text: expect.stringContaining('look to the queue') }, runbook: 'docs/runbooks/at-risk.md', page: `https://dashboard.example/notifications/${eventId}`,
      raised_at: new Date(pair.now()).toISOString(), ended_at: null, ended_as: null,
    });
  });
});

describe('Alertmanager', () => {
  it('that refuses one of several is told of each by itself, so that one bad alert holds up no other', async () => {
    const [bad] = await Promise.all(Array.from({ length: 3 }, () => pair.accept()));
    await pair.pass(8 * MINUTE);
    await reviewAlerts(pair.engines[0], ['alertmanager']);
    listener.answers.status = ({ body }) => (body.includes(String(bad)) ? 400 : 200);
    expect(await postAlerts(pair.engines[0], createAlertmanager(`${listener.url}/`), LINKS)).toEqual({ told: 2, failed: 1 });
    expect(listener.heard.map(({ path }) => path)).toEqual(Array.from({ length: 4 }, () => '/api/v2/alerts'));
  });
});

describe('the heartbeat', () => {
  it('is called once a minute by one of all coordinators, for as long as sweeps finish', async () => {
    const duties = pair.engines.map((engine) => startAlertDuty({ engine, receivers: [], links: LINKS, heartbeatUrl: `${listener.url}/alive` }));
    const tick = () => Promise.all(duties.map((duty) => duty.tick()));
    await tick();
    expect(listener.heard).toEqual([]);
    await pair.engines[0].ledger.beat('sweep', pair.now());
    await tick();
    await tick();
    expect(listener.heard.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /alive']);
    pair.jump(MINUTE);
    await tick();
    expect(listener.heard).toHaveLength(1);
    await pair.engines[0].ledger.beat('sweep', pair.now());
    await tick();
    expect(listener.heard).toHaveLength(2);
    await Promise.all(duties.map((duty) => duty.close()));
  });
});
