import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startCheckpoints } from '../../services/coordinator/checkpoints.ts';
import { inputFor } from '../../shared/delivery/decide-and-append.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { decide } from '../../shared/domain/decide.ts';
import { appendGroup } from '../../shared/ledger/append-group.ts';
import type { Statement } from '../../shared/ledger/database.ts';
import { toAppend } from '../../shared/ledger/rows.ts';
import { readBody, readLine } from '../../shared/ledger/checkpoint.ts';
import { makeCheckpoints, withCheckpointLock } from '../../shared/ledger/checkpoint-make.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { signingKeyOf } from '../../shared/security/signing-key.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { checkpointAt, lives, verifyAll, withClient } from './verify-support.ts';

const KEYS = generateKeyRingText();
const ring = parseKeyRing(KEYS);
const MINUTE = 60_000;

let database: TestDatabase;
let folder: string;
let engine: Engine & { close: () => Promise<void> };
let now = Date.UTC(2026, 0, 1, 12, 0, 30);
beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'tocsin-checkpoints-'));
  engine = await createTestEngine({ url: database.url, ring: KEYS });
});
afterAll(async () => {
  await engine.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

const linesOf = async (file: string) => (await readFile(file, 'utf8')).trimEnd().split('\n').map(readLine);
const minutes = async (): Promise<number[]> => (await engine.db.prisma.checkpoint.findMany({ orderBy: { sequence: 'asc' } })).map((row) => row.minuteAt.getTime());

describe('checkpoints', () => {
  test('two coordinators make one a minute, and each keeps a whole copy of its own', async () => {
    const other = openDatabase({ url: database.url, poolSize: 2 });
    const files = [join(folder, 'a', 'one.jsonl'), join(folder, 'b', 'two.jsonl')] as const;
    const coordinators = [startCheckpoints({ engine: { ...engine, now: () => now }, file: files[0] }), startCheckpoints({ engine: { ...engine, db: other, now: () => now + 200 }, file: files[1] })];
    const round = async (): Promise<number> => (await Promise.all(coordinators.flatMap((one) => [one.tick(), one.tick()]))).reduce((sum, made) => sum + made, 0);
    await lives(engine, 3);
    expect(await round()).toBe(1);
    await lives(engine, 3);
    expect(await round()).toBe(0);
    now += MINUTE;
    expect(await round()).toBe(1);
    // One minute with nothing in it, then one with something.
    now += MINUTE;
    expect(await round()).toBe(0);
    now += MINUTE;
    await lives(engine, 1);
    expect(await round()).toBe(1);
    expect((await minutes()).map((at) => (at - (now - now % MINUTE)) / MINUTE)).toEqual([-3, -2, 0]);
    for (const path of files) {
      expect((await linesOf(path)).map((line) => line?.sequence)).toEqual([1, 2, 3]);
      expect((await verifyAll(engine.db, { ring, file: path })).faults).toEqual([]);
    }
    await Promise.all(coordinators.map((one) => one.close()));
    await other.close();
  });

  test('a coordinator that comes later, or lost its file, writes the whole copy; one that shares it adds nothing', async () => {
    const file = join(folder, 'late.jsonl');
    await checkpointAt(engine, file, now);
    await checkpointAt(engine, file, now);
    expect((await linesOf(file)).map((line) => line?.sequence)).toEqual([1, 2, 3]);
  });

  test('a line that a crash left unfinished is written again', async () => {
    const file = join(folder, 'torn.jsonl');
    await checkpointAt(engine, file, now);
    const whole = await readFile(file, 'utf8');
    await rm(file);
    await appendFile(file, whole.slice(0, whole.length - 40));
    await checkpointAt(engine, file, now);
    expect(await readFile(file, 'utf8')).toBe(whole);
  });

  test('entries of a transaction that still runs are left to a later one, those of younger ones are not, and none is ever skipped', async () => {
    const file = join(folder, 'running.jsonl');
    const last = async () => readBody((await linesOf(file)).at(-1)?.body ?? '')?.runs.map((run) => run[0]).sort();
    const slow = (await lives(engine, 1))[0] as string;
    now += MINUTE;
    await checkpointAt(engine, file, now);
    const ids = await withClient(database.url, async (client) => {
      await client.query('BEGIN');
      // Its transaction and its position are older than those that end before it; a position drawn in vain leaves a gap.
      await client.query(`SELECT pg_current_xact_id(), nextval('ledger_position')`);
      const made = await lives(engine, 2);
      const loaded = await engine.load(slow);
      if (!loaded) throw new Error('not loaded');
      const bound = await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
      const append = toAppend(decide({ kind: 'close', reason: 'taken' }, loaded.state, inputFor(engine, loaded, bound)), { before: loaded.state, prevHash: loaded.headHash, provenance: { actor: 'test', requestId: 'r' } });
      const db = { ...engine.db, query: async (statement: Statement, values: unknown[]) => (await client.query({ ...statement, values })).rows } as typeof engine.db;
      expect((await appendGroup(db, [append])).size).toBe(1);
      now += MINUTE;
      expect(await checkpointAt(engine, file, now)).toBe(1);
      expect(await last()).toEqual(made.sort());
      await client.query('COMMIT');
      return made;
    });
    expect((await verifyAll(engine.db, { ring, file })).checkpoints.youngerEntries).toBeGreaterThan(0);
    now += MINUTE;
    expect(await checkpointAt(engine, file, now)).toBe(1);
    expect(await last()).toEqual([slow]);
    expect(ids).not.toContain(slow);
    const { faults, checkpoints } = await verifyAll(engine.db, { ring, file });
    expect(faults).toEqual([]);
    expect(checkpoints.youngerEntries).toBe(0);
  });

  test('a backlog becomes several of one minute, which together cover everything once', async () => {
    const before = (await minutes()).length;
    await lives(engine, 6);
    now += MINUTE;
    const made = await withCheckpointLock(engine.db, (asker) => makeCheckpoints(asker, { now, key: signingKeyOf(ring, 'checkpoint'), entriesEach: 5 }));
    expect(made).toBeGreaterThan(2);
    expect((await minutes()).length).toBe(before + made);
    const { faults, checkpoints, counts } = await verifyAll(engine.db, { ring });
    expect(faults).toEqual([]);
    expect(checkpoints.youngerEntries).toBe(0);
    const bodies = (await engine.db.prisma.checkpoint.findMany()).map((row) => readBody(row.body));
    expect(bodies.reduce((sum, body) => sum + (body?.entries ?? 0), 0)).toBe(counts.entries);
  });

  test('those signed before a rotation of the keys still count, and a stranger\'s do not', async () => {
    await lives(engine, 1);
    now += MINUTE;
    const rotated = parseKeyRing(`${generateKeyRingText('k2')},${KEYS}`);
    await checkpointAt({ ...engine, ring: rotated }, join(folder, 'rotated.jsonl'), now);
    expect((await verifyAll(engine.db, { ring: rotated })).faults).toEqual([]);
    const last = (await minutes()).length;
    expect((await verifyAll(engine.db, { ring })).places).toEqual([`checkpoint ${last} checkpoint.signature`]);
  });

  test.each(['UPDATE checkpoint SET part = part', 'DELETE FROM checkpoint', 'TRUNCATE checkpoint'])('the database refuses %s, to the application and to the owner', async (statement) => {
    await expect(engine.db.pool.query(statement)).rejects.toThrow(/permission denied|append-only/);
    await expect(withClient(database.url, (client) => client.query(statement))).rejects.toThrow(/append-only/);
  });
});
