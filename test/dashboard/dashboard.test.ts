import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
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
    const answers = await Promise.all([undefined, login('operator', 'wrong'), login('else', 'correct:horse'), login('', '')].flatMap((how) =>
      ['/', `/tickets/${eventId}`, `/notifications/${eventId}`].map((path) => ask(`${dashboard.url}${path}`, how))));
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic/);
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

  it('answers unknown ids with 404 and writes with 405', async () => {
    expect((await see('/tickets/evt_00000000000000000000000000')).status).toBe(404);
    expect((await see('/notifications/nonsense')).status).toBe(404);
    expect((await ask(`${dashboard.url}/`, { ...login('operator', 'correct:horse'), method: 'POST' })).status).toBe(405);
  });
});
