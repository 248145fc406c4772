import { createHash } from 'node:crypto';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startRetention } from '../../services/coordinator/retention.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { readFeed } from '../../shared/delivery/read-feed.ts';
import { eraseTicketsPastRetention, findRetained, removePastRetention } from '../../shared/delivery/remove-retained.ts';
import { sweepDecisions } from '../../shared/delivery/sweep.ts';
import { CHECKPOINT_PURPOSE } from '../../shared/ledger/checkpoint.ts';
import { exportLedger } from '../../shared/ledger/export.ts';
import { ensurePartitions } from '../../shared/ledger/partitions.ts';
import { removeRetained } from '../../shared/ledger/retention.ts';
import { headsDigest, signTombstone } from '../../shared/ledger/tombstone.ts';
import { verifyExport } from '../../shared/ledger/verify-export.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { publicKeysOf, signingKeyOf } from '../../shared/security/signing-key.ts';
import { run as runCli } from '../cli/support.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { checkpointAt, cloneDatabase, tamper, verifyAll, withClient } from './verify-support.ts';

const KEYS = generateKeyRingText();
const DAY = 24 * 3_600_000;
const MARCH = Date.UTC(2024, 2, 10, 12);
const APRIL = Date.UTC(2024, 3, 10, 12);
/** 400 days after the end of March, and not after that of April. */
const LATER = Date.UTC(2025, 4, 10);
let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };
let folder: string;
let now = MARCH;
/** The last of April. */
let late = '';
const events: Record<'march' | 'april' | 'code', string[]> = { march: [], april: [], code: [] };

const open = async (url: string) => createTestEngine({ url, ring: KEYS, now: () => now });
const accept = async (over: Partial<AcceptRequest> = {}): Promise<string> => {
  const outcome = await acceptNotification(engine, urgentRequest('03', over));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  await closeNotification(engine, { tenant: null, eventId: outcome.eventId, reason: 'taken', actor: 'test', requestId: 'r' });
  return outcome.eventId;
};
const rows = (text: string, values: unknown[] = []) => engine.db.pool.query(text, values).then((result) => result.rows);
const sweepAll = async (): Promise<void> => { while ((await rows('SELECT 1 FROM notification_state WHERE decide_at <= $1', [new Date(now)])).length > 0) await sweepDecisions(engine, 'test'); };
const checkpoints = (): string => join(folder, 'checkpoints.jsonl');
const env = (url = database.url) => ({ DATABASE_URL: url, TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: folder, CHECKPOINT_FILE: checkpoints() });
const keys = publicKeysOf(parseKeyRing(KEYS), CHECKPOINT_PURPOSE);
const TABLES = ['notification', 'notification_state', 'ledger_entry', 'attempt', 'recipient', 'sealed_payload', 'ticket', 'observation_raw', 'dead_letter', 'report_link', 'lost_race', 'outbox', 'alert', 'payload_shown'];
const countOf = async (ids: readonly string[]): Promise<Record<string, number>> => {
  const counts = await Promise.all(TABLES.map(async (table) => [table, (await rows(`SELECT count(*)::int AS n FROM ${table} WHERE event_id = ANY($1)`, [ids]))[0].n] as const));
  return Object.fromEntries(counts.filter(([, n]) => n > 0));
};

/** What stands beside a notification elsewhere, so that nothing is forgotten when it goes. */
const surround = (eventId: string): Promise<unknown> => withClient(database.url, async (client) => {
  const artifact = `art_${eventId.slice(4)}`;
  const print = createHash('sha256').update(eventId).digest();
  await client.query(`INSERT INTO artifact VALUES ($1, 'default', $4, 1, 'text/plain', 'k1', '\\x00', $2, $3, 'r', 'a')`, [artifact, new Date(now), new Date(now + DAY), print]);
  const { rows: [link] } = await client.query(`INSERT INTO report_link (token_hash, event_id, artifact_id, channel, expires_at) VALUES ($4, $1, $2, 'sms', $3) RETURNING link_id`, [eventId, artifact, new Date(now), print]);
  await client.query(`INSERT INTO report_access (link_id, action, result, at, request_id, client) VALUES ($1, 'page', 'asked', $2, 'r', '\\x00'), (NULL, 'page', 'asked', $2, 'r', '\\x00')`, [link.link_id, new Date(now)]);
  const { rows: [letter] } = await client.query(`INSERT INTO dead_letter (attempt_key, event_id, channel, reason, created_at, resolved_at, resolution) VALUES ($3, $1, 'sms', 'x', $2, $2, 'closed') RETURNING id`, [eventId, new Date(now), `${eventId}.sms.1`]);
  await client.query(`INSERT INTO dead_letter_request (dead_letter_id, action, actor, reason, requested_at, handled_at, result) VALUES ($1, 'retry', 'a', 'checked', $2, $2, 'closed')`, [letter.id, new Date(now)]);
  await client.query(`INSERT INTO lost_race (event_id, at, actor, request_id, decided_on, found) VALUES ($1, $2, 'a', 'r', 1, 2)`, [eventId, new Date(now)]);
  await client.query(`INSERT INTO payload_shown (event_id, at, actor, means, reason) VALUES ($1, $2, 'a', 'replay-render', 'checked')`, [eventId, new Date(now)]);
  const { rows: [alert] } = await client.query(`INSERT INTO alert (dedup_key, kind, purpose, event_id, facts, raised_at, seen_at, ended_at) VALUES ($1, 'at_risk', 'p', $1, '{}', $2, $2, $2) RETURNING id`, [eventId, new Date(now)]);
  await client.query(`INSERT INTO alert_post (alert_id, receiver) VALUES ($1, 'webhook')`, [alert.id]);
  await client.query(`INSERT INTO throttled_start VALUES ($1, 'default', 'sms', 'p', $2, $3)`, [`${eventId}.sms.1`, print, new Date(now)]);
  await client.query(`INSERT INTO suppression (tenant, channel, address_print, sender_print, reason, source, at, actor, event_id) VALUES ('default', 'sms', $3, '', 'stop', 'stop', $2, 'a', $1)`, [eventId, new Date(now), print]);
});

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'retention-'));
  engine = await open(database.url);
  await ensurePartitions(engine.db, MARCH);
  const consent = { ...urgentRequest().recipient, consent: [] };
  for (let turn = 0; turn < 3; turn += 1) {
    now = MARCH + turn * 60_000;
    events.march.push(await accept(turn === 0 ? { ticket: { category: 'c', region: 'US', locale: 'en', queue: 'q', urgency: 'urgent', receiptToken: 't', sealed: { message: 'm', playerRef: 'p', contact: { sms: null, email: null } } } } : {}));
    events.code.push(await accept({ purpose: 'report-code', recipient: consent, variables: () => ({ code: '123456' }) }));
  }
  await surround(events.march[0] as string);
  now = APRIL;
  events.april.push(await accept());
  await checkpointAt(engine, checkpoints(), now);
}, 60_000);
afterAll(async () => {
  await engine.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

describe('what is past its retention', () => {
  test('is looked for in every table that names a notification', async () => {
    const naming = await rows("SELECT DISTINCT conrelid::regclass::text AS name FROM pg_constraint WHERE contype = 'f' AND confrelid = 'notification'::regclass AND conparentid = 0 ORDER BY 1");
    // A suppression goes on to hold, without what it rested on.
    expect(naming.map(({ name }) => name as string).filter((name) => name !== 'suppression' && !TABLES.includes(name))).toEqual([]);
  });

  test('is found by month and purpose, and waits as long as anything of it is still due', async () => {
    now = Date.UTC(2024, 4, 5);
    const found = await findRetained(engine);
    expect(found).toEqual([expect.objectContaining({ month: '2024-03', purpose: 'report-code', notifications: 3, held: 3 })]);
    expect((await removePastRetention(engine)).map((one) => one.removed)).toEqual([0]);
    await sweepAll();
    expect(await findRetained(engine)).toEqual([expect.objectContaining({ purpose: 'report-code', notifications: 3, held: 0 })]);
  });

  test('is removed with all that stands beside it, and nothing younger; by a purpose\'s own time; a suppression goes on to hold', async () => {
    expect(await removePastRetention(engine)).toEqual([expect.objectContaining({ month: '2024-03', purpose: 'report-code', removed: 3, dropped: false })]);
    expect(await countOf(events.code)).toEqual({});
    now = LATER;
    await sweepAll();
    const kept = await countOf(events.april);
    const shown = await runCli(['ledger', 'retention', '--dry-run'], { env: env() });
    expect([shown.code, shown.out]).toEqual([0, expect.stringMatching(/2024-03 +game-support-urgent +3 +would be removed/)]);
    expect(Object.keys(await countOf(events.march))).toEqual(expect.arrayContaining(['ledger_entry', 'report_link', 'dead_letter', 'lost_race']));
    await checkpointAt(engine, checkpoints(), now);
    const duty = startRetention(engine);
    expect(await duty.tick()).toBe(3);
    await duty.close();
    expect([await countOf(events.march), await countOf(events.april)]).toEqual([{}, kept]);
    expect(await rows('SELECT event_id, removed_at FROM suppression')).toEqual([{ event_id: null, removed_at: null }]);
    expect(await rows('SELECT count(*)::int AS n FROM report_access')).toEqual([{ n: 1 }]);
    expect(await rows('SELECT 1 FROM throttled_start UNION ALL SELECT 1 FROM alert_post')).toEqual([]);
  });

  test('gives back the room of its month, and is not looked for again', async () => {
    expect(await rows(`SELECT to_regclass('ledger_entry_2024_03') IS NULL AS march, to_regclass('ledger_entry_2024_04') IS NULL AS april`)).toEqual([{ march: true, april: false }]);
    expect(await findRetained(engine)).toEqual([]);
  });

  test('leaves a ledger that verifies against its checkpoints and the file, and says what was removed', async () => {
    const verified = await verifyAll(engine.db, { ring: engine.ring, file: checkpoints() });
    expect([verified.faults, verified.checkpoints]).toEqual([[], expect.objectContaining({ tombstones: 2, removed: 6 })]);
    const ran = await runCli(['ledger', 'verify'], { env: env() });
    expect([ran.code, ran.out]).toEqual([0, expect.stringContaining('6 notifications were removed past their retention, under 2 tombstone(s)')]);
    const one = await runCli(['ledger', 'verify', events.march[0] as string], { env: env() });
    expect([one.code, one.err]).toEqual([1, expect.stringMatching(/was removed past its retention, at 2025-05-1.* under tombstone 2/)]);
    const feed = await readFeed(engine, { tenant: 'default', after: null, limit: 200 });
    expect(feed.kind === 'page' && [...new Set(feed.items.map((item) => item.event_id))]).toEqual(events.april);
  });

  test('takes the tickets with it, and those of a month that waits are erased at their own time', async () => {
    now = APRIL;
    const ticket = late = await accept({ ticket: { category: 'c', region: 'US', locale: 'en', queue: 'q', urgency: 'urgent', receiptToken: 't2', sealed: { message: 'm', playerRef: 'p', contact: { sms: null, email: null } } } });
    now = APRIL + 400 * DAY - 1;
    expect(await eraseTicketsPastRetention(engine)).toBe(0);
    now = APRIL + 400 * DAY;
    expect(await eraseTicketsPastRetention(engine)).toBe(1);
    expect(await rows('SELECT box, erased_at FROM ticket WHERE event_id = $1', [ticket])).toEqual([{ box: null, erased_at: new Date(now) }]);
    now = LATER;
    await checkpointAt(engine, checkpoints(), now + 10 * 60_000);
  });
});

describe('the database', () => {
  const stoneFor = async (ids: readonly string[], over: Record<string, unknown> = {}) => {
    const heads = (await rows(`SELECT event_id, version, encode(head_hash, 'hex') AS hash FROM notification_state WHERE event_id = ANY($1) ORDER BY event_id`, [ids])).map((row) => ({ eventId: row.event_id, version: row.version, hash: row.hash }));
    const [span] = await rows('SELECT count(*)::int AS n, min(position)::text AS first, max(position)::text AS last FROM ledger_entry WHERE event_id = ANY($1)', [ids]);
    return signTombstone(signingKeyOf(engine.ring, CHECKPOINT_PURPOSE), {
      month: '2024-04', purpose: 'game-support-urgent', classification: 'transactional', removed_at: now, notifications: ids.length, entries: span.n, first_position: span.first, last_position: span.last,
      first_event: ids[0] as string, last_event: ids.at(-1) as string, heads: headsDigest(heads), ...over,
    });
  };

  test('refuses to remove what is younger than its retention, whatever the caller says the time is', async () => {
    await expect(removeRetained(engine.db, events.april, { now: LATER, stone: await stoneFor(events.april) })).rejects.toThrow(/younger than its retention/);
    now = Date.now();
    const young = await accept();
    now += 30 * DAY + 401 * DAY;
    await sweepAll();
    const month = new Date((await rows('SELECT requested_at FROM notification WHERE event_id = $1', [young]))[0].requested_at).toISOString().slice(0, 7);
    await expect(removeRetained(engine.db, [young], { now, stone: await stoneFor([young], { month }) })).rejects.toThrow(/younger than its retention/);
    now = LATER;
  });

  test.each([['counts', { notifications: 2 }], ['entries', { entries: 1 }], ['positions', { last_position: '9999999' }], ['heads', { heads: 'ab'.repeat(32) }], ['month', { month: '2024-03' }], ['purpose', { purpose: 'password-reset' }]])('refuses a tombstone that tells other %s than it finds', async (_, over) => {
    now = APRIL + 420 * DAY;
    await sweepAll();
    await expect(removeRetained(engine.db, events.april, { now, stone: await stoneFor(events.april, over) })).rejects.toThrow(/not removed/);
  });

  test.each(['DELETE FROM ledger_entry', 'DELETE FROM notification', 'DELETE FROM lost_race', 'DELETE FROM report_access', 'DELETE FROM tombstone_head', 'DELETE FROM ledger_tombstone', `UPDATE ledger_tombstone SET body = '{}'`])('refuses %s to the application, and to the owner', async (statement) => {
    await expect(rows(statement)).rejects.toThrow(/permission denied/);
    await withClient(database.url, (client) => client.query(`INSERT INTO lost_race (event_id, at, actor, request_id, decided_on, found) VALUES ('x', now(), 'a', 'r', 1, 2)`));
    await expect(withClient(database.url, (client) => client.query(statement))).rejects.toThrow(/append-only/);
  });

  test('lets the application bury nothing by itself', async () => {
    await expect(rows(`INSERT INTO ledger_tombstone (at, body, key_id, signature) VALUES (now(), '{}', 'k', sha256('') || sha256(''))`)).rejects.toThrow(/permission denied/);
    await expect(rows(`INSERT INTO tombstone_head VALUES ('x', 1, 1, '\\x00')`)).rejects.toThrow(/permission denied/);
  });
});

describe('verify finds', () => {
  // One copy for all: each is looked for beside what was spoilt before.
  let copy: TestDatabase;
  let spoiltEngine: Awaited<ReturnType<typeof open>>;
  beforeAll(async () => {
    await engine.close();
    copy = await cloneDatabase(database);
    engine = await open(database.url);
    spoiltEngine = await open(copy.url);
  });
  afterAll(async () => {
    await spoiltEngine.close();
    await copy.drop();
  });
  const spoilt = async (spoil: (url: string) => Promise<unknown>): Promise<string[]> => {
    await spoil(copy.url);
    return (await verifyAll(spoiltEngine.db, { ring: spoiltEngine.ring, file: checkpoints() })).faults.map((fault) => `${fault.eventId ?? ''} ${fault.column} ${fault.text}`);
  };
  const [, ...BESIDE] = TABLES;
  const erase = (client: { query: (text: string, values: unknown[]) => Promise<unknown> }, eventId: string) => [...BESIDE, 'notification'].reduce((before, table) => before.then(() => client.query(`DELETE FROM ${table} WHERE event_id = $1`, [eventId])), Promise.resolve() as Promise<unknown>);

  test('a removal without a tombstone', async () => {
    const [eventId = ''] = events.april;
    expect(await spoilt((url) => tamper(url, (client) => erase(client, eventId)))).toContainEqual(expect.stringMatching(new RegExp(`${eventId} version is missing, and checkpoint 1 .* it was deleted`)));
  });

  test('a tombstone that somebody else signed, and what it would have covered', async () => {
    const eventId = late;
    const faults = await spoilt((url) => tamper(url, async (client) => {
      const { rows: [head] } = await client.query(`SELECT version, encode(head_hash, 'hex') AS hash, head_hash FROM notification_state WHERE event_id = $1`, [eventId]);
      const stone = signTombstone(signingKeyOf(parseKeyRing(generateKeyRingText()), CHECKPOINT_PURPOSE), { month: '2024-04', purpose: 'game-support-urgent', classification: 'transactional', removed_at: now, notifications: 1, entries: head.version, first_position: '1', last_position: '2', first_event: eventId, last_event: eventId, heads: headsDigest([{ eventId, version: head.version, hash: head.hash }]) });
      const { rows: [made] } = await client.query('INSERT INTO ledger_tombstone (at, body, key_id, signature) VALUES (now(), $1, $2, $3) RETURNING tombstone_id', [stone.body, stone.keyId, stone.signature]);
      await client.query('INSERT INTO tombstone_head VALUES ($1, $2, $3, $4)', [eventId, made.tombstone_id, head.version, head.head_hash]);
      await erase(client, eventId);
    }));
    expect(faults).toContainEqual(expect.stringMatching(/tombstone\.signature of tombstone \d+ is not one of a key of this deployment/));
    expect(faults).toContainEqual(expect.stringMatching(new RegExp(`${eventId} version is missing`)));
  });

  test.each([
    ['a head that was added to a genuine one', `INSERT INTO tombstone_head SELECT '${'evt_'}00000000000000000000000000', 1, 1, '\\x00'`, /tombstone\.heads of tombstone 1 the notifications it names are not those that were signed/],
    ['a head that was changed', `UPDATE tombstone_head SET head_hash = '\\x00' WHERE tombstone_id = 2`, /tombstone\.heads of tombstone 2/],
    ['a text that was changed', `UPDATE ledger_tombstone SET body = replace(body, '2024-03', '2024-02') WHERE tombstone_id = 2`, /tombstone\.signature of tombstone 2/],
    ['a tombstone that was taken away', `DELETE FROM tombstone_head WHERE tombstone_id = 2`, new RegExp(`^${'evt_'}[0-9A-Z]+ version is missing, and checkpoint 1 `)],
  ] as const)('%s', async (_, statement, said) => {
    expect(await spoilt((url) => tamper(url, (client) => client.query(statement)))).toContainEqual(expect.stringMatching(said));
  });

  test('the same in an export, without the database', async () => {
    const path = join(folder, 'ledger.jsonl');
    await exportLedger(engine.db, { now, publicKeys: keys, write: (line) => appendFile(path, `${line}\n`) });
    const text = await readFile(path, 'utf8');
    const check = async (changed: string): Promise<string[]> => {
      await writeFile(path, changed);
      const faults = collectFaults();
      await verifyExport(path, { faults, keys, checkpointFile: checkpoints() });
      return faults.list.map((fault) => `${fault.eventId ?? ''} ${fault.column} ${fault.text}`);
    };
    expect(text).toContain('"format":2');
    expect(await check(text)).toEqual([]);
    expect(await check(text.replace(/\{"kind":"tombstone".*\n/, ''))).toContainEqual(expect.stringMatching(/version is missing, and checkpoint/));
    expect(await check(text.replace(/(\{"kind":"tombstone".*\[\["evt_[0-9A-Z]+",)\d+/, '$199'))).toContainEqual(expect.stringMatching(/tombstone\.heads of tombstone 1/));
  });
});
