import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { requestDeadLetters } from '../../shared/delivery/dead-letter-requests.ts';
import { AUDIT_ACTIONS } from '../../shared/delivery/read-audit.ts';
import { insertAudit, listAudit, verifyAudit } from '../../shared/ledger/audit-entries.ts';
import { findOperator } from '../../shared/ledger/operators.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { run } from '../cli/support.ts';
import { ask, aTicket, createRig, postForm, postJson } from '../intake/rig.ts';
import type { Rig } from '../intake/rig.ts';
import { makeOperator, signIn } from '../support/sign-in.ts';
import type { Signed } from '../support/sign-in.ts';

const KEYS = generateKeyRingText();
const by = { actor: 'ada', role: 'admin', via: 'dashboard', session: '00112233', client: '0011223344556677', requestId: 'r-1' } as const;

let rig: Rig;
let dashboard: RunningDashboard;
let eventId: string;
let admin: Signed;
beforeAll(async () => {
  rig = await createRig(async (url) => url, 10_000);
  rig.engine.ring = parseKeyRing(KEYS);
  const intake = await rig.start();
  eventId = String((await postJson(`${intake.url}/tickets`, aTicket())).body['event_id']);
  await makeOperator(rig.engine, 'ada', 'admin');
  await makeOperator(rig.engine, 'vic', 'viewer');
  dashboard = await startDashboard({ engine: rig.engine, log: rig.log, config: { host: '127.0.0.1', port: 0, operator: { user: 'first', password: 'never-used' } } });
  admin = await signIn(dashboard.url, 'ada');
});
afterAll(async () => {
  await dashboard.close();
  await rig.close();
});

const cli = (line: string[], stdin = '') => run(line, { stdin, env: { DATABASE_URL: rig.database.url, TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: '/nonexistent' } });
const newest = async (count: number) => (await listAudit(rig.engine.db, {}, count)).map(({ actor, role, via, action, target, result, reason }) => ({ actor, role, via, action, target, result, reason }));
const asOwner = async (statement: string): Promise<void> => {
  const owner = openDatabase({ url: rig.database.url, role: null, poolSize: 2 });
  try {
    await owner.pool.query(statement);
  } finally {
    await owner.close();
  }
};

describe('the audit trail', () => {
  it.each(['UPDATE audit_entry SET actor = \'else\'', 'DELETE FROM audit_entry', 'TRUNCATE audit_entry'])('refuses %s, to the services and to its owner', async (statement) => {
    await expect(rig.engine.db.pool.query(statement)).rejects.toThrow(/permission denied/);
    await expect(asOwner(statement)).rejects.toThrow(/append-only/);
  });

  it('numbers entries without a gap and in the order of their instants, whoever writes at once and however late a clock is', async () => {
    const now = Date.now();
    await Promise.all(Array.from({ length: 12 }, (_, index) => insertAudit(rig.engine.db, by, [{ action: 'audit.verify', target: `n${index}`, result: 'done' }, { action: 'audit.verify', target: `m${index}`, result: 'done' }], now - index * 1_000)));
    const rows = (await listAudit(rig.engine.db, {}, 1_000)).reverse();
    expect(rows.map(({ id }) => Number(id))).toEqual(rows.map((_, index) => index + 1));
    expect(rows.map(({ at }) => at)).toEqual(rows.map(({ at }) => at).sort((one, other) => one - other));
    expect(await verifyAudit(rig.engine.db)).toEqual({ entries: rows.length, faultAt: null });
  });

  it.each(['ada@example.com', '+12025550101', 'a sentence that somebody wrote', ''])('has no room for %j, as actor, target, result or reason', async (text) => {
    const event = { action: 'audit.verify', target: 'all', result: 'done' };
    await expect(insertAudit(rig.engine.db, { ...by, actor: text }, [event], Date.now())).rejects.toThrow(/check/);
    for (const over of [{ target: text }, { result: text }, { reason: text }, { action: text }]) await expect(insertAudit(rig.engine.db, by, [{ ...event, ...over }], Date.now())).rejects.toThrow(/check/);
  });

  it('finds an entry that somebody changed behind its triggers', async () => {
    const sound = await verifyAudit(rig.engine.db);
    await asOwner(`SET session_replication_role = replica; UPDATE audit_entry SET actor = 'else' WHERE id = 5`);
    expect(await verifyAudit(rig.engine.db)).toEqual({ entries: 4, faultAt: '5' });
    expect(await cli(['audit', 'verify'])).toMatchObject({ code: 1, err: expect.stringContaining('entry 5') as unknown });
    await asOwner(`SET session_replication_role = replica; UPDATE audit_entry SET actor = 'ada' WHERE id = 5`);
    expect((await verifyAudit(rig.engine.db)).entries).toBeGreaterThan(sound.entries);
  });
});

describe('tocsin operator', () => {
  it.each<[string, { line: string[]; stdin?: string; code: number; words: string }]>([
    ['a weak password', { line: ['operator', 'add', 'lou', '--role', 'viewer'], stdin: 'short\n', code: 1, words: 'fewer than 12' }],
    ['one that holds the name', { line: ['operator', 'set-password', 'vic'], stdin: 'vic is my name', code: 1, words: 'holds the name' }],
    ['an address for a name', { line: ['operator', 'add', 'lou@example.com', '--role', 'viewer'], code: 2, words: 'NAME must be' }],
    ['a name of the ledger\'s own', { line: ['operator', 'add', 'boot', '--role', 'viewer'], code: 2, words: 'something else' }],
    ['a role that there is not', { line: ['operator', 'add', 'lou', '--role', 'root'], code: 2, words: '--role is one of' }],
    ['a password as an argument', { line: ['operator', 'add', 'lou', '--role', 'viewer', '--password', 'four words of mine'], code: 2, words: 'Unknown option' }],
  ])('refuses %s', async (_name, { line, stdin = '', code, words }) => {
    const ran = await cli(line, stdin);
    expect([ran.code, ran.err]).toEqual([code, expect.stringContaining(words)]);
    expect(await findOperator(rig.engine.db, 'lou')).toBeNull();
  });

  it('draws a password that opens the dashboard, lists who there is and never a hash', async () => {
    const { password } = JSON.parse((await cli(['operator', 'add', 'Max', '--role', 'operator', '--generate', '--json'])).out) as { password: string };
    expect((await signIn(dashboard.url, 'max', password)).token).not.toBe('');
    const listed = await cli(['operator', 'list', '--json']);
    expect(JSON.parse(listed.out)).toMatchObject({ operators: expect.arrayContaining([expect.objectContaining({ name: 'Max', role: 'operator', disabled_at: null })]) as unknown });
    expect(listed.out).not.toMatch(/scrypt|password":"/);
  });
});

describe('what stands in the trail', () => {
  it('that an operator closed, paused and resumed, with what came of it and the code of the reason', async () => {
    const act = (kind: string, reason: string) => postForm(`${dashboard.url}/notifications/${eventId}/${kind}`, { reason, token: admin.token }, { Cookie: admin.cookie });
    expect((await act('pause', 'maintenance')).headers.get('location')).toBe(`/notifications/${eventId}?told=pause`);
    await act('resume', 'the printer is on fire');
    await act('close', 'taken');
    await act('close', 'taken');
    const told = { actor: 'ada', role: 'admin', via: 'dashboard', target: eventId };
    expect((await newest(8)).reverse()).toEqual([
      { ...told, action: 'notification.pause', result: 'asked', reason: 'maintenance' }, { ...told, action: 'notification.pause', result: 'paused', reason: 'maintenance' },
      { ...told, action: 'notification.resume', result: 'asked', reason: 'other' }, { ...told, action: 'notification.resume', result: 'resumed', reason: 'other' },
      { ...told, action: 'notification.close', result: 'asked', reason: 'taken' }, { ...told, action: 'notification.close', result: 'closed', reason: 'taken' },
      { ...told, action: 'notification.close', result: 'asked', reason: 'taken' }, { ...told, action: 'notification.close', result: 'unchanged', reason: 'taken' },
    ]);
    const { rows } = await rig.engine.db.pool.query<{ kind: string }>(`SELECT kind FROM ledger_entry WHERE event_id = $1 AND request_id IN (SELECT request_id FROM audit_entry WHERE target = $1) ORDER BY version`, [eventId]);
    expect(rows.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['NotificationPaused', 'NotificationResumed', 'NotificationClosed']));
    const all = await rig.engine.db.pool.query<{ text: string }>('SELECT a::text AS text FROM audit_entry a');
    expect(all.rows.map(({ text }) => text).join()).not.toContain('printer');
  });

  it('every change that the command line makes, by whom', async () => {
    const done = async (line: string[], stdin?: string): Promise<Record<string, unknown>> => {
      const { code, out, err } = await cli([...line, '--actor', 'jo', '--json'], stdin);
      expect([line.join(' '), code, err]).toEqual([line.join(' '), 0, '']);
      return JSON.parse(out) as Record<string, unknown>;
    };
    const key = await done(['key', 'create', '--label', 'x', '--tenant', 'acme', '--scope', 'feed:read']);
    await done(['key', 'revoke', String(key['id'])]);
    await done(['suppress', 'add', '--channel', 'sms', '--address', '+12025550101', '--reason', 'requested']);
    await done(['suppress', 'remove', '--channel', 'sms', '--address', '+12025550101', '--reason', 'mistake']);
    await done(['policy', 'activate', 'game-support-urgent', '2', '--reason', 'checked']);
    await done(['operator', 'add', 'kim', '--role', 'viewer'], 'four words of mine\n');
    await done(['operator', 'set-role', 'kim', 'operator']);
    await done(['operator', 'set-password', 'kim'], 'four other words of mine\n');
    await done(['operator', 'disable', 'kim']);
    const told = { actor: 'jo', role: null, via: 'cli', result: 'done', reason: null };
    const destination = expect.stringMatching(/^default\/sms\/[0-9a-f]{12}$/) as unknown;
    expect((await newest(9)).reverse()).toEqual([
      { ...told, action: 'key.create', target: `acme/${String(key['id'])}` }, { ...told, action: 'key.revoke', target: key['id'] },
      { ...told, action: 'suppression.add', target: destination, reason: 'requested' }, { ...told, action: 'suppression.remove', target: destination, reason: 'mistake' },
      { ...told, action: 'policy.activate', target: 'game-support-urgent/2', result: 'unchanged', reason: 'checked' },
      { ...told, action: 'operator.add', target: 'kim=viewer' }, { ...told, action: 'operator.set_role', target: 'kim=operator' },
      { ...told, action: 'operator.set_password', target: 'kim' }, { ...told, action: 'operator.disable', target: 'kim' },
    ]);
  });

  it('that a dead letter was asked about, once for each, with the code of the reason and not its words', async () => {
    const { rows } = await rig.engine.db.pool.query<{ id: string }>(`INSERT INTO dead_letter (attempt_key, event_id, channel, reason, created_at) VALUES ($1 || '.sms.1', $1, 'sms', 'retries_exhausted', now()) RETURNING id::text`, [eventId]);
    const [{ id }] = rows as [{ id: string }];
    const request = { action: 'retry' as const, actor: 'ada', reason: 'the provider is back', audit: by };
    expect(await requestDeadLetters(rig.engine, [{ id, eventId }], request)).toEqual([id]);
    expect(await requestDeadLetters(rig.engine, [{ id, eventId }], { ...request, action: 'discard', reason: 'checked' })).toEqual([]);
    const told = { actor: 'ada', role: 'admin', via: 'dashboard', target: `dead-letter/${id}` };
    expect((await newest(2)).reverse()).toEqual([{ ...told, action: 'dead_letter.retry', result: 'asked', reason: 'other' }, { ...told, action: 'dead_letter.discard', result: 'unchanged', reason: 'checked' }]);
  });

  it('nothing of a change that was rolled back, and no change without its entry', async () => {
    const before = await verifyAudit(rig.engine.db);
    expect((await cli(['operator', 'disable', 'nobody'])).code).toBe(1);
    expect((await cli(['operator', 'add', 'ADA', '--role', 'viewer'], 'four words of mine')).code).toBe(1);
    expect((await cli(['operator', 'disable', 'ada'])).err).toContain('last administrator');
    expect(await verifyAudit(rig.engine.db)).toEqual(before);
    await asOwner(`CREATE FUNCTION no_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$; CREATE TRIGGER no_audit BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION no_audit()`);
    for (const line of [['operator', 'set-role', 'vic', 'admin'], ['key', 'create', '--label', 'x'], ['suppress', 'add', '--channel', 'sms', '--address', '+12025550102', '--reason', 'requested']]) expect((await cli(line)).code).toBe(1);
    await asOwner('DROP TRIGGER no_audit ON audit_entry');
    const { rows } = await rig.engine.db.pool.query(`SELECT (SELECT role FROM operator WHERE name = 'vic') AS role, (SELECT count(*)::int FROM api_key) AS keys, (SELECT count(*)::int FROM suppression WHERE removed_at IS NULL) AS suppressed`);
    expect(rows).toEqual([{ role: 'viewer', keys: 1, suppressed: 0 }]);
  });

  it('who reads the trail, and who may not', async () => {
    const viewer = await signIn(dashboard.url, 'vic');
    expect((await ask(`${dashboard.url}/audit`, { headers: viewer.headers })).status).toBe(403);
    const { status, text } = await ask(`${dashboard.url}/audit?actor=ada&action=notification.close&since=2026-01-01`, { headers: admin.headers });
    expect(status).toBe(200);
    expect(text).toContain(eventId);
    expect(text).not.toContain('operator.disable</code>');
    expect((await newest(2)).reverse()).toMatchObject([{ actor: 'vic', action: 'audit.read', result: 'refused' }, { actor: 'ada', action: 'audit.read', target: 'actor=ada,action=notification.close,since=1767225600000', result: 'done' }]);
    const listed = JSON.parse((await cli(['audit', 'list', '--of', 'jo', '--since', '1h', '--limit', '2', '--json'])).out) as { entries: { actor: string; action: string }[]; older: string };
    expect(listed.entries.map(({ action }) => action)).toEqual(['operator.disable', 'operator.set_password']);
    const next = JSON.parse((await cli(['audit', 'list', '--of', 'jo', '--before', listed.older, '--limit', '1', '--json'])).out) as typeof listed;
    expect(next.entries.map(({ action }) => action)).toEqual(['operator.set_role']);
    expect((await newest(1))[0]).toMatchObject({ actor: 'cli', role: null, via: 'cli', action: 'audit.read' });
  });

  it('only actions that lists can be narrowed to', async () => {
    const { rows } = await rig.engine.db.pool.query<{ action: string }>('SELECT DISTINCT action FROM audit_entry');
    expect(AUDIT_ACTIONS).toEqual(expect.arrayContaining(rows.map(({ action }) => action)));
  });

  it('page by page, each entry once, read by an index', async () => {
    await rig.engine.db.pool.query(`INSERT INTO audit_entry (at, actor, via, action, target, result, request_id) SELECT now(), 'bulk', 'service', 'audit.verify', 'n' || n, 'done', 'r' FROM generate_series(1, 120) n`);
    const seen: string[] = [];
    for (let path: string | undefined = '/audit?actor=bulk'; path !== undefined;) {
      const { text } = await ask(`${dashboard.url}${path}`, { headers: admin.headers });
      seen.push(...[...text.matchAll(/<code>n(\d+)<\/code>/g)].map((match) => match[1] as string));
      path = /<a href="([^"]+)" rel="next">/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, index) => String(120 - index)));
    const plan = await rig.engine.db.pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN SELECT id FROM audit_entry WHERE id < 9000 AND actor = 'bulk' ORDER BY id DESC LIMIT 50`);
    expect(plan.rows.map((row) => row['QUERY PLAN']).join('\n')).not.toMatch(/Seq Scan|Sort/);
  });
});
