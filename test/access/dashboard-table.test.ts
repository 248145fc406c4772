import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createDashboard, startDashboard } from '../../services/dashboard/dashboard.ts';
import type { DashboardSettings, RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { openQueueBackend } from '../../shared/queue/queue-backend.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { ask, aTicket, createRig, postJson } from '../intake/rig.ts';
import type { Answer, Rig } from '../intake/rig.ts';
import { keepSessions, loginForm, makeOperator, signIn } from '../support/sign-in.ts';
import type { Signed } from '../support/sign-in.ts';

const ROLES = ['viewer', 'operator', 'admin'] as const;
interface Row {
  route: string;
  /** To each role that brings what its form brings. */
  viewer: number; operator: number; admin: number;
  body: string;
  /** To the very same once more, from the same session. */
  again: number;
  /** The board's page has no token to bring: its browser must say that the request is its own. */
  board?: true;
}

/** Bull Board's own list of what changes something. */
const { appRoutes } = createRequire(import.meta.url)('@bull-board/api/dist/routes') as { appRoutes: { api: { method: string; route: string }[] } };
// Without a reason that was stated first nobody may do any of it; those that may be done with one are in board-routes.test.ts and in the browser.
const ofBoard = appRoutes.api.filter(({ method }) => method !== 'get').map(({ method, route }): Row =>
  ({ route: `${method.toUpperCase()} /queues${route}`, viewer: 403, operator: 403, admin: 403, body: '{}', again: 403, board: true }));

/** In the order in which they are tried: what is closed can be paused no more, and who signed out is out. */
const OWN: readonly Row[] = [
  { route: 'POST /reason', viewer: 403, operator: 303, admin: 303, body: 'reason=checked', again: 303 },
  { route: 'POST /notifications/:event_id/pause', viewer: 403, operator: 303, admin: 303, body: 'reason=checked', again: 303 },
  { route: 'POST /notifications/:event_id/resume', viewer: 403, operator: 303, admin: 303, body: 'reason=checked', again: 303 },
  // Refused to everyone who may: it did not fail. One that is carried out is in test/dashboard/acts.test.ts.
  { route: 'POST /notifications/:event_id/retry', viewer: 403, operator: 409, admin: 409, body: 'reason=checked&attempt=:event_id.sms.1', again: 409 },
  { route: 'POST /notifications/:event_id/close', viewer: 403, operator: 303, admin: 303, body: 'reason=taken', again: 303 },
  { route: 'POST /logout', viewer: 303, operator: 303, admin: 303, body: 'everywhere=0', again: 401 },
];
/** Before a session: login.test.ts has its rows. */
const LOGIN = 'POST /login';

let rig: Rig;
let queue: QueueBackend;
let dashboard: RunningDashboard;
let eventId: string;
let settings: DashboardSettings;
beforeAll(async () => {
  rig = await createRig(async (url) => url, 10_000);
  await migrateQueueSchema(rig.database.url, 'tocsin_app');
  queue = openQueueBackend({ databaseUrl: rig.database.url, roleName: 'tocsin_app', onError: () => undefined });
  const ticket = await postJson(`${(await rig.start()).url}/tickets`, aTicket());
  if (ticket.status !== 202) throw new Error(`the ticket of the table was answered ${ticket.status}`);
  eventId = String(ticket.body['event_id']);
  settings = { engine: rig.engine, queue, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'never-used' } } };
  for (const role of ROLES) await makeOperator(rig.engine, role, role);
  dashboard = await startDashboard(settings);
});
afterAll(async () => {
  await dashboard.close();
  await queue.close();
  await rig.close();
});

const session = keepSessions(() => dashboard.url);
const send = ({ route, body, board }: Row, headers: Record<string, string>, token?: string): Promise<Answer> => {
  const [method, path] = route.split(' ') as [string, string];
  const filled = path.replace(':event_id', eventId).replace(':queueName', 'sms-dead-letter').replace(':jobId', 'dead-letter-1-s0').replace(':queueStatus', 'failed').replace(':schedulerId', 'tick');
  return ask(`${dashboard.url}${filled}`, { method, redirect: 'manual', headers: { 'Content-Type': board ? 'application/json' : 'application/x-www-form-urlencoded', ...headers }, body: `${body.replace(':event_id', eventId)}${token === undefined ? '' : `&token=${token}`}` });
};
/** As the page itself sends it: a form with its token, or the board's call, of which the browser says that it is its own. */
const sendOwn = (row: Row, { cookie, token }: Signed): Promise<Answer> =>
  (row.board ? send(row, { Cookie: cookie, Origin: dashboard.url }) : send(row, { Cookie: cookie, Origin: dashboard.url }, token));
const ledger = async (): Promise<number> => (await rig.engine.db.pool.query<{ count: number }>('SELECT (SELECT count(*) FROM ledger_entry)::int + (SELECT count(*) FROM dead_letter_request)::int AS count')).rows[0]?.count ?? 0;

describe('every route of the dashboard that changes something', () => {
  it('stands in this table', () => {
    const { stack } = createDashboard(settings).router as unknown as { stack: { route?: { path: string; methods: Record<string, boolean> } }[] };
    const routes = stack.flatMap(({ route }) => (route ? Object.keys(route.methods).filter((method) => method !== 'get').map((method) => `${method.toUpperCase()} ${route.path}`) : []));
    expect(routes.sort()).toEqual([LOGIN, ...OWN.map(({ route }) => route)].sort());
    expect(ofBoard.length).toBeGreaterThan(20);
  });

  describe.each([...ofBoard, ...OWN])('$route', (row) => {
    it('is refused to whoever has no session: nobody, a made-up one, a program with HTTP Basic', async () => {
      const before = await ledger();
      for (const headers of [{}, { Cookie: `tocsin_session=${'A'.repeat(43)}` }, { Cookie: 'tocsin_session=' }] as Record<string, string>[]) expect((await send(row, { ...headers, Origin: dashboard.url })).status).toBe(401);
      if (!row.board) {
        const basic = await send(row, { Authorization: `Basic ${Buffer.from('admin:correct:horse').toString('base64')}`, Origin: dashboard.url });
        expect([basic.status, basic.text]).toEqual([403, expect.stringContaining('Sign in to change anything')]);
      }
      expect(await ledger()).toBe(before);
    });

    it('is refused without the token of the session, with that of another one, and to a page of another site', async () => {
      const mine = await session('admin');
      const theirs = await session('operator');
      const before = await ledger();
      const { cookie } = mine;
      const wrong: [Record<string, string>, string | undefined][] = [
        [{ Cookie: cookie }, undefined], [{ Cookie: cookie }, ''], [{ Cookie: cookie }, theirs.token], [{ Cookie: cookie }, 'A'.repeat(43)], [{ Cookie: cookie, 'X-Tocsin-Token': theirs.token }, undefined],
        [{ Cookie: cookie, Origin: 'null' }, undefined], [{ Cookie: cookie, 'Sec-Fetch-Site': 'none' }, undefined],
        // With the right token too: a page of another site has no business here.
        [{ Cookie: cookie, Origin: 'https://elsewhere.example', 'X-Tocsin-Token': mine.token }, mine.token], [{ Cookie: cookie, Origin: dashboard.url, 'Sec-Fetch-Site': 'same-site', 'X-Tocsin-Token': mine.token }, mine.token],
        [{ Cookie: cookie, 'Sec-Fetch-Site': 'cross-site', 'X-Tocsin-Token': mine.token }, mine.token],
        // A form is not satisfied by where it says that it comes from.
        ...(row.board ? [] : [[{ Cookie: cookie, Origin: dashboard.url, 'Sec-Fetch-Site': 'same-origin' }, undefined]] as [Record<string, string>, undefined][]),
      ];
      for (const [headers, token] of wrong) expect([headers, token, (await send(row, headers, token)).status]).toEqual([headers, token, 403]);
      expect(await ledger()).toBe(before);
      expect((await session('admin')).cookie).toBe(cookie);
    });

    it.each(ROLES)('answers a %s by its role', async (role) => {
      const before = await ledger();
      expect((await sendOwn(row, await session(role))).status).toBe(row[role]);
      if (row[role] === 403) expect(await ledger()).toBe(before);
    });

    it('changes nothing when the very same request comes again', async () => {
      const who = await session('operator');
      await sendOwn(row, who);
      const before = await ledger();
      expect((await sendOwn(row, who)).status).toBe(row.again);
      expect(await ledger()).toBe(before);
    });

    it('is refused to a session that has ended, whatever it brings', async () => {
      const ended = await signIn(dashboard.url, 'operator');
      await ask(`${dashboard.url}/logout`, { method: 'POST', headers: ended.headers });
      const before = await ledger();
      expect((await sendOwn(row, ended)).status).toBe(401);
      // Nor does its token serve another session.
      if (!row.board) expect((await send(row, { Cookie: (await session('operator')).cookie }, ended.token)).status).toBe(403);
      expect(await ledger()).toBe(before);
    });
  });

  it('takes no login from a page of another site, nor without the form it was shown', async () => {
    const { cookie, token } = await loginForm(dashboard.url);
    const post = (headers: Record<string, string>, field: string) => ask(`${dashboard.url}/login`, { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers }, body: `name=admin&password=correct:horse&token=${field}` });
    for (const [headers, field] of [[{ Cookie: cookie, Origin: 'https://elsewhere.example' }, token], [{ Cookie: cookie }, ''], [{}, token]] as [Record<string, string>, string][]) expect((await post(headers, field)).status).toBe(403);
    expect((await post({ Cookie: cookie }, token)).status).toBe(303);
  });
});
