import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiOperations } from '../../services/intake/api-operations.ts';
import { createApp } from '../../services/intake/intake.ts';
import { siteAt } from '../../services/intake/page.ts';
import { insertApiKey, revokeApiKey } from '../../shared/ledger/api-keys.ts';
import { generateApiKey } from '../../shared/security/api-key.ts';
import type { Scope } from '../../shared/security/api-scopes.ts';
import { SCOPES } from '../../shared/security/api-scopes.ts';
import { ask, aTicket, createRig, roster } from '../intake/rig.ts';
import type { Answer, Rig } from '../intake/rig.ts';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { makeOperator, signIn } from '../support/sign-in.ts';

const CONFIG = { host: '127.0.0.1', port: 0, publicUrl: null, demo: true, trustProxy: 0, ticketsPerMinute: { address: 600, player: 30 } };
const NOTICE = {
  purpose: 'game-support-urgent',
  recipient: { ref: 'oncall-03', sms: '+12025550103', email: 'oncall-03@example.com', region: 'US', locale: 'en', consent: ['sms:on_call_duty', 'email:on_call_duty'] },
  variables: { category: 'payment_lockout', queue: 'payments-urgent', region: 'US', locale: 'en-US', player_ref: 'p-1', message: 'locked out', received_at: '2026-01-01T00:00:00Z', ticket_url: 'https://dashboard.example/' },
};
const TOKEN = 'k3Zt0m9yQ1c8w7v6u5t4s3r2q1p0o9n8m7l6k5j4h3g';

interface Row {
  route: string;
  /** What a key must be good for; null where nobody has to show one. */
  scope: Scope | null;
  body: () => unknown;
  headers?: Record<string, string>;
  /** To the right key, once and again with the very same request. */
  first: number;
  again: number;
  /** To a key of another tenant that sends the very same. */
  otherTenant: number;
}

const REASON = { reason: 'maintenance' };
/** In the order in which they are tried: what is closed can be paused no more. */
const TABLE: readonly Row[] = [
  { route: 'POST /tickets', scope: null, body: () => aTicket({ player_ref: 'p-table' }), headers: { 'Idempotency-Key': 'table-ticket' }, first: 202, again: 200, otherTenant: 200 },
  { route: 'POST /notifications', scope: 'notifications:write', body: () => NOTICE, headers: { 'Idempotency-Key': 'table-notice' }, first: 202, again: 200, otherTenant: 202 },
  { route: 'POST /artifacts', scope: 'artifacts:write', body: () => '%PDF-1.7 of the table', headers: { 'Content-Type': 'application/pdf' }, first: 201, again: 200, otherTenant: 201 },
  { route: 'POST /notifications/:event_id/pause', scope: 'notifications:act', body: () => REASON, first: 200, again: 200, otherTenant: 404 },
  { route: 'POST /notifications/:event_id/resume', scope: 'notifications:act', body: () => REASON, first: 200, again: 200, otherTenant: 404 },
  { route: 'POST /notifications/:event_id/close', scope: 'notifications:act', body: () => ({ reason: 'taken' }), first: 200, again: 200, otherTenant: 404 },
  { route: 'POST /notifications/close', scope: 'notifications:act', body: () => ({ reason: 'taken', idempotency_key: 'of-the-table' }), first: 200, again: 200, otherTenant: 404 },
  { route: 'POST /reports/:token/code', scope: null, body: () => '', first: 202, again: 202, otherTenant: 202 },
  { route: 'POST /reports/:token/open', scope: null, body: () => ({ code: '012345' }), first: 403, again: 403, otherTenant: 403 },
  { route: 'POST /unsubscribe/:token', scope: null, body: () => 'List-Unsubscribe=One-Click', headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, first: 404, again: 404, otherTenant: 404 },
];

let rig: Rig;
let dashboard: RunningDashboard;
let url: string;
let eventId: string;
const keys = { right: '', other: '', revoked: '' };
/** A key that is good for everything but that. */
const lacking = new Map<Scope, string>();
const cookies: string[] = [];

const makeKey = async (tenant: string, scopes?: readonly Scope[]): Promise<{ id: string; text: string }> => {
  const key = generateApiKey();
  await insertApiKey(rig.engine.db, { id: key.id, hash: Buffer.from(key.hash, 'hex'), tenant, label: 'table', now: Date.now(), ...(scopes ? { scopes } : {}) });
  return key;
};

const call = ({ route, body, headers = {} }: Row, how: { key?: string | undefined; headers?: Record<string, string>; event?: string } = {}): Promise<Answer> => {
  const [method, path] = route.split(' ') as [string, string];
  const content = body();
  return ask(`${url}${path.replace(':event_id', how.event ?? eventId).replace(':token', TOKEN)}`, {
    method, headers: { 'Content-Type': 'application/json', ...headers, ...(how.key === undefined ? {} : { Authorization: `Bearer ${how.key}` }), ...how.headers },
    body: typeof content === 'string' ? content : JSON.stringify(content),
  });
};

beforeAll(async () => {
  rig = await createRig(async (url) => url, 10_000);
  ({ url } = await rig.start());
  keys.right = (await makeKey('acme')).text;
  keys.other = (await makeKey('else')).text;
  const revoked = await makeKey('acme');
  await revokeApiKey(rig.engine.db, revoked.id, Date.now());
  keys.revoked = revoked.text;
  for (const scope of SCOPES) lacking.set(scope, (await makeKey('acme', SCOPES.filter((one) => one !== scope))).text);
  const answer = await ask(`${url}/notifications`, { method: 'POST', headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'of-the-table', Authorization: `Bearer ${keys.right}` }, body: JSON.stringify(NOTICE) });
  eventId = String(answer.body['event_id']);
  dashboard = await startDashboard({ engine: rig.engine, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'never-used' } } });
  for (const role of ['viewer', 'operator', 'admin'] as const) {
    await makeOperator(rig.engine, role, role);
    cookies.push((await signIn(dashboard.url, role)).cookie);
  }
});
afterAll(async () => {
  await dashboard.close();
  await rig.close();
});

/** Without what differs from call to call. */
const said = ({ status, body }: Answer) => ({ status, body: { ...body, request_id: undefined } });

describe('every route of the intake that changes something', () => {
  it('stands in this table, and needs the scope that its document names', () => {
    const app = createApp({ engine: rig.engine, roster, dashboardUrl: 'https://dashboard.example', log: rig.log, config: CONFIG }, siteAt('https://tocsin.example.com'));
    const { stack } = app.router as unknown as { stack: { route?: { path: string; methods: Record<string, boolean> } }[] };
    const routes = stack.flatMap(({ route }) => (route ? Object.keys(route.methods).filter((method) => method !== 'get' && method !== '_all').map((method) => `${method.toUpperCase()} ${route.path}`) : []));
    expect(routes.sort()).toEqual(TABLE.map(({ route }) => route).sort());
    const documented = apiOperations(roster, true).filter(({ method }) => method !== 'get').map(({ method, path, scope = null, needsKey = false }) => [`${method.toUpperCase()} ${path}`, scope, needsKey]);
    expect(documented.sort()).toEqual(TABLE.map(({ route, scope }) => [route, scope, scope !== null]).sort());
  });

  describe.each(TABLE)('$route', (row) => {
    const { scope, first, again, otherTenant, route } = row;
    const needsKey = scope !== null;

    it(needsKey ? 'is refused without a key, with one that was revoked, with half of one, and to whoever is signed in at the dashboard' : 'needs nobody\'s key, and takes nothing from a session of the dashboard', async () => {
      const bare = await call(row);
      if (!needsKey) return void expect(bare.status).toBe(first);
      expect(bare.status).toBe(401);
      for (const key of [keys.revoked, keys.right.slice(0, -1), 'tk_0', '']) expect(said(await call(row, { key }))).toEqual(said(bare));
      for (const cookie of cookies) expect(said(await call(row, { headers: { Cookie: cookie } }))).toEqual(said(bare));
    });

    if (needsKey) {
      it('is refused to a key without its scope, with what to do, alike whether or not there is such a thing', async () => {
        const refused = await call(row, { key: lacking.get(scope) });
        expect([refused.status, refused.body['code'], refused.body['required_scope']]).toEqual([403, 'insufficient_scope', scope]);
        expect([refused.headers.get('www-authenticate'), refused.body['detail']]).toEqual([expect.stringContaining(`scope="${scope}"`), expect.stringContaining('tocsin key create')]);
        expect(said(await call(row, { key: lacking.get(scope), event: 'evt_00000000000000000000000000' }))).toEqual(said(refused));
      });
    }

    it('answers another tenant as if there were nothing, or with what is his own', async () => {
      if (otherTenant !== 404) return;
      const foreign = await call(row, { key: keys.other });
      expect([foreign.status, foreign.text.includes(eventId)]).toEqual([404, false]);
      if (route.includes(':event_id')) expect(said(await call(row, { key: keys.other, event: 'evt_00000000000000000000000000' }))).toEqual(said(foreign));
    });

    it('is done once, and the same again changes nothing', async () => {
      const key = needsKey ? keys.right : undefined;
      const one = await call(row, { key });
      // An anonymous one was sent above.
      expect([one.status, one.headers.get('access-control-allow-origin')]).toEqual([needsKey ? first : again, null]);
      const other = await call(row, { key });
      expect(other.status).toBe(again);
      if (again === 200) expect([other.body['replayed'], other.body['event_id'], other.body['artifact']]).toEqual([true, one.body['event_id'], one.body['artifact']]);
      if (otherTenant !== 404 && needsKey) {
        const own = await call(row, { key: keys.other });
        expect([own.status, own.body['event_id'] ?? own.body['artifact']]).toEqual([otherTenant, expect.not.stringMatching(String(one.body['event_id'] ?? one.body['artifact']))]);
      }
    });

    it('tells no browser that a page of another site may call it', async () => {
      const [method, path] = route.split(' ') as [string, string];
      const asked = await ask(`${url}${path.replace(':event_id', eventId).replace(':token', TOKEN)}`, { method: 'OPTIONS', headers: { Origin: 'https://elsewhere.example', 'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': 'authorization' } });
      expect([...asked.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
    });
  });
});

describe('every read of the API', () => {
  const reads = apiOperations(roster, true).filter(({ method, needsKey }) => method === 'get' && needsKey);
  it.each(reads.map(({ path, scope }) => [path, scope as Scope] as const))('%s needs its key, its scope and its tenant', async (path, scope) => {
    const read = (key?: string) => ask(`${url}${path.replace(':event_id', eventId)}`, key === undefined ? {} : { headers: { Authorization: `Bearer ${key}` } });
    expect([(await read()).status, (await read(lacking.get(scope))).status, (await read(keys.right)).status]).toEqual([401, 403, 200]);
    const foreign = await read(keys.other);
    expect([foreign.status, foreign.text.includes(eventId)]).toEqual([path === '/notifications' ? 200 : 404, false]);
  });
});
