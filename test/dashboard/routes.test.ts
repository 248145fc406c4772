import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { createDashboard, startDashboard } from '../../services/dashboard/dashboard.ts';
import type { DashboardSettings, RunningDashboard } from '../../services/dashboard/dashboard.ts';
import type { Role } from '../../services/dashboard/board-rules.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { openQueueBackend } from '../../shared/queue/queue-backend.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { keepSessions, makeOperator } from '../support/sign-in.ts';
import { ask, aTicket, createRig, postJson } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';

const ROLES: readonly Role[] = ['viewer', 'operator', 'admin'];

interface Answers {
  route: string;
  /** To whoever has not signed in. */
  anonymous: number;
  viewer: number;
  operator: number;
  admin: number;
  /** To a page of another site, in the browser of an operator. */
  elsewhere: number;
  body?: string;
}

/** Bull Board's own routes stand in a table of their own: board-routes.test.ts. */
const TABLE: readonly Answers[] = [
  { route: 'GET /healthz', anonymous: 200, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /readyz', anonymous: 200, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /metrics', anonymous: 200, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /dashboard.css', anonymous: 200, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /dashboard.js', anonymous: 200, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /login', anonymous: 200, viewer: 303, operator: 303, admin: 303, elsewhere: 303 },
  { route: 'POST /login', anonymous: 403, viewer: 403, operator: 403, admin: 403, elsewhere: 403, body: 'name=operator&password=correct:horse' },
  { route: 'GET /account', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'POST /logout', anonymous: 401, viewer: 303, operator: 303, admin: 303, elsewhere: 403, body: '' },
  { route: 'GET /audit', anonymous: 401, viewer: 403, operator: 403, admin: 200, elsewhere: 403 },
  { route: 'GET /', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /at-risk', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /at-risk/view', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /tickets/:event_id', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /notifications/:event_id', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /notifications/:event_id/live', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /notifications/:event_id/view', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /notifications/:event_id/timeline.svg', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /templates', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /templates/:name/:version', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /templates/:name/:version/html', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'GET /reason', anonymous: 401, viewer: 200, operator: 200, admin: 200, elsewhere: 200 },
  { route: 'POST /reason', anonymous: 401, viewer: 403, operator: 303, admin: 303, elsewhere: 403, body: 'reason=checked' },
  { route: 'GET /notifications/:event_id/act', anonymous: 401, viewer: 303, operator: 303, admin: 303, elsewhere: 303 },
  { route: 'POST /notifications/:event_id/pause', anonymous: 401, viewer: 403, operator: 303, admin: 303, elsewhere: 403, body: 'reason=checked' },
  { route: 'POST /notifications/:event_id/resume', anonymous: 401, viewer: 403, operator: 303, admin: 303, elsewhere: 403, body: 'reason=checked' },
  // Nothing of it failed: there is nothing to retry. What can be retried is in acts.test.ts.
  { route: 'POST /notifications/:event_id/retry', anonymous: 401, viewer: 403, operator: 409, admin: 409, elsewhere: 403, body: 'reason=checked&attempt=:event_id.sms.1' },
  { route: 'POST /notifications/:event_id/close', anonymous: 401, viewer: 403, operator: 303, admin: 303, elsewhere: 403, body: 'reason=taken' },
];

let rig: Rig;
let queue: QueueBackend;
let eventId: string;
let dashboard: RunningDashboard;

const settings = (): DashboardSettings => ({ engine: rig.engine, queue, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'not-used-here' } } });

beforeAll(async () => {
  rig = await createRig();
  await migrateQueueSchema(rig.database.url, 'tocsin_app');
  queue = openQueueBackend({ databaseUrl: rig.database.url, roleName: 'tocsin_app', onError: () => undefined });
  eventId = String((await postJson(`${(await rig.start()).url}/tickets`, aTicket({ message: 'a word of the player' }))).body.event_id);
  for (const role of ROLES) await makeOperator(rig.engine, role, role);
  dashboard = await startDashboard(settings());
});
afterAll(async () => {
  await dashboard.close();
  await queue.close();
  await rig.close();
});

const session = keepSessions(() => dashboard.url);

const call = async (role: Role, how: { method: string; path: string; headers?: Record<string, string>; body?: string | undefined; login?: boolean }) => {
  const { method, path, headers = {}, body, login = true } = how;
  return ask(`${dashboard.url}${path.replace(':event_id', eventId).replace(':name', 'game-support-urgent-email').replace(':version', '1')}`, {
    method, redirect: 'manual',
    headers: { ...(login ? (await session(role)).headers : {}), ...(body === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' }), ...headers },
    ...(body === undefined ? {} : { body: body.replace(':event_id', eventId) }),
  });
};

interface Layer { route?: { path: string; methods: Record<string, boolean> } }

describe('every route of the dashboard', () => {
  it('stands in this table', () => {
    const { stack } = createDashboard(settings()).router as unknown as { stack: Layer[] };
    const routes = stack.flatMap(({ route }) => (route ? Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${route.path}`) : []));
    expect(routes.sort()).toEqual(TABLE.map(({ route }) => route).sort());
  });

  describe.each(TABLE)('$route', ({ route, anonymous, elsewhere, body, ...byRole }) => {
    const [method, path] = route.split(' ') as [string, string];
    it(`answers ${anonymous} to whoever has not signed in, and shows nothing`, async () => {
      const { status, text, headers } = await call('operator', { method, path, body, login: false });
      expect(status).toBe(anonymous);
      expect(text).not.toContain('a word of the player');
      if (anonymous === 401) expect([text.includes(eventId), headers.get('set-cookie')]).toEqual([false, null]);
    });
    test.each(ROLES)(`answers a %s by its role`, async (role) => {
      expect((await call(role, { method, path, body })).status).toBe(byRole[role]);
    });
    it(`answers ${elsewhere} where a page of another site asks`, async () => {
      expect((await call('operator', { method, path, body, headers: { Origin: 'https://elsewhere.example', 'Sec-Fetch-Site': 'cross-site' } })).status).toBe(elsewhere);
    });
    it('is framed by no other site and names its referrer to nobody', async () => {
      const { headers } = await call('operator', { method, path, body });
      expect(headers.get('content-security-policy')).toMatch(path.endsWith('/html') ? /frame-ancestors 'self'/ : /frame-ancestors 'none'/);
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    });
    test.each(['POST', 'PUT', 'PATCH', 'DELETE'].filter((other) => other !== method && !TABLE.some((row) => row.route === `${other} ${path}`)))('does not know %s', async (other) => {
      expect([401, 405]).toContain((await call('operator', { method: other, path, login: anonymous === 401 })).status);
      expect((await call('admin', { method: other, path })).status).toBe(405);
    });
  });
});

describe('an address of the dashboard', () => {
  const posted = (path: string, method = 'POST') => call('operator', { method, path, body: 'reason=checked' });
  it('that there is not is missing, whatever is asked of it', async () => {
    for (const path of ['/notifications/:event_id/frob', '/notifications/:event_id/pause/more', '/frob', '/tickets']) {
      for (const method of ['POST', 'PUT', 'DELETE']) expect([path, method, (await posted(path, method)).status]).toEqual([path, method, 404]);
    }
  });
  it('that answers something else says what', async () => {
    const read = await posted('/notifications/:event_id/view');
    expect([read.status, read.headers.get('allow'), read.text]).toEqual([405, 'GET, HEAD', expect.stringContaining('This page can only be read.')]);
    const both = await posted('/reason', 'PUT');
    expect([both.status, both.headers.get('allow'), both.text]).toEqual([405, 'GET, HEAD, POST', expect.stringContaining('It answers GET, HEAD, POST.')]);
    expect((await posted('/notifications/:event_id/pause', 'DELETE')).headers.get('allow')).toBe('POST');
  });
});
