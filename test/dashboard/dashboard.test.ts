import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { listNotificationPage } from '../../shared/ledger/list-notifications.ts';
import { ask, aTicket, createRig, postJson } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';

let rig: Rig;
let dashboard: RunningDashboard;
let eventId: string;

beforeAll(async () => {
  rig = await createRig();
  const intake = await rig.start();
  eventId = String((await postJson(`${intake.url}/tickets`, aTicket({ player_ref: '<b>p</b>', message: '<script>alert(1)</script>' }))).body.event_id);
  dashboard = await startDashboard({ engine: rig.engine, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'operator', password: 'correct:horse' } } });
});
afterAll(async () => {
  await dashboard.close();
  await rig.close();
});

const login = (user: string, password: string) => ({ headers: { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` } });
const see = (path: string) => ask(`${dashboard.url}${path}`, login('operator', 'correct:horse'));

describe('the dashboard', () => {
  it('shows nothing without the operator\'s login', async () => {
    const wrong = [login('operator', 'wrong'), login('else', 'correct:horse'), login('', '')].map((how) => ask(`${dashboard.url}/notifications/${eventId}`, how));
    const answers = await Promise.all([...['/', `/tickets/${eventId}`, `/notifications/${eventId}`].map((path) => ask(`${dashboard.url}${path}`)), ...wrong]);
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      // By no scheme that a browser has a dialog for, and would go on sending by itself.
      expect(answer.headers.get('www-authenticate')).toMatch(/^Session/);
      expect(answer.text).not.toContain(eventId);
    }
  });

  it('lists the newest tickets and notifications with their status', async () => {
    const { status, text, headers } = await see('/');
    expect(status).toBe(200);
    expect(text).toContain(`href="/tickets/${eventId}"`);
    expect(text).toContain(`href="/notifications/${eventId}"`);
    expect(text).toContain('<span class="badge accepted">accepted</span>');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';/);
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('shows a ticket with the player\'s words as text', async () => {
    const { text } = await see(`/tickets/${eventId}`);
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(text).toContain('&lt;b&gt;p&lt;/b&gt;');
    expect(text).not.toMatch(/<script|<b>p/);
  });

  it('shows a notification\'s attempts and every entry of its ledger', async () => {
    const { text } = await see(`/notifications/${eventId}`);
    for (const kind of ['NotificationAccepted', 'AttemptPlanned', 'AttemptQueued']) expect(text).toContain(`<strong>${kind}</strong>`);
    expect(text).toContain('planned → queued');
    expect(text).not.toMatch(/2025550|@example\.com/);
  });

  it('draws a notification\'s timeline, says why, and links to its ticket', async () => {
    const { text, headers } = await see(`/notifications/${eventId}`);
    expect(text).toContain('<svg class="tl wide"');
    expect(text).toContain('<svg class="tl narrow"');
    expect(text).toMatch(/<ol class="told"><li>The notification was accepted at <time/);
    expect(text).toContain(`href="/tickets/${eventId}"`);
    expect(text).toContain('<noscript><meta http-equiv="refresh"');
    expect(headers.get('content-security-policy')).toContain("script-src 'self'");
    const still = (await see(`/notifications/${eventId}?still=1`)).text;
    expect(still).not.toContain('http-equiv="refresh"');
    expect(still).toContain('data-open="0"');
  });

  it('gives what changed since a version, and nothing where nothing did', async () => {
    const first = await see(`/notifications/${eventId}/live`);
    const tag = String(first.headers.get('etag'));
    expect(first.text).toMatch(/^<div id="live" data-open="1"/);
    expect(first.text).not.toContain('<html');
    const again = async (known: string) => ask(`${dashboard.url}/notifications/${eventId}/live`, { headers: { ...login('operator', 'correct:horse').headers, 'If-None-Match': known } });
    const answers = [await again(tag), await again('"0"')];
    // The tag carries the time in steps of seconds, so that *now* moves: a step may lie between two requests.
    if (answers[0]?.headers.get('etag') === tag) expect(answers[0]?.status).toBe(304);
    expect(answers[1]?.status).toBe(200);
  });

  it('gives the record as the API does, and the picture as a file', async () => {
    const { body } = await see(`/notifications/${eventId}/view`);
    expect(body).toMatchObject({ event_id: eventId, status: 'accepted', purpose: 'game-support-urgent' });
    expect((body['entries'] as unknown[]).length).toBeGreaterThan(2);
    const file = await see(`/notifications/${eventId}/timeline.svg`);
    expect(file.headers.get('content-type')).toMatch(/^image\/svg\+xml/);
    expect(file.headers.get('content-security-policy')).toBe("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
    for (const path of ['live', 'view', 'timeline.svg']) expect((await see(`/notifications/evt_00000000000000000000000000/${path}`)).status).toBe(404);
  });

  it('filters by status and purpose, and finds a notification by its id or an attempt key of it', async () => {
    expect((await see('/?status=accepted&purpose=game-support-urgent')).text).toContain(eventId);
    const none = (await see('/?status=expired')).text;
    expect(none).not.toContain(eventId);
    expect(none).toContain('None fits');
    expect((await see('/?purpose=game-support-routine')).text).not.toContain(eventId);
    for (const id of [eventId, `${eventId}.sms.1`]) {
      const found = await see(`/?event=${id}`);
      expect([found.status, found.headers.get('location')]).toEqual([303, `/notifications/${eventId}`]);
    }
    expect((await see('/?event=evt_00000000000000000000000000')).text).toContain('There is no notification with this id here');
    expect((await see('/?event=%3Cb%3E')).text).toContain('value="&lt;b&gt;"');
  });

  it('goes back page by page, each one notification once', async () => {
    const intake = await rig.start();
    const ids = [eventId];
    for (let count = 0; count < 51; count += 1) ids.unshift(String((await postJson(`${intake.url}/tickets`, aTicket())).body.event_id));
    const idsOf = (text: string): string[] => [...text.matchAll(/href="\/notifications\/(evt_\w+)"/g)].map((match) => match[1] as string);
    const first = (await see('/')).text;
    const next = /<a href="(\/\?before=evt_\w+)" rel="next">Older<\/a>/.exec(first)?.[1] ?? '';
    const second = (await see(next)).text;
    expect([...idsOf(first), ...idsOf(second)]).toEqual([...ids].sort().reverse());
    expect(second).not.toContain('rel="next"');
  });

  it('looks at a bounded number for a page, however few fit, and goes on from there', async () => {
    const sizes = { page: 2, lookedAt: 20 };
    const seen: number[] = [];
    let before: string | undefined;
    for (;;) {
      const { rows, older } = await listNotificationPage(rig.engine.db, { status: 'expired', ...(before === undefined ? {} : { before }) }, sizes);
      expect(rows).toEqual([]);
      if (older === null) break;
      seen.push(1);
      before = older;
    }
    expect(seen.length).toBe(2);
    const { rows, older } = await listNotificationPage(rig.engine.db, { status: 'accepted' }, sizes);
    expect([rows.length, older]).toEqual([2, rows[1]?.eventId]);
  });

  it('answers unknown ids with 404, and writes of a program that has no session with 403', async () => {
    expect((await see('/tickets/evt_00000000000000000000000000')).status).toBe(404);
    expect((await see('/notifications/nonsense')).status).toBe(404);
    expect((await ask(`${dashboard.url}/`, { ...login('operator', 'correct:horse'), method: 'POST' })).status).toBe(403);
  });
});
