import { execFile } from 'node:child_process';
import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startErasures } from '../../services/coordinator/erasures.ts';
import { createFileArtifactStore } from '../../shared/content/artifacts/file-artifact-store.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { storeArtifact } from '../../shared/delivery/artifacts.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { decideAndAppend } from '../../shared/delivery/decide-and-append.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { newErasure } from '../../shared/delivery/erase-person.ts';
import { sealRaw } from '../../shared/delivery/observe.ts';
import { readFeed } from '../../shared/delivery/read-feed.ts';
import { exportLedger } from '../../shared/ledger/export.ts';
import { CHECKPOINT_PURPOSE } from '../../shared/ledger/checkpoint.ts';
import { listErasures, recordErasure } from '../../shared/ledger/erasures.ts';
import { verifyExport } from '../../shared/ledger/verify-export.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { publicKeysOf } from '../../shared/security/signing-key.ts';
import { run as runCli } from '../cli/support.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { checkpointAt, cloneDatabase, verifyAll } from './verify-support.ts';

type Opened = Engine & { close: () => Promise<void> };
const KEYS = generateKeyRingText();
const MAIN = fileURLToPath(new URL('erase-main.ts', import.meta.url));
let database: TestDatabase;
let engine: Opened;
let folder: string;
let counter = 0;

const openEngine = async (url: string): Promise<Opened> => {
  const base = await createTestEngine({ url, ring: KEYS });
  return { ...base, artifacts: createFileArtifactStore(join(folder, 'artifacts'), base.ring) };
};
beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'erase-'));
  engine = await openEngine(database.url);
});
afterAll(async () => {
  await engine.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

interface Person { ref: string; sms: string; email: string }
const person = (): Person => {
  counter += 1;
  return { ref: `user-${counter}`, sms: `+1202555${String(1000 + counter)}`, email: `user-${counter}@example.com` };
};
const accept = async (who: Person, over: Partial<AcceptRequest> = {}, by: Engine = engine): Promise<string> => {
  const request = urgentRequest();
  const outcome = await acceptNotification(by, { ...request, recipient: { ...request.recipient, ...who }, ...over });
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.eventId;
};
const ticketOf = (playerRef: string, contact: { sms: string | null; email: string | null } = { sms: null, email: null }): Partial<AcceptRequest> => {
  counter += 1;
  return {
    variables: (eventId) => ({ ...urgentRequest().variables(eventId), player_ref: playerRef, message: `I am ${playerRef}` }),
    ticket: { category: 'payment_lockout', region: 'US', locale: 'en', queue: 'payments', urgency: 'urgent', receiptToken: `token-${counter}`, sealed: { message: `I am ${playerRef}`, playerRef, contact } },
  };
};
const take = (eventId: string, by: Engine = engine) => closeNotification(by, { tenant: null, eventId, reason: 'taken', actor: 'test', requestId: 'r' });
const rows = (text: string, values: unknown[] = [], by: Engine = engine) => by.db.pool.query(text, values).then((result) => result.rows);
const file = (): string => join(folder, 'erasures.jsonl');
const env = (url = database.url) => ({ DATABASE_URL: url, TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: folder });
const erase = async (line: string[], url = database.url) => {
  const ran = await runCli(['erase', ...line, '--json'], { env: env(url) });
  return { code: ran.code, ...JSON.parse(ran.out) as { done: boolean; erasure: string; counts: Record<string, number>; open_events: string[]; suppressions_kept: number; other_tenants: string[]; error: { code: string; message: string } } };
};
/** All that is left of a notification beside the ledger: boxes and prints. */
const leftOf = (eventId: string, by: Engine = engine) => rows(`
  SELECT 'part ' || part AS what FROM sealed_payload WHERE event_id = $1 AND box IS NOT NULL
  UNION ALL SELECT 'observation' FROM observation_raw WHERE event_id = $1 AND box IS NOT NULL
  UNION ALL SELECT 'ticket' FROM ticket WHERE event_id = $1 AND box IS NOT NULL
  UNION ALL SELECT 'addresses' FROM recipient WHERE event_id = $1 AND box IS NOT NULL
  UNION ALL SELECT 'prints' FROM recipient WHERE event_id = $1 AND (reference_print IS NOT NULL OR sms_print IS NOT NULL OR email_print IS NOT NULL)
  UNION ALL SELECT 'throttle' FROM throttled_start WHERE attempt_key LIKE $1 || '.%'
  UNION ALL SELECT 'request' FROM dead_letter d JOIN dead_letter_request q ON q.dead_letter_id = d.id WHERE d.event_id = $1 AND q.box IS NOT NULL ORDER BY 1`, [eventId], by).then((found) => found.map((row) => row.what as string));
const provenance = { actor: 'test', requestId: 'r' };

describe('tocsin erase', () => {
  test('shows first what there is, destroys nothing, and repeats no address', async () => {
    const who = person();
    const eventId = await accept(who);
    await take(eventId);
    const before = await leftOf(eventId);
    const ran = await runCli(['erase', who.sms, '--reason', 'requested'], { env: env() });
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(ran.out).toContain('Nothing was erased yet');
    expect(ran.out).not.toContain(who.sms.slice(-7));
    expect(await leftOf(eventId)).toEqual(before);
    expect(await listErasures(engine.db)).toEqual([]);
  });

  test.each([['ref', (who: Person) => who.ref], ['number', (who: Person) => `${who.sms.slice(0, 2)} ${who.sms.slice(2, 5)} ${who.sms.slice(5)}`], ['email', (who: Person) => who.email.toUpperCase()]] as const)('finds a recipient by %s, leaves nothing that tells who it was, and others alone', async (_, name) => {
    const [who, other] = [person(), person()];
    const [mine, theirs] = [await accept(who), await accept(other)];
    await rows(`INSERT INTO throttled_start SELECT attempt_key, 'default', 'sms', 'p', '\\x00', $2 FROM attempt WHERE event_id = $1`, [mine, new Date(engine.now())]);
    await Promise.all([take(mine), closeNotification(engine, { tenant: null, eventId: theirs, reason: 'because she called', actor: 'test', requestId: 'r' })]);
    const kept = await leftOf(theirs);
    const done = await erase([name(who), '--reason', 'requested', '--yes', '--actor', 'privacy']);
    expect(done).toMatchObject({ code: 0, done: true, counts: { notifications: 1, addresses: 1 } });
    expect([await leftOf(mine), await leftOf(theirs)]).toEqual([[], kept]);
    const [entry] = await rows(`SELECT body, actor FROM ledger_entry WHERE event_id = $1 ORDER BY version DESC LIMIT 1`, [mine]);
    expect([entry.actor, JSON.parse(entry.body).details]).toEqual(['privacy', { parts: ['variables', 'addresses'], erasure: { of: 'recipient', reason: 'requested' } }]);
    expect(await erase([name(who), '--reason', 'requested', '--yes'])).toMatchObject({ code: 0, done: false, counts: { notifications: 0 } });
  });

  test('is refused where something may still be sent, and closes it where it is told to', async () => {
    const who = person();
    const eventId = await accept(who);
    expect(await erase([who.ref, '--reason', 'requested'])).toMatchObject({ code: 0, counts: { open: 1 }, open_events: [eventId] });
    expect(await erase([who.ref, '--reason', 'requested', '--yes'])).toMatchObject({ code: 1, error: { code: 'open_notifications', message: expect.stringContaining(eventId) } });
    expect(await leftOf(eventId)).toContain('addresses');
    expect(await erase([who.ref, '--reason', 'requested', '--yes', '--close'])).toMatchObject({ code: 0, done: true });
    expect(await leftOf(eventId)).toEqual([]);
    expect((await engine.load(eventId))?.state).toMatchObject({ closed: { reason: 'erased' }, erased: { recipient: expect.any(Number) }, settledAt: expect.any(Number) });
  });

  test('takes answers of providers and words of operators with it, and keeps none that comes later', async () => {
    const who = person();
    const eventId = await accept(who);
    const attempt = `${eventId}.sms.1`;
    const raw = { httpStatus: 201, code: 'queued' };
    await decideAndAppend(engine, eventId, { provenance, command: () => ({ kind: 'start_submission', attempt }) });
    await decideAndAppend(engine, eventId, { provenance, command: () => ({ kind: 'record_submission', attempt, submission: 1, result: { kind: 'accepted', providerMessageId: `SM${eventId}`, raw } }), enrich: sealRaw(engine, eventId, raw) });
    await closeNotification(engine, { tenant: null, eventId, reason: 'she rang me up', actor: 'test', requestId: 'r' });
    expect(await leftOf(eventId)).toEqual(['addresses', 'observation', 'part operator_text', 'part variables', 'prints']);
    await erase([who.email, '--reason', 'requested', '--yes']);
    await decideAndAppend(engine, eventId, { provenance, command: () => ({ kind: 'record_status', attempt, reading: { kind: 'observed', outcome: 'delivered', reason: null } }), enrich: sealRaw(engine, eventId, raw) });
    expect((await engine.load(eventId))?.state.attempts[0]?.state).toBe('delivered');
    expect(await leftOf(eventId)).toEqual([]);
  });

  test('of a player takes his tickets and what was told of them, by ref or by the contact he gave, and leaves who was on call', async () => {
    const onCall = person();
    const [mine, byContact, theirs] = [await accept(onCall, ticketOf('p-1001')), await accept(onCall, ticketOf('p-x', { sms: null, email: 'Ada@example.com' })), await accept(onCall, ticketOf('p-1002'))];
    await Promise.all([mine, byContact, theirs].map((eventId) => take(eventId)));
    expect(await erase(['p-1001', '--reason', 'account_closed', '--yes'])).toMatchObject({ counts: { notifications: 1, tickets: 1, addresses: 0 } });
    expect(await erase(['ada@example.com', '--reason', 'requested', '--yes'])).toMatchObject({ counts: { notifications: 1, tickets: 1 } });
    for (const eventId of [mine, byContact]) expect(await leftOf(eventId)).toEqual(['addresses', 'prints']);
    expect(await leftOf(theirs)).toContain('ticket');
    const feed = await readFeed(engine, { tenant: 'default', after: null, limit: 200 });
    expect(feed.kind === 'page' && feed.items.findLast((item) => item.event_id === mine)).toMatchObject({ erased_at: expect.any(String) });
    const explained = await runCli(['explain', mine], { env: env() });
    expect(explained.out).toMatch(/The player who wrote the ticket was erased/);
  });

  test('destroys reports with key and bytes, and not those that somebody else was sent too', async () => {
    const [who, other] = [person(), person()];
    const store = async (text: string) => {
      const stored = await storeArtifact(engine, { tenant: 'default', source: (async function* () { yield Buffer.from(text); })(), mediaType: 'text/plain', maxBytes: 100, expiresAt: engine.now() + 3_600_000, expectedSha256: null, requestId: 'r', actor: 'a' });
      return (stored as { artifact: { artifactId: string } }).artifact.artifactId;
    };
    const [own, shared] = [await store('mine'), await store('ours')];
    const [mine, theirs] = [await accept(who, { artifacts: [own, shared] }), await accept(other, { artifacts: [shared] })];
    await Promise.all([take(mine), take(theirs)]);
    const files = async () => (await readdir(join(folder, 'artifacts'), { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length;
    expect([await files(), await erase([who.ref, '--reason', 'requested', '--yes'])]).toMatchObject([2, { counts: { artifacts: 1, shared: 1 } }]);
    expect([await files(), await rows('SELECT artifact_id FROM artifact WHERE box IS NOT NULL')]).toEqual([1, [{ artifact_id: shared }]]);
    expect(await erase([other.ref, '--reason', 'requested', '--yes'])).toMatchObject({ counts: { artifacts: 1, shared: 0 } });
    expect(await files()).toBe(0);
  });

  test('keeps suppressions by their fingerprints, stays with its tenant, and says who else knows the person', async () => {
    const who = person();
    const eventId = await accept(who, { tenant: 'acme' });
    await take(eventId);
    await runCli(['suppress', 'add', '--channel', 'sms', '--address', who.sms, '--reason', 'requested', '--tenant', 'acme'], { env: env() });
    expect(await erase([who.sms, '--reason', 'requested', '--yes'])).toMatchObject({ done: false, other_tenants: ['acme'] });
    expect(await leftOf(eventId)).toContain('addresses');
    expect(await erase([who.sms, '--reason', 'requested', '--yes', '--tenant', 'acme'])).toMatchObject({ done: true, suppressions_kept: 1 });
    const again = await accept(who, { tenant: 'acme' });
    expect((await engine.load(again))?.state.steps[0]).toMatchObject({ channel: 'sms', phase: 'skipped', reason: 'suppressed' });
    // And who comes back is not erased again by what was asked before.
    await erase(['--reapply']);
    expect(await leftOf(again)).toContain('addresses');
  });

  test.each([
    [[], 'RECIPIENT is missing'], [['+12025550199'], '--reason is missing'], [['+12025550199', '--reason', 'his name is Bob'], '--reason must be one of'], [['+12025550199', '--reapply'], '--reapply takes no RECIPIENT'],
  ])('answers %j with exit code 2, and repeats nothing of it', async (line, said) => {
    const ran = await runCli(['erase', ...line], { env: env() });
    expect([ran.code, ran.out]).toEqual([2, '']);
    expect(ran.err).toContain(said);
    expect(ran.err).not.toMatch(/2025550199|Bob/);
  });

  test('leaves a ledger that verifies, with its checkpoints, also offline, and an export without it', async () => {
    const checkpoints = join(folder, 'checkpoints.jsonl');
    const who = person();
    const eventId = await accept(who);
    await take(eventId);
    await checkpointAt(engine, checkpoints, engine.now());
    await erase([who.ref, '--reason', 'requested', '--yes']);
    await checkpointAt(engine, checkpoints, engine.now() + 60_000);
    expect((await verifyAll(engine.db, { ring: engine.ring, file: checkpoints })).faults).toEqual([]);
    const path = join(folder, 'ledger.jsonl');
    const keys = publicKeysOf(engine.ring, CHECKPOINT_PURPOSE);
    await exportLedger(engine.db, { now: engine.now(), publicKeys: keys, write: (line) => appendFile(path, `${line}\n`) });
    const faults = collectFaults();
    await verifyExport(path, { faults, keys, checkpointFile: null });
    expect(faults.list).toEqual([]);
    const text = await readFile(path, 'utf8') + await readFile(file(), 'utf8');
    for (const trace of [who.ref, who.sms, who.email]) expect(text).not.toContain(trace);
  });
});

describe('an erasure that was broken off, or that a restore has undone', () => {
  const record = async (text: string, by: Engine = engine) => {
    const erasure = newErasure(by.ring, text, { tenant: 'default', at: by.now(), reason: 'requested', actor: 'test' });
    await recordErasure(by.db, erasure);
    return erasure;
  };
  const tickOn = async (by: Engine, path: string | null = file()): Promise<void> => {
    const duty = startErasures({ engine: by, file: path, actor: 'coordinator' });
    await duty.tick();
    await duty.close();
  };

  test('goes on after a kill between two batches, in a coordinator, and ends where it would have ended', async () => {
    const who = person();
    const events: string[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      events.push(await accept(who));
      await take(events[turn] as string);
    }
    const { erasureId } = await record(who.ref);
    const pages = Math.ceil((await rows('SELECT count(*)::int AS n FROM recipient'))[0].n / 2) - 1;
    const signal = await new Promise<unknown>((resolve) => {
      execFile(process.execPath, ['--import', 'tsx', MAIN, database.url, KEYS, erasureId, String(pages)], (error) => { resolve(error?.signal); });
    });
    expect(signal).toBe('SIGKILL');
    const left = await Promise.all(events.map((eventId) => leftOf(eventId)));
    expect(left.filter((one) => one.length === 0).length).toBeGreaterThan(0);
    expect(left.filter((one) => one.length > 0).length).toBeGreaterThan(0);
    await tickOn(engine);
    for (const eventId of events) expect(await leftOf(eventId)).toEqual([]);
    expect((await listErasures(engine.db)).find((one) => one.erasureId === erasureId)?.due).toBe(false);
    expect((await rows(`SELECT count(*)::int AS n FROM ledger_entry WHERE kind = 'PayloadDestroyed' AND event_id = ANY($1) AND body LIKE '%erasure%'`, [events]))[0].n).toBe(4);
  }, 60_000);

  test('is done again in an older copy of the database, by the file alone; doctor says so before, and a forged line counts for nothing', async () => {
    const [who, other] = [person(), person()];
    const [mine, theirs] = [await accept(who), await accept(other)];
    await take(theirs);
    await engine.close();
    const backup = await cloneDatabase(database);
    engine = await openEngine(database.url);
    const restored = await openEngine(backup.url);
    try {
      await erase([who.ref, '--reason', 'requested', '--yes', '--close']);
      expect([(await leftOf(mine)).length, (await leftOf(mine, restored)).length]).toEqual([0, 4]);
      const forged = newErasure((await openEngineWithOtherKeys(backup.url)).ring, other.ref, { tenant: 'default', at: engine.now(), reason: 'requested', actor: 'x' });
      await appendFile(file(), `${JSON.stringify({ erasure: forged.erasureId, tenant: 'default', at: forged.at, reason: 'requested', actor: 'x', reference: forged.referencePrint.toString('hex'), player: forged.playerPrint.toString('hex'), sms: null, email: null, mac: forged.mac.toString('hex') })}\n{"erasure":"ers_`);
      const finding = async () => (JSON.parse((await runCli(['doctor', '--json'], { env: env(backup.url) })).out) as { findings: { name: string; verdict: string; text: string }[] }).findings.find((one) => one.name === 'erasures');
      expect(await finding()).toMatchObject({ verdict: 'fault', text: expect.stringContaining('restored from before') });
      await tickOn(restored);
      expect(await leftOf(mine, restored)).toEqual([]);
      expect((await restored.load(mine))?.state.closed).toMatchObject({ reason: 'erased' });
      expect((await leftOf(theirs, restored)).length).toBeGreaterThan(0);
      expect((await verifyAll(restored.db, { ring: restored.ring })).faults).toEqual([]);
      expect(await finding()).toMatchObject({ verdict: 'fault', text: expect.stringContaining('none that this deployment wrote') });
      expect(await erase(['--reapply'], backup.url)).toMatchObject({ code: 0, done: true, counts: { notifications: 0 } });
    } finally {
      await restored.close();
      await backup.drop();
    }
  }, 60_000);

  const openEngineWithOtherKeys = async (url: string): Promise<Engine> => {
    const other = await createTestEngine({ url, ring: generateKeyRingText() });
    await other.close();
    return other;
  };
});

test('the database lets a recorded erasure be carried out and nothing else, for everyone', async () => {
  await expect(rows(`UPDATE erasure SET reason = 'other'`)).rejects.toThrow(/permission denied/);
  await expect(rows('DELETE FROM erasure')).rejects.toThrow(/permission denied/);
  await expect(rows(`UPDATE observation_raw SET box = '\\x00'::bytea, key_id = 'k', destroyed_at = NULL`)).rejects.toThrow(/destroyed once/);
  await expect(rows(`UPDATE ticket SET box = '\\x00'::bytea`)).rejects.toThrow(/erased once/);
});
