import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { boardError } from '../../services/dashboard/board-error.ts';
import { boardRule } from '../../services/dashboard/board.ts';
import type { Role } from '../../services/dashboard/board-rules.ts';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { reasonCookie, REASON_LASTS_MS } from '../../services/dashboard/operator-session.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { openQueueBackend } from '../../shared/queue/queue-backend.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { signIn } from '../support/sign-in.ts';
import type { Signed } from '../support/sign-in.ts';
import { ask, createRig } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';

/** Bull Board's own list of what it answers: a later version that adds a route adds it here. */
const { appRoutes } = createRequire(import.meta.url)('@bull-board/api/dist/routes') as { appRoutes: { entryPoint: { route: string[] }; api: { method: string; route: string }[] } };
const MAY_CHANGE = ['put /api/queues/:queueName/:jobId/retry', 'put /api/queues/:queueName/:jobId/clean', 'put /api/queues/:queueName/retry/:queueStatus'];
const mutations = appRoutes.api.filter(({ method }) => method !== 'get').map(({ method, route }) => `${method} ${route}`);
const OPERATOR = { user: 'operator', password: 'correct:horse' };

let rig: Rig;
let queue: QueueBackend;
let dashboard: RunningDashboard;
let cookie: string;
let signed: Signed;

beforeAll(async () => {
  rig = await createRig();
  await migrateQueueSchema(rig.database.url, 'tocsin_app');
  queue = openQueueBackend({ databaseUrl: rig.database.url, roleName: 'tocsin_app', onError: () => undefined });
  await queue.addJobs('sms', [{ id: 'evt_1.sms.1-g1', name: 'submit', payload: { eventId: 'evt_1' }, delayMs: 3_600_000 }]);
  dashboard = await startDashboard({ engine: rig.engine, queue, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: OPERATOR } });
  signed = await signIn(dashboard.url, OPERATOR.user, OPERATOR.password);
  cookie = reasonCookie(rig.engine.ring, { reason: 'checked', user: 'operator', at: Date.now() }).split(';')[0] as string;
});
afterAll(async () => {
  await dashboard.close();
  await queue.close();
  await rig.close();
});

/** A call from the board's own page: it knows of no token, and its browser says where it comes from. */
const own = (reason = ''): Record<string, string> => ({ Cookie: `${signed.cookie}; ${reason}`, Origin: dashboard.url });
const call = (method: string, path: string, headers: Record<string, string> = {}) =>
  ask(`${dashboard.url}${path}`, { method: method.toUpperCase(), headers: { ...(method === 'get' ? {} : { 'Content-Type': 'application/json' }), ...headers }, ...(method === 'get' ? {} : { body: '{}' }) });
const filled = (route: string, queueName: string) => route.replace(':queueName', queueName).replace(':jobId', 'dead-letter-1-s0').replace(':queueStatus', 'failed').replace(':schedulerId', 'tick');
const ruled = (role: Role, one: string, { queueName, status = 'failed', stated = true }: { queueName: string; status?: string; stated?: boolean }) => {
  const [method, route] = one.split(' ') as [string, string];
  const rule = boardRule({ engine: rig.engine, queue, who: () => ({ user: 'operator', role }) });
  return rule({ method, route, request: { params: { queueName, jobId: 'dead-letter-1-s0', queueStatus: status }, headers: stated ? { cookie } : {} } });
};

describe('the board', () => {
  it('knows more than twenty mutations, of which three may be made', () => {
    expect(mutations.length).toBeGreaterThan(20);
    expect(mutations.filter((one) => MAY_CHANGE.includes(one)).sort()).toEqual([...MAY_CHANGE].sort());
  });

  describe.each(mutations)('%s', (one) => {
    const [method, route] = one.split(' ') as [string, string];
    test.each(['viewer', 'operator', 'admin'] as const)('is refused on work queues, for a %s', async (role) => {
      for (const queueName of ['sms', 'email', 'status-poll', 'maintenance']) expect(await ruled(role, one, { queueName })).toMatchObject({ allow: false, status: 403 });
    });
    test.each(['viewer', 'operator', 'admin'] as const)(`is ${MAY_CHANGE.includes(one) ? 'permitted to those who may act' : 'refused'} on dead letters, for a %s`, async (role) => {
      const answer = await ruled(role, one, { queueName: 'sms-dead-letter' });
      if (MAY_CHANGE.includes(one) && role !== 'viewer') expect(answer).toBeUndefined();
      else expect(answer).toMatchObject({ allow: false, status: 403 });
    });
    it('answers 401 to whoever has not signed in, 403 on a work queue, and 403 to a page of another site', async () => {
      const path = `/queues${filled(route, 'sms')}`;
      expect((await call(method, path)).status).toBe(401);
      const refused = await call(method, path, own(cookie));
      expect([refused.status, String((refused.body as { message?: unknown }).message)]).toEqual([403, expect.stringMatching(/only dead letters/i)]);
      const { Cookie } = own(cookie) as { Cookie: string };
      for (const unsaid of [{ Cookie }, { Cookie, Origin: 'null' }, { Cookie, 'Sec-Fetch-Site': 'none' }] as Record<string, string>[]) {
        expect((await call(method, path, unsaid)).text).toContain('This form has lapsed');
      }
      expect((await call(method, `/queues${filled(route, 'sms-dead-letter')}`, { ...own(cookie), Origin: 'https://elsewhere.example' })).status).toBe(403);
    });
  });

  it.each(MAY_CHANGE)('%s needs a reason that is stated, one\'s own, and no older than an hour', async (one) => {
    expect(await ruled('operator', one, { queueName: 'email-dead-letter', stated: false })).toMatchObject({ status: 403, message: expect.stringContaining('/reason') as unknown });
    const [method, route] = one.split(' ') as [string, string];
    const of = (stated: { user: string; at: number }) => boardRule({ engine: rig.engine, queue, who: () => ({ user: 'operator', role: 'operator' }) })({
      method, route, request: { params: { queueName: 'email-dead-letter', jobId: 'x', queueStatus: 'failed' }, headers: { cookie: reasonCookie(rig.engine.ring, { reason: 'checked', ...stated }).split(';')[0] as string } },
    });
    expect(await of({ user: 'someone-else', at: Date.now() })).toMatchObject({ status: 403 });
    expect(await of({ user: 'operator', at: Date.now() - REASON_LASTS_MS })).toMatchObject({ status: 403 });
    expect(await of({ user: 'operator', at: Date.now() })).toBeUndefined();
  });

  it('retries the failed alone: what is completed or waits is not an operator\'s to move', async () => {
    for (const status of ['completed', 'waiting', 'delayed']) expect(await ruled('operator', 'put /api/queues/:queueName/retry/:queueStatus', { queueName: 'sms-dead-letter', status })).toMatchObject({ status: 403 });
  });

  const pages = [...appRoutes.entryPoint.route.map((route) => ({ route })), ...appRoutes.api.filter(({ method }) => method === 'get')];
  test.each(pages)('GET $route is read by who is signed in, and by nobody else', async ({ route }) => {
    const path = `/queues${filled(route, 'sms')}`.replace('dead-letter-1-s0', encodeURIComponent('evt_1.sms.1-g1'));
    expect((await call('get', path)).status).toBe(401);
    expect([200, 404]).toContain((await call('get', path, own())).status);
  });

  it('answers a body that it cannot read with 400, and repeats nothing of it', async () => {
    const send = (body: string, headers: Record<string, string> = {}) => ask(`${dashboard.url}/queues/api/queues/sms-dead-letter/x/retry`, { method: 'PUT', headers: { 'Content-Type': 'application/json', ...own(cookie), ...headers }, body });
    for (const [body, headers, message] of [['{"reason": xyzzy', {}, /not valid JSON/], [JSON.stringify({ reason: 'xyzzy '.repeat(40_000) }), {}, /too long/], ['{"reason": "xyzzy"}', { 'Content-Encoding': 'frob' }, /has to be UTF-8/]] as const) {
      const answer = await send(body, headers);
      expect([answer.status, answer.body]).toEqual([400, { error: { key: 'ERRORS.INVALID_REQUEST_BODY' }, message: expect.stringMatching(message) }]);
      expect(answer.text).not.toContain('xyzzy');
    }
  });

  it('tells nothing of a defect but the id under which its kind stands in the log', () => {
    const lines: Record<string, unknown>[] = [];
    const { status, body } = boardError({ error: (line: Record<string, unknown>) => lines.push(line) } as never)(new TypeError('xyzzy'));
    const id = /request ([0-9a-f-]{36})\.$/.exec(body.message)?.[1];
    expect([status, body.error.key, lines]).toEqual([500, 'ERRORS.INTERNAL_SERVER_ERROR', [{ event: 'request.failed', request_id: id, error: 'TypeError', frames: expect.any(Array) }]]);
    expect(JSON.stringify([body, lines])).not.toContain('xyzzy');
  });

  it('asks nobody else for anything, and frames nowhere', async () => {
    const { text, headers } = await call('get', '/queues', own());
    expect(text).not.toMatch(/(href|src)="https?:/);
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
  });
});

describe('stating a reason', () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    ask(`${dashboard.url}/reason`, { method: 'POST', redirect: 'manual', headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...signed.headers, ...headers }, body });
  it('keeps it sealed in a cookie of this site alone', async () => {
    const { status, headers } = await post('reason=the+provider+was+away');
    expect([status, headers.get('location')]).toEqual([303, '/queues']);
    expect(headers.get('set-cookie')).toMatch(/^tocsin_reason=.*HttpOnly; SameSite=Strict; Max-Age=3600$/);
    expect(headers.get('set-cookie')).not.toContain('provider');
    const shown = await call('get', '/reason', own(String(headers.get('set-cookie')).split(';')[0]));
    expect(shown.text).toContain('the provider was away');
  });
  it.each(['', 'reason=', 'reason=++', `reason=${'x'.repeat(501)}`, 'reason=a&reason=b'])('says what is wrong with %j', async (body) => {
    const { status, text, headers } = await post(body);
    expect([status, headers.get('set-cookie')]).toEqual([422, null]);
    expect(text).toContain('role="alert"');
  });
  it('takes the form of its own page, which sends no referrer and so no origin', async () => {
    expect((await post('reason=x', { Origin: 'null', 'Sec-Fetch-Site': 'same-origin' })).status).toBe(303);
    for (const site of ['cross-site', 'same-site']) expect((await post('reason=x', { 'Sec-Fetch-Site': site })).status).toBe(403);
    // Over plain http a browser says nothing of the site: the token in the form is what tells.
    expect((await post('reason=x', { Origin: 'null' })).status).toBe(303);
    expect((await post('reason=x', { Origin: 'null', 'X-Tocsin-Token': '' })).status).toBe(403);
  });
  it('is refused to a page of another site, and to whoever has not signed in', async () => {
    expect((await post('reason=x', { Origin: 'https://elsewhere.example' })).status).toBe(403);
    expect((await post('reason=x', { Cookie: '' })).status).toBe(401);
  });
});
