import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { ownPath } from '../../services/dashboard/own-path.ts';
import { readDashboardConfig } from '../../shared/config/intake-config.ts';
import { changeOperatorAs, ensureFirstOperator, operatorAsTold } from '../../shared/delivery/operators.ts';
import { LOGIN_LIMITS, SESSION_LIMITS } from '../../shared/delivery/sign-in.ts';
import { findOperator, listOperators } from '../../shared/ledger/operators.ts';
import { hashPassword, passwordFault, passwordMatches } from '../../shared/security/password.ts';
import { ask, createRig } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';
import { CHEAP, loginForm, makeOperator, postLogin, sessionCookie, signIn, TEST_ACTOR } from '../support/sign-in.ts';

const PASSWORD = 'correct:horse';

let rig: Rig;
/** The same engine with a clock that a test advances. */
let clock: { at: number };
let dashboard: RunningDashboard;
let behindTls: RunningDashboard;

beforeAll(async () => {
  rig = await createRig(async (url) => url, 10_000);
  clock = { at: Date.now() };
  const engine = { ...rig.engine, now: () => clock.at };
  for (const name of ['ada', 'ben', 'cas', 'dee', 'eve', 'fay', 'gus', 'hal']) await makeOperator(engine, name, 'operator', PASSWORD);
  const config = { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'never-used' } };
  dashboard = await startDashboard({ engine, log: rig.log, config: { ...config, trustProxy: 1 } });
  behindTls = await startDashboard({ engine, log: rig.log, config: { ...config, secure: true } });
});
afterAll(async () => {
  await dashboard.close();
  await behindTls.close();
  await rig.close();
});

const see = (cookie: string, path = '/account') => ask(`${dashboard.url}${path}`, { headers: { Cookie: cookie } });
const entries = async (where: string) => (await rig.engine.db.pool.query<{ action: string; result: string; target: string; actor: string; client: string; session: string | null }>(`SELECT action, result, target, actor, client, session FROM audit_entry WHERE ${where} ORDER BY id`)).rows;

describe('a session', () => {
  it('is a cookie that no script reads and no other site sends along, and its token stands nowhere', async () => {
    const response = await postLogin(dashboard.url, { user: 'ada', password: PASSWORD });
    const [cookie, gone] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^tocsin_session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
    expect(gone).toMatch(/^tocsin_login=; .*Max-Age=0$/);
    const token = (cookie as string).slice('tocsin_session='.length, 'tocsin_session='.length + 43);
    const { rows } = await rig.engine.db.pool.query<{ all: string }>('SELECT s::text || o::text AS all FROM operator_session s JOIN operator o ON o.name = s.operator');
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.map(({ all }) => all).join() + rig.logged()).not.toContain(token);
    expect(rows.map(({ all }) => all).join() + rig.logged()).not.toContain(PASSWORD);
  });

  it('goes nowhere without encryption where the dashboard is reached over https', async () => {
    const response = await postLogin(behindTls.url, { user: 'ada', password: PASSWORD });
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-tocsin_session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/), expect.stringMatching(/^__Host-tocsin_login=; .*; Secure; Max-Age=0$/),
    ]);
  });

  it('is another one with every login: the one before has ended', async () => {
    const first = await signIn(dashboard.url, 'ben');
    const form = await loginForm(dashboard.url);
    const second = sessionCookie(await postLogin(dashboard.url, { user: 'ben', password: PASSWORD, form: { ...form, cookie: `${form.cookie}; ${first.cookie}` } }));
    expect([(await see(first.cookie)).status, (await see(second)).status, first.cookie === second]).toEqual([401, 200, false]);
  });

  it('lapses once it is not used, and at the latest after its longest time', async () => {
    const idle = await signIn(dashboard.url, 'cas');
    clock.at += SESSION_LIMITS.idleMs - 1_000;
    expect((await see(idle.cookie)).status).toBe(200);
    clock.at += SESSION_LIMITS.idleMs - 1_000;
    expect((await see(idle.cookie)).status).toBe(200);
    clock.at += SESSION_LIMITS.idleMs;
    expect((await see(idle.cookie)).status).toBe(401);
    const busy = await signIn(dashboard.url, 'cas');
    for (let spent = 0; spent + 3_600_000 < SESSION_LIMITS.longestMs; spent += 3_600_000) {
      clock.at += 3_600_000;
      expect((await see(busy.cookie)).status).toBe(200);
    }
    clock.at += 3_600_000;
    expect((await see(busy.cookie)).status).toBe(401);
  });

  it.each([
    ['another role', { kind: 'role', role: 'viewer' }], ['another password', { kind: 'password', password: 'quite another one' }], ['being disabled', { kind: 'disable' }],
  ] as const)('ends with %s, wherever it was opened', async (_name, change) => {
    const name = { role: 'dee', password: 'eve', disable: 'fay' }[change.kind];
    const sessions = [await signIn(dashboard.url, name), await signIn(dashboard.url, name)];
    const basic = { headers: { Authorization: `Basic ${Buffer.from(`${name}:${PASSWORD}`).toString('base64')}` } };
    expect((await ask(`${dashboard.url}/account`, basic)).status).toBe(200);
    expect(await changeOperatorAs(rig.engine, name, change, TEST_ACTOR)).toEqual({ kind: 'changed', sessionsEnded: 2 });
    for (const { cookie } of sessions) expect((await see(cookie)).status).toBe(401);
    // What a program's password was remembered for is over too.
    expect((await ask(`${dashboard.url}/account`, basic)).status).toBe(change.kind === 'role' ? 200 : 401);
  });

  it('ends where somebody signs out, here or everywhere, and cannot be used again', async () => {
    const [one, other] = [await signIn(dashboard.url, 'ada'), await signIn(dashboard.url, 'ada')];
    const out = (how: { headers: Record<string, string> }, body: string) => ask(`${dashboard.url}/logout`, { method: 'POST', headers: { ...how.headers, 'Content-Type': 'application/x-www-form-urlencoded' }, body });
    const answer = await out(one, '');
    expect([answer.status, answer.headers.get('location'), answer.headers.getSetCookie().length]).toEqual([303, '/login', 2]);
    expect([(await see(one.cookie)).status, (await see(other.cookie)).status]).toEqual([401, 200]);
    expect((await out(one, '')).status).toBe(401);
    const third = await signIn(dashboard.url, 'ada');
    await out(third, 'everywhere=1');
    expect([(await see(other.cookie)).status, (await see(third.cookie)).status]).toEqual([401, 401]);
  });
});

describe('the login form', () => {
  it('opens one session: sent again, it opens none', async () => {
    const form = await loginForm(dashboard.url);
    expect((await postLogin(dashboard.url, { user: 'ada', password: PASSWORD, form })).status).toBe(303);
    const again = await postLogin(dashboard.url, { user: 'ada', password: PASSWORD, form });
    expect([again.status, sessionCookie(again)]).toEqual([403, '']);
  });

  it.each<[string, (form: { cookie: string; token: string }) => { cookie: string; token: string }]>([
    ['the token of another form', ({ cookie }) => ({ cookie, token: 'A'.repeat(43) })], ['no token', ({ cookie }) => ({ cookie, token: '' })], ['no cookie', ({ token }) => ({ cookie: '', token })],
    ['a cookie that was not made here', ({ token }) => ({ cookie: 'tocsin_login=eC54.AAAA', token })],
  ])('is refused with %s, whatever the password', async (_name, broken) => {
    const answer = await postLogin(dashboard.url, { user: 'ada', password: PASSWORD, form: broken(await loginForm(dashboard.url)) });
    expect([answer.status, sessionCookie(answer)]).toEqual([403, '']);
  });

  it('lapses, and is refused to a page of another site', async () => {
    const form = await loginForm(dashboard.url);
    expect((await postLogin(dashboard.url, { user: 'ada', password: PASSWORD, form, headers: { 'Sec-Fetch-Site': 'cross-site' } })).status).toBe(403);
    clock.at += 12 * 3_600_000;
    expect((await postLogin(dashboard.url, { user: 'ada', password: PASSWORD, form })).status).toBe(403);
  });

  it('says the same of a wrong password, an unknown name and a disabled one, and keeps what was typed out of trail and log', async () => {
    const bodies = [];
    for (const [user, password] of [['gus', 'wrong-horse-battery'], ['hunter2-secret', PASSWORD], ['fay', PASSWORD]] as const) {
      const answer = await postLogin(dashboard.url, { user, password });
      expect([answer.status, sessionCookie(answer)]).toEqual([401, '']);
      bodies.push((await answer.text()).replaceAll(user, 'NAME').replace(/name="token" value="[^"]+"/, ''));
    }
    expect(new Set(bodies).size).toBe(1);
    const failed = await entries(`action = 'login.failed' AND result IN ('wrong_password', 'unknown_name', 'disabled')`);
    expect(failed.slice(-3)).toEqual([
      expect.objectContaining({ actor: 'gus', target: 'gus', result: 'wrong_password' }),
      expect.objectContaining({ actor: 'unknown', target: expect.stringMatching(/^name:[0-9a-f]{16}$/) as unknown, result: 'unknown_name' }),
      expect.objectContaining({ actor: 'fay', result: 'disabled' }),
    ]);
    const { rows } = await rig.engine.db.pool.query<{ text: string }>(`SELECT a::text AS text FROM audit_entry a UNION ALL SELECT t::text FROM login_throttle t`);
    expect(rows.map(({ text }) => text).join() + rig.logged()).not.toMatch(/hunter2|wrong-horse|correct:horse|127\.0\.0\.1/);
  });

  it('leads back to a path of this site, and nowhere else', async () => {
    // By hand: `fetch` says of itself that it is a script.
    const [visit] = await once(get(`${dashboard.url}/templates?x=1&y=2`, { headers: { Accept: 'text/html,*/*' } }), 'response') as [IncomingMessage];
    visit.resume();
    expect([visit.statusCode, visit.headers.location]).toEqual([303, '/login?next=%2Ftemplates%3Fx%3D1%26y%3D2']);
    const answer = await postLogin(dashboard.url, { user: 'ada', password: PASSWORD, next: '/templates?x=1&y=2' });
    expect(answer.headers.get('location')).toBe('/templates?x=1&y=2');
    for (const foreign of ['//evil.example', '/\\evil.example', 'https://evil.example', '/\t/evil.example', '/.//evil.example', '/x/..//evil.example', 'javascript:alert(1)', '', '/login?next=/', '/logout', ['/a', '/b'], undefined]) {
      expect([foreign, ownPath(foreign)]).toEqual([foreign, '/']);
    }
  });
});

describe('the first operator', () => {
  it('is made where there is none, as an admin, and never again; another program is told his password until it is changed', async () => {
    expect(await ensureFirstOperator(rig.engine, { user: 'first', password: 'never-used' }, 'r-1')).toBe(false);
    expect(await findOperator(rig.engine.db, 'first')).toBeNull();
    const fresh = await createRig();
    try {
      const told = { user: 'first', password: 'kept by npm start' };
      expect(await Promise.all([ensureFirstOperator(fresh.engine, told, 'r-1'), ensureFirstOperator(fresh.engine, told, 'r-2')])).toEqual(expect.arrayContaining([true]));
      expect((await listOperators(fresh.engine.db)).map(({ name, role }) => [name, role])).toEqual([['first', 'admin']]);
      expect(await operatorAsTold(fresh.engine, told)).toEqual(told);
      await changeOperatorAs(fresh.engine, 'first', { kind: 'password', password: 'quite another one' }, TEST_ACTOR);
      expect(await operatorAsTold(fresh.engine, told)).toEqual({ user: 'first', password: '' });
      expect((await changeOperatorAs(fresh.engine, 'first', { kind: 'disable' }, TEST_ACTOR)).kind).toBe('last_admin');
    } finally {
      await fresh.close();
    }
  });

  it('is not made beside others, and where none of them is an admin the log says what to do', async () => {
    const fresh = await createRig();
    try {
      await makeOperator(fresh.engine, 'ada', 'operator', PASSWORD);
      const config = { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'never-used' } };
      await (await startDashboard({ engine: fresh.engine, log: fresh.log, config })).close();
      expect(fresh.logged()).toMatch(/"event":"operator\.no_admin","user":"first","cure":"npx tocsin operator add NAME --role admin"/);
      const said = fresh.logged().length;
      await makeOperator(fresh.engine, 'ben', 'admin', PASSWORD);
      await (await startDashboard({ engine: fresh.engine, log: fresh.log, config })).close();
      expect(fresh.logged().slice(said)).not.toContain('operator.no_admin');
    } finally {
      await fresh.close();
    }
  });

  it('goes by encrypted cookies where the address of the dashboard says https', () => {
    const read = (url?: string) => readDashboardConfig({ OPERATOR_PASSWORD: 'never-used', ...(url === undefined ? {} : { TOCSIN_DASHBOARD_URL: url }) }).secure;
    expect([read(), read('http://127.0.0.1:3001'), read('https://tocsin.example.com')]).toEqual([false, false, true]);
  });
});

describe('the throttle of logins', () => {
  const from = (network: string) => ({ headers: { 'X-Forwarded-For': network } });
  it('stops a guesser of one name after a few tries, also with the right password, and nobody else; later it ends', async () => {
    for (let tries = 0; tries < LOGIN_LIMITS.together; tries += 1) expect((await postLogin(dashboard.url, { user: 'hal', password: `guess number ${tries}`, ...from('203.0.113.7') })).status).toBe(401);
    const stopped = await postLogin(dashboard.url, { user: 'HAL', password: PASSWORD, ...from('203.0.113.7') });
    expect([stopped.status, Number(stopped.headers.get('retry-after')) > 800, sessionCookie(stopped)]).toEqual([429, true, '']);
    // A name that nobody has is stopped alike: the refusal does not tell which names there are.
    for (let tries = 0; tries <= LOGIN_LIMITS.together; tries += 1) expect((await postLogin(dashboard.url, { user: 'nobody', password: 'x'.repeat(12), ...from('203.0.113.8') })).status).toBe(tries < LOGIN_LIMITS.together ? 401 : 429);
    expect((await postLogin(dashboard.url, { user: 'hal', password: PASSWORD, ...from('198.51.100.9') })).status).toBe(303);
    expect((await entries(`action = 'login.failed' AND result = 'throttled'`)).map(({ actor }) => actor)).toEqual(['hal', 'unknown']);
    clock.at += LOGIN_LIMITS.windowMs;
    expect((await postLogin(dashboard.url, { user: 'hal', password: PASSWORD, ...from('203.0.113.7') })).status).toBe(303);
  });

  it('counts tries that come at once, before it looks at any of them', async () => {
    const answers = await Promise.all(Array.from({ length: LOGIN_LIMITS.together + 4 }, () => postLogin(dashboard.url, { user: 'gus', password: 'one of a crowd', ...from('203.0.113.20') })));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array.from({ length: LOGIN_LIMITS.together }, () => 401), 429, 429, 429, 429]);
  });

  it('counts what a program sends with HTTP Basic too', async () => {
    const basic = (password: string) => ask(`${dashboard.url}/account`, { headers: { Authorization: `Basic ${Buffer.from(`gus:${password}`).toString('base64')}`, 'X-Forwarded-For': '203.0.113.21' } });
    for (let tries = 0; tries < LOGIN_LIMITS.together; tries += 1) expect((await basic(`guess number ${tries}`)).status).toBe(401);
    expect((await basic(PASSWORD)).status).toBe(429);
  });

  it('tells a guesser nothing by HTTP Basic: a password that was right before is refused like any other, from there and nowhere else', async () => {
    clock.at += LOGIN_LIMITS.windowMs;
    const basic = async (password: string, network: string) => (await ask(`${dashboard.url}/account`, { headers: { Authorization: `Basic ${Buffer.from(`ben:${password}`).toString('base64')}`, 'X-Forwarded-For': network } })).status;
    // Both are remembered; a program's own calls at once count as no failures.
    expect([await basic(PASSWORD, '203.0.113.40'), await basic(PASSWORD, '203.0.113.41')]).toEqual([200, 200]);
    expect(new Set(await Promise.all(Array.from({ length: LOGIN_LIMITS.together * 2 }, () => basic(PASSWORD, '203.0.113.41'))))).toEqual(new Set([200]));
    for (let tries = 0; tries < LOGIN_LIMITS.together; tries += 1) expect((await postLogin(dashboard.url, { user: 'ben', password: `guess number ${tries}`, ...from('203.0.113.40') })).status).toBe(401);
    expect([await basic(PASSWORD, '203.0.113.40'), await basic('guess number 9', '203.0.113.40')]).toEqual([429, 429]);
    expect(await basic(PASSWORD, '203.0.113.41')).toBe(200);
    clock.at += LOGIN_LIMITS.windowMs;
    expect(await basic(PASSWORD, '203.0.113.40')).toBe(200);
  });

  it('counts nothing for a try that it refuses: one client keeps neither a name nor its network from others', async () => {
    clock.at += LOGIN_LIMITS.windowMs;
    const tries = Array.from({ length: LOGIN_LIMITS.name + 1 });
    const answers = await Promise.all(tries.map(() => postLogin(dashboard.url, { user: 'hal', password: 'one of a crowd', ...from('203.0.113.30') })));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(LOGIN_LIMITS.together);
    expect((await postLogin(dashboard.url, { user: 'hal', password: PASSWORD, ...from('203.0.113.31') })).status).toBe(303);
    expect((await postLogin(dashboard.url, { user: 'gus', password: PASSWORD, ...from('203.0.113.30') })).status).toBe(303);
  });

  it('stops a network after its limit, and what it refuses there counts against no name', async () => {
    clock.at += LOGIN_LIMITS.windowMs;
    const guess = (user: string, network: string) => postLogin(dashboard.url, { user, password: 'one of a crowd', ...from(network) });
    for (let tries = 0; tries < LOGIN_LIMITS.network; tries += 1) expect((await guess(`invented-${tries}`, '203.0.113.32')).status).toBe(401);
    for (let tries = 0; tries <= LOGIN_LIMITS.together; tries += 1) expect((await guess('hal', '203.0.113.32')).status).toBe(429);
    const { rows } = await rig.engine.db.pool.query<{ failures: number }>('SELECT failures FROM login_throttle WHERE until_at > $1 AND failures > 1', [new Date(clock.at)]);
    expect(rows).toEqual([{ failures: LOGIN_LIMITS.network }]);
  }, 120_000);

  it('answers a name with a control character as any wrong name, and counts it', async () => {
    const name = 'a\0';
    const basic = () => ask(`${dashboard.url}/account`, { headers: { Authorization: `Basic ${Buffer.from(`${name}:xxxxxxxxxxxx`).toString('base64')}`, 'X-Forwarded-For': '203.0.113.33' } });
    expect((await basic()).status).toBe(401);
    for (let tries = 1; tries < LOGIN_LIMITS.together; tries += 1) expect((await postLogin(dashboard.url, { user: name, password: 'x'.repeat(12), ...from('203.0.113.33') })).status).toBe(401);
    expect((await basic()).status).toBe(429);
  });
});

describe('a password', () => {
  it('is kept as a memory-hard hash with its own salt and parameters', async () => {
    const [one, other] = await Promise.all([hashPassword('some words of mine', CHEAP), hashPassword('some words of mine', CHEAP)]);
    expect(one).toMatch(/^scrypt\$1024\$8\$1\$[A-Za-z0-9_-]{22}\$[A-Za-z0-9_-]{43}$/);
    expect(one).not.toBe(other);
    expect([await passwordMatches('some words of mine', one), await passwordMatches('some words of Mine', one), await passwordMatches('', null)]).toEqual([true, false, false]);
    // A letter that can be written in two ways is the same letter.
    expect(await passwordMatches('caf\u0065\u0301 au lait s\'il', await hashPassword('caf\u00e9 au lait s\'il', CHEAP))).toBe(true);
  });

  it.each(['short', 'x'.repeat(201), 'ada ada ada ada', 'aaaaaaaaaaaaaa', 'with a\ttab in it'])('is refused where it is weak: %j', (password) => {
    expect(passwordFault(password, 'ada')).not.toBeNull();
  });
});
