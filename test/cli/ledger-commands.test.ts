import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../shared/config/environment.ts';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { decideAndAppend } from '../../shared/delivery/decide-and-append.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import type { Command } from '../../shared/domain/decide.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { beat } from '../../shared/ledger/heartbeat.ts';
import { insertOperator } from '../../shared/ledger/operators.ts';
import { readNotification } from '../../shared/ledger/reads.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { hashPassword } from '../../shared/security/password.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';
import { notificationView } from '../../shared/delivery/notification-view.ts';
import { CHEAP } from '../support/sign-in.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { run } from './support.ts';

const NUMBER = '+12025550103';
const ROOT = join(import.meta.dirname, '../..');
const PROGRAM = join(import.meta.dirname, '../../bin/tocsin.js');

/** Runs the program as a process of its own. */
const spawned = async (line: string[], env: Environment): Promise<{ code: number | null; signal: string | null; out: string }> => {
  const child = spawn(process.execPath, [PROGRAM, ...line], { env: { ...process.env, NODE_OPTIONS: '', ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => { out += chunk.toString(); });
  const [code, signal] = await once(child, 'close') as [number | null, string | null];
  return { code, signal, out };
};

describe('commands on the ledger', () => {
  let database: TestDatabase;
  let dataDir: string;
  let env: Environment;
  let db: Database;
  let engine: Engine;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'tocsin-cli-'));
    const keys = generateKeyRingText();
    await writeFile(join(dataDir, 'keys'), `${keys}\n`, { mode: 0o600 });
    env = { TOCSIN_DATA_DIR: dataDir, DATABASE_URL: database.url };
    expect(await run(['migrate'], { env })).toMatchObject({ code: 0 });
    db = openDatabase({ url: database.url, poolSize: 2 });
    engine = createEngine({
      db, ring: parseKeyRing(keys), carriers: CARRIERS, sender: { sms: '+12025550100', email: 'notices@example.com' }, now: () => Date.now(),
      log: createLogger({ level: 'silent', service: 'test', redactPaths: [] }),
    });
  });
  afterAll(async () => {
    await db?.close();
    await database?.drop();
    if (dataDir) await rm(dataDir, { recursive: true });
  });

  let keys = 0;
  // Each to a number of its own: the shipped policy texts one number five times in five minutes.
  const accept = async (region = 'US'): Promise<string> => {
    keys += 1;
    const outcome = await acceptNotification(engine, {
      tenant: 'default', idempotencyKey: `key-${keys}`, fingerprintOf: keys, purpose: 'game-support-urgent', expiresAt: null, artifacts: [], requestId: 'test', actor: 'test', ticket: null,
      recipient: { ref: 'oncall', sms: `${NUMBER.slice(0, -2)}${String(keys).padStart(2, '0')}`, email: 'oncall-03@example.com', region, locale: 'en', timeZone: null, consent: [{ channel: 'sms', basis: 'on_call_duty', reference: 'r' }, { channel: 'email', basis: 'on_call_duty', reference: 'r' }] },
      variables: () => ({ category: 'payment_lockout', queue: 'payments-urgent', region: 'US', locale: 'en', player_ref: 'p-1', message: 'secret words', received_at: '2026-11-29T10:00:00Z', ticket_url: 'http://127.0.0.1/t' }),
    });
    if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${outcome.kind}`);
    return outcome.eventId;
  };
  const act = (eventId: string, command: Command) => decideAndAppend(engine, eventId, { provenance: { actor: 'test', requestId: 'test' }, command: () => command });
  const submit = (eventId: string) => act(eventId, { kind: 'start_submission', attempt: `${eventId}.sms.1` });
  const deliver = async (eventId: string): Promise<void> => {
    await act(eventId, { kind: 'record_submission', attempt: `${eventId}.sms.1`, submission: 1, result: { kind: 'accepted', providerMessageId: `SM-${eventId}` } });
    await act(eventId, { kind: 'record_status', attempt: `${eventId}.sms.1`, reading: { kind: 'observed', outcome: 'delivered', reason: null } });
  };

  it('migrate may be repeated, and says what it did', async () => {
    const again = await run(['migrate', '--json'], { env });
    expect(JSON.parse(again.out)).toMatchObject({ applied: [], queue: 'postgres', published: { policies: loadPolicies(join(ROOT, 'policies')).length, templates: loadTemplates(join(ROOT, 'templates')).length } });
    expect((await run(['migrate'], { env: { ...env, TOCSIN_POLICY_DIR: join(dataDir, 'none') } })).err).toContain('correct TOCSIN_POLICY_DIR');
  });

  it('show tells everything and no address or text, and answers as the intake does', async () => {
    const eventId = await accept();
    await submit(eventId);
    await deliver(eventId);
    const forPeople = await run(['show', eventId], { env });
    expect(forPeople.code).toBe(0);
    expect(forPeople.out).toMatch(/^status +delivered$/m);
    expect(forPeople.out).toMatch(/^sms\.1 +delivered +- /m);
    expect(forPeople.out).toMatch(/SubmissionStarted +sms\.1 +queued → submitting +submission=1/);
    const { entries, dead_letters: letters, lost_races: none, ...view } = JSON.parse((await run(['show', eventId, '--json'], { env })).out) as { entries: { version: number; kind: string }[]; dead_letters: unknown[]; lost_races: unknown[] };
    expect([letters, forPeople.out.includes('Dead letters')]).toEqual([[], false]);
    expect([none, forPeople.out.includes('too late')]).toEqual([[], false]);
    const record = await readNotification(db, { eventId });
    expect(view).toEqual(record && notificationView(record, await engine.versions.bind('game-support-urgent', record.policyVersion)));
    expect(entries.map((entry) => entry.version)).toEqual(entries.map((_entry, index) => index + 1));
    for (const text of [forPeople.out, JSON.stringify(entries)]) {
      for (const secret of [NUMBER.slice(-7), 'oncall-03', 'secret words']) expect(text).not.toContain(secret);
    }
  });

  it('show tells who decided on a version that another took first, where no entry tells of it', async () => {
    const eventId = await accept();
    await engine.ledger.recordLostRace({ eventId, at: Date.UTC(2026, 10, 29, 10), actor: 'coordinator-2', requestId: 'sweep-7', decidedOn: 3, found: 4 });
    // Lost to a row without a version, such as a provider's state.
    await engine.ledger.recordLostRace({ eventId, at: Date.UTC(2026, 10, 29, 11), actor: 'coordinator-2', requestId: 'sweep-8', decidedOn: 4, found: 4 });
    expect((await run(['show', eventId], { env })).out).toMatch(/Decided too late, and then found nothing left to do:\n.*\n.*coordinator-2 +version 3 +version 4/);
    expect(JSON.parse((await run(['show', eventId, '--json'], { env })).out)).toMatchObject({
      lost_races: [
        { at: '2026-11-29T10:00:00.000Z', actor: 'coordinator-2', request_id: 'sweep-7', decided_on: 3, found: 4 },
        { at: '2026-11-29T11:00:00.000Z', actor: 'coordinator-2', request_id: 'sweep-8', decided_on: 4, found: 4 },
      ],
    });
  });

  it('explain says why email was not needed', async () => {
    const eventId = await accept();
    await submit(eventId);
    await deliver(eventId);
    const { explanation } = JSON.parse((await run(['explain', eventId, '--json'], { env })).out) as { explanation: string[] };
    expect(explanation.join('\n')).toContain('so email was not needed');
    const lines = (await run(['explain', eventId], { env })).out.trimEnd().split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('says that an event is not there', async () => {
    for (const command of ['show', 'explain', 'watch']) {
      expect(await run([command, 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV'], { env })).toMatchObject({ code: 1, err: expect.stringContaining('there is no notification') });
    }
  });

  it('close ends the workflow, says what is in flight, and keeps the first reason', async () => {
    const eventId = await accept();
    await submit(eventId);
    const closed = await run(['close', eventId, '--reason', 'taken', '--actor', 'oncall-03', '--json'], { env });
    expect(closed.code).toBe(0);
    expect(JSON.parse(closed.out)).toMatchObject({ event_id: eventId, status: 'closed', reason: 'taken', in_flight: true, replayed: false });
    const again = await run(['close', eventId, '--reason', 'Ada has called the player'], { env });
    expect(again).toMatchObject({ code: 0, out: expect.stringMatching(/^It had been closed already, .* that reason stands: taken\.\n/) });
    expect(again.out).toContain('was in flight at that instant');
    expect((await run(['show', eventId, '--json'], { env })).out).toContain('"actor":"oncall-03"');
  });

  it('pause holds a notification, keeps the first reason, and resume leaves what fell due to the coordinator', async () => {
    const eventId = await accept();
    const paused = await run(['pause', eventId, '--reason', 'wrong_person', '--actor', 'oncall-03', '--json'], { env });
    expect(paused.code).toBe(0);
    expect(JSON.parse(paused.out)).toEqual({ event_id: eventId, status: 'accepted', paused: true, reason: 'wrong_person', paused_at: expect.any(String), in_flight: false, replayed: false });
    expect(await run(['pause', eventId, '--reason', 'Ada says it is not hers'], { env })).toMatchObject({ code: 0, out: expect.stringMatching(/^It had been paused already, .* that reason stands: wrong_person\.\n/) });
    await submit(eventId);
    expect((await run(['show', eventId, '--json'], { env })).out).toMatch(/"paused":true.*"outcome":"queued"/);
    expect(await run(['resume', eventId, '--reason', 'checked'], { env })).toMatchObject({ code: 0, out: expect.stringMatching(/^Resumed\./) });
    const { entries, ...view } = JSON.parse((await run(['show', eventId, '--json'], { env })).out) as { paused: boolean; entries: { kind: string }[] };
    expect([view.paused, entries.at(-1)?.kind]).toEqual([false, 'NotificationResumed']);
    expect(await db.pool.query('SELECT 1 FROM notification_state WHERE event_id = $1 AND decide_at <= now()', [eventId])).toMatchObject({ rowCount: 1 });
    expect(await run(['resume', eventId, '--reason', 'checked', '--json'], { env })).toMatchObject({ code: 0, out: expect.stringContaining('"replayed":true') });
  });

  it.each(['pause', 'resume'])('%s refuses what is closed or not there', async (how) => {
    const eventId = await accept();
    await run(['close', eventId, '--reason', 'taken'], { env });
    expect(await run([how, eventId, '--reason', 'checked'], { env })).toMatchObject({ code: 1, err: expect.stringContaining(`there is nothing to ${how}: the notification is closed`) });
    expect(await run([how, 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', '--reason', 'checked'], { env })).toMatchObject({ code: 1, err: expect.stringContaining('there is no notification') });
  });

  it('close refuses where nothing was ever open, and where the keys are not known', async () => {
    const eventId = await accept('AQ');
    expect(await run(['close', eventId, '--reason', 'taken'], { env })).toMatchObject({ code: 1, err: expect.stringContaining('there is nothing to close: the notification is policy_rejected') });
    expect(await run(['close', eventId, '--reason', 'taken'], { env: { ...env, TOCSIN_DATA_DIR: join(dataDir, 'none') } })).toMatchObject({ code: 1, err: expect.stringContaining('no keys are known') });
  });

  it('watch appends a JSON line for every entry, once, and for every change of the status, and ends when it is final', async () => {
    const eventId = await accept();
    await submit(eventId);
    const watched = await run(['watch', eventId, '--json'], { env, wait: (round) => (round === 2 ? deliver(eventId) : undefined) });
    const lines = watched.out.trimEnd().split('\n').map((line) => JSON.parse(line) as { version: number; kind: string; status?: string });
    const entries = lines.filter((line) => line.status === undefined);
    expect(watched.code).toBe(0);
    expect(lines.filter((line) => line.status !== undefined).map((line) => line.status)).toEqual(['in_progress', 'delivered']);
    expect(entries.map((entry) => entry.version)).toEqual(entries.map((_entry, index) => index + 1));
    expect(entries.at(-1)?.kind).toBe('NotificationSettled');
  });

  it('watch redraws its picture in place on a terminal, without colour under NO_COLOR, and shows the cursor again', async () => {
    const eventId = await accept();
    const watched = await run(['watch', eventId, '--until', 'forever'], {
      env: { ...env, NO_COLOR: '1' }, tty: true, wait: async (round, stop) => { if (round === 1) await submit(eventId); else stop(); },
    });
    expect(watched.code).toBe(0);
    expect(watched.out.startsWith('\u001b[?25l')).toBe(true);
    expect(watched.out).toMatch(/\u001b\[\d+A\r\u001b\[0J/);
    expect(watched.out).not.toMatch(/\u001b\[\d+m/);
    expect(watched.out).toContain('submission started');
    const narrow = await run(['watch', eventId, '--until', 'forever'], { env: { ...env, NO_COLOR: '1' }, tty: true, columns: 24, wait: (_round, stop) => stop() });
    expect(Math.max(...narrow.out.replace(/\u001b\[[?0-9;]*[A-Za-z]/g, '').split('\n').map((line) => [...line].length))).toBeLessThan(24);
    expect(watched.out).toContain('Ctrl-C stops watching');
    expect(watched.out.endsWith('\u001b[?25h')).toBe(true);
  });

  it('watch says that the database is away, and goes on when it is back', async () => {
    const target = new URL(database.url);
    const sockets = new Set<Socket>();
    const proxy: Server = createServer((socket) => {
      const upstream = connect(Number(target.port), target.hostname);
      for (const one of [socket, upstream]) sockets.add(one.on('error', () => undefined));
      socket.pipe(upstream).pipe(socket);
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    const proxied = new URL(database.url);
    proxied.hostname = '127.0.0.1';
    proxied.port = String(port);
    const leave = async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    };
    const eventId = await accept();
    await submit(eventId);
    const watched = await run(['watch', eventId], {
      env: { ...env, DATABASE_URL: proxied.href },
      wait: async (round) => {
        if (round === 1) await leave();
        if (round === 3) {
          await deliver(eventId);
          await once(proxy.listen(port, '127.0.0.1'), 'listening');
        }
      },
    });
    await leave();
    expect(watched.code).toBe(0);
    expect(watched.err).toBe('the database does not answer; this goes on as soon as it does\nthe database answers again\n');
    expect(watched.out).toContain('AttemptDelivered');
    expect(watched.out).toContain(`Why: npx tocsin explain ${eventId}`);
  });

  it('keys are made, listed without their text, and revoked once', async () => {
    const made = JSON.parse((await run(['key', 'create', '--label', 'shop', '--json'], { env })).out) as { id: string; api_key: string };
    const listed = await run(['key', 'list'], { env });
    expect(listed.out).toMatch(new RegExp(`^${made.id} +default +shop `, 'm'));
    expect(listed.out).not.toContain(made.api_key);
    expect(await run(['key', 'revoke', made.id], { env })).toMatchObject({ code: 0, out: `Key ${made.id} is revoked.\n` });
    expect(await run(['key', 'revoke', made.id], { env })).toMatchObject({ code: 1, err: expect.stringContaining('there is no live key with that id') });
  });

  it('doctor finds nothing wrong where all is well, and names each fault with its cure', async () => {
    await beat(db, 'sweep', Date.now());
    // What the other tests left to be done is of no concern here, however long they took.
    await db.pool.query('DELETE FROM outbox');
    await db.pool.query('UPDATE notification_state SET decide_at = NULL');
    const well = await run(['doctor'], { env });
    expect(well.out).toMatch(/Nothing is wrong\.\n$/);
    expect(well.code).toBe(0);
    await db.prisma.engineHeartbeat.updateMany({ data: { finishedAt: new Date(Date.now() - 60_000) } });
    const ill = await run(['doctor'], { env: { ...env, TOCSIN_DATA_DIR: join(dataDir, 'none') } });
    expect(ill.code).toBe(1);
    expect(ill.out).toMatch(/✗ engine +the last sweep finished 6\d s ago\n +-> start a coordinator/);
    expect(ill.out).toMatch(/✗ keys +no keys are known/);
  });

  it('doctor says what it could not know otherwise: services that would not start, and a deployment without an admin', async () => {
    const keys = generateKeyRingText();
    const lacking = (await run(['doctor'], { env: { ...env, TOCSIN_KEYS: keys } })).out;
    expect(lacking).toMatch(/· services +with these variables none starts: MAIL_FROM is not set; TWILIO_FROM is not set/);
    const whole = (await run(['doctor'], { env: { ...env, TOCSIN_KEYS: keys, MAIL_FROM: 'tocsin@example.com', TWILIO_FROM: '+12025550100' } })).out;
    expect(whole).toMatch(/✓ services +have the variables/);
    expect((await run(['doctor'], { env })).out).not.toMatch(/ services /);
    expect(whole).toMatch(/· operators +there is none yet/);
    const passwordHash = await hashPassword('some words of mine', CHEAP);
    await insertOperator(db, { name: 'ada', role: 'operator', passwordHash, now: Date.now() });
    expect((await run(['doctor'], { env })).out).toMatch(/· operators +there are operators and no admin: .*\n +-> run npx tocsin operator add NAME --role admin/);
    await insertOperator(db, { name: 'ben', role: 'admin', passwordHash, now: Date.now() });
    expect((await run(['doctor'], { env })).out).toMatch(/✓ operators +there is an admin/);
  });

  it('runs as a program, with its exit code: doctor, where the database is away', async () => {
    const { code, out } = await spawned(['doctor', '--json'], { ...env, DATABASE_URL: 'postgres://127.0.0.1:1/x' });
    expect(code).toBe(1);
    const { ok, findings } = JSON.parse(out) as { ok: boolean; findings: unknown[] };
    expect(ok).toBe(false);
    expect(findings).toContainEqual({ name: 'database', verdict: 'fault', text: 'does not answer', cure: 'start it, or correct DATABASE_URL' });
  });

  it('migrate that is killed inside a migration leaves nothing of it, and a second one completes', async () => {
    const name = `${new URL(database.url).pathname.slice(1)}_bare`;
    const owner = openDatabase({ url: database.url, role: null, poolSize: 1 });
    const bare = new URL(database.url);
    bare.pathname = `/${name}`;
    const bareEnv = { ...env, DATABASE_URL: bare.href };
    try {
      await owner.pool.query(`CREATE DATABASE ${name} TEMPLATE template0`);
      expect((await run(['doctor'], { env: bareEnv })).out).toMatch(/✗ migrations +\d+ missing, first .*\n +-> run npx tocsin migrate/);
      expect(await run(['show', 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV'], { env: bareEnv })).toMatchObject({ code: 1, err: expect.stringContaining('run `npx tocsin migrate`') });
      expect((await spawned(['migrate'], { ...bareEnv, TOCSIN_KILL_AT: 'mid-migration:2' })).signal).toBe('SIGKILL');
      const completed = await run(['migrate', '--json'], { env: bareEnv });
      expect(completed.code).toBe(0);
      const { applied, present } = JSON.parse(completed.out) as { applied: string[]; present: string[] };
      expect(present).toHaveLength(1);
      expect(applied.length).toBeGreaterThan(0);
    } finally {
      await owner.pool.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await owner.close();
    }
  });
});
