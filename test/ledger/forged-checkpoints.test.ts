import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startCheckpoints } from '../../services/coordinator/checkpoints.ts';
import type { Checkpoints } from '../../services/coordinator/checkpoints.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { readLine } from '../../shared/ledger/checkpoint.ts';
import { newestGenuine } from '../../shared/ledger/checkpoint-genuine.ts';
import { makeCheckpoints, withCheckpointLock } from '../../shared/ledger/checkpoint-make.ts';
import { streamCheckpoints } from '../../shared/ledger/checkpoint-read.ts';
import { followCheckpoints } from '../../shared/ledger/verify-checkpoint-chain.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';
import { signingKeyOf } from '../../shared/security/signing-key.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { checkpointAt, lives, verifyAll } from './verify-support.ts';

const KEYS = generateKeyRingText();
const ring = parseKeyRing(KEYS);
const MINUTE = 60_000;
const COLUMNS = 'INSERT INTO checkpoint (sequence, minute_at, part, snapshot, body, prev_hash, hash, key_id, signature)';
/** The row with the highest number, copied under another, with its signature. */
const COPY = `${COLUMNS} SELECT sequence + 1000, minute_at + interval '1 year', part, snapshot, body, prev_hash, hash, key_id, signature FROM checkpoint ORDER BY sequence DESC LIMIT 1`;
/** A row $1 numbers after the genuine one $4, chained to it, that says $2 and carries an old signature, or $3 in its place. */
const CHAINED = `${COLUMNS} SELECT sequence + $1::bigint, minute_at + interval '1 minute', part, snapshot, b.text, c.hash, sha256(c.hash || convert_to(b.text, 'UTF8')), key_id, coalesce($3::bytea, signature)
  FROM checkpoint c, LATERAL (SELECT coalesce($2::text, replace(c.body, '"sequence":' || c.sequence, '"sequence":' || c.sequence + 1)) AS text) b WHERE c.sequence = $4`;

let database: TestDatabase;
let folder: string;
let file: string;
let engine: Engine & { close: () => Promise<void> };
let coordinator: Checkpoints;
let now = Date.UTC(2026, 0, 1, 12, 0, 30);
const errors: { event: string; checkpoints: number[]; count: number }[] = [];
const log = createLogger({ service: 'test', level: 'error', redactPaths: [], destination: { write: (line) => { errors.push(JSON.parse(line)); } } });

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'tocsin-forged-'));
  file = join(folder, 'checkpoints.jsonl');
  engine = await createTestEngine({ url: database.url, ring: KEYS, log });
  coordinator = startCheckpoints({ engine: { ...engine, now: () => now }, file });
  for (let turn = 0; turn < 3; turn += 1) await minute();
});
afterAll(async () => {
  await coordinator.close();
  await engine.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

/** Something is appended, a minute passes, the coordinator has its turn. */
const minute = async (): Promise<number> => {
  await lives(engine, 1);
  now += MINUTE;
  return coordinator.tick();
};
const forge = (text: string, values: unknown[] = []) => engine.db.pool.query(text, values);
const inFile = async (path = file) => (await readFile(path, 'utf8')).trimEnd().split('\n').map((line) => readLine(line)?.sequence);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const signature = (byte: number) => Buffer.alloc(64, byte);
let genuine = 3;

describe('what the application\'s role inserts among the checkpoints', () => {
  const forgeries: [string, () => Promise<unknown>, string[]][] = [
    ['a copy a thousand numbers on and a year ahead', () => forge(COPY), ['checkpoint 1004 checkpoint.sequence']],
    ['a row with the next number, a right hash and an old signature', () => forge(CHAINED, [1, null, null, genuine]), ['checkpoint 8 checkpoint.signature']],
    ['rows with the next numbers that come before and after the genuine one, and say nothing that can be read', async () => {
      for (const byte of [0, 255]) for (const step of [1, 2, 3]) await forge(CHAINED, [step, 'no json', signature(byte), genuine]);
    }, ['checkpoint 11 checkpoint.signature', 'checkpoint 12 checkpoint.signature', 'checkpoint 13 checkpoint.signature']],
    ['a minute that is none, under the last number there is', () => forge(`${COLUMNS} SELECT 9223372036854775807, 'infinity'::timestamptz, 1, 'x', '{"snapshot":"9:1:"}', hash, sha256(hash || convert_to('{"snapshot":"9:1:"}', 'UTF8')), key_id, signature FROM checkpoint WHERE sequence = 1`), ['checkpoint 9223372036854776000 checkpoint.signature']],
    ['a second row of the first number', () => forge(`${COLUMNS} SELECT 1, minute_at, part, snapshot, body, prev_hash, hash, key_id, $1::bytea FROM checkpoint WHERE sequence = 1`, [signature(0)]), ['checkpoint 1 checkpoint.signature']],
    ['the minute that comes next', () => forge(`${COLUMNS} SELECT 5000, $1::timestamptz, 1, snapshot, body, prev_hash, hash, key_id, signature FROM checkpoint WHERE sequence = 1`, [new Date(now - now % MINUTE + MINUTE)]), ['checkpoint 5000 checkpoint.sequence']],
  ];

  test.each(forgeries)('%s: genuine ones go on, the file holds only those, verify names it, and an error tells it once', async (_name, insert, places) => {
    const told = errors.length;
    await minute();
    genuine += 1;
    await insert();
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await minute()).toBe(1);
      genuine += 1;
    }
    expect(await inFile()).toEqual(upTo(genuine));
    expect(errors.slice(told).map((line) => line.event)).toEqual(['checkpoint.forged']);
    expect((await verifyAll(engine.db, { ring, file })).places).toEqual(expect.arrayContaining(places));
  });

  test('a coordinator that comes later goes on from the newest genuine one, and writes a whole file of genuine ones only', async () => {
    const late = join(folder, 'late.jsonl');
    await lives(engine, 1);
    now += MINUTE;
    expect(await checkpointAt(engine, late, now)).toBe(1);
    genuine += 1;
    expect(await inFile(late)).toEqual(upTo(genuine));
    expect(await minute()).toBe(1);
    genuine += 1;
    expect(await inFile()).toEqual(upTo(genuine));
  });

  test('no genuine one is blamed, none counts as missing, and what they cover is told from the genuine ones', async () => {
    const { places, checkpoints } = await verifyAll(engine.db, { ring, file });
    const forged = /^checkpoint (1|8|11|12|13|1004|5000|9223372036854776000) checkpoint\.(signature|sequence|minute_at|snapshot|part|body)$/;
    expect(places.filter((place) => !forged.test(place))).toEqual([]);
    expect(checkpoints).toMatchObject({ youngerEntries: 0, inFile: genuine, lastMinuteAt: now - now % MINUTE });
  });

  test.each([
    { snapshot: '9:1:' }, { snapshot: '1:99999999999999999999:' }, { since: '5:9:7,6' }, { minute_at: 9e15 }, { runs: [['evt_\u0000', 1, 1, '0'.repeat(64), '0'.repeat(64)]] }, { runs: [['evt_1', 1, 2 ** 40, '0'.repeat(64), '0'.repeat(64)]] },
  ])('one that says %j is a finding also where no key is at hand, and ends nothing', async (said) => {
    const { rows: [row] } = await forge('SELECT body, hash FROM checkpoint WHERE sequence = $1', [genuine]);
    const text = JSON.stringify({ ...JSON.parse(row.body), sequence: 6000, ...said });
    // Undone at the end: what follows asks for the rows that stand.
    const client = await engine.db.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(`${COLUMNS} VALUES (6000, $1, 9, '1:1:', $2, $3, sha256($3::bytea || convert_to($2, 'UTF8')), 'k', $4)`, [new Date(now), text, row.hash, signature(6)]);
      const faults = collectFaults();
      const chain = followCheckpoints({ where: 'checkpoint', faults, keys: null });
      for await (const one of streamCheckpoints(client, 5999)) expect(chain.next(one)).toBeNull();
      expect(faults.list.map((fault) => fault.column)).toContain('checkpoint.body');
      expect(await newestGenuine(client, null)).toMatchObject({ sequence: expect.any(Number) });
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  test('a file into which a forged line came before goes on with the genuine ones', async () => {
    const spoilt = join(folder, 'spoilt.jsonl');
    const line = (await readFile(file, 'utf8')).split('\n')[0] as string;
    await appendFile(spoilt, await readFile(file, 'utf8'));
    await appendFile(spoilt, `${line.replace('"sequence":1,', '"sequence":1016,')}\n`);
    await minute();
    genuine += 1;
    await checkpointAt(engine, spoilt, now);
    expect((await inFile(spoilt)).slice(-2)).toEqual([1016, genuine]);
    const { places } = await verifyAll(engine.db, { ring, file: spoilt });
    expect(places.filter((place) => place.includes('file'))).toEqual(['checkpoint 1016 checkpoint file.signature']);
  });

  test('a genuine one of a clock that was a year ahead holds up nothing after the clock is put right', async () => {
    await lives(engine, 1);
    const key = signingKeyOf(ring, 'checkpoint');
    expect(await withCheckpointLock(engine.db, (asker) => makeCheckpoints(asker, { now: now + 365 * 24 * 60 * MINUTE, key }))).toBe(1);
    expect(await minute()).toBe(1);
    genuine += 2;
    expect(await inFile()).toEqual(upTo(genuine));
  });
});
