import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { addressPrint } from '../../shared/delivery/suppression.ts';
import { insertApiKey } from '../../shared/ledger/api-keys.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import type { HeardWord, WordResult } from '../../shared/ledger/inbound-words.ts';
import { claimInbound, finishInbound, hearWord, inheritStops } from '../../shared/ledger/inbound-words.ts';
import { insertSuppression } from '../../shared/ledger/suppressions.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';

let database: TestDatabase;
let engine: Awaited<ReturnType<typeof createTestEngine>>;
const NOW = Date.parse('2026-11-30T10:00:00Z');
beforeAll(async () => {
  database = await createTestDatabase();
  engine = await createTestEngine({ url: database.url, now: () => NOW });
  await insertApiKey(engine.db, { id: 'k1', hash: Buffer.alloc(32, 1), tenant: 'acme', label: 'x', now: NOW });
});
afterAll(async () => {
  await engine.close();
  await database.drop();
});

const SENDER = (): Buffer => Buffer.from(engine.senderPrints.sms ?? '', 'hex');
let people = 0;
const aPerson = (): Buffer => {
  people += 1;
  return addressPrint(engine.ring, 'sms', `+1202555${String(3_000 + people)}`);
};
let messages = 0;
const word = (print: Buffer, kind: HeardWord['word'], more: Partial<HeardWord> = {}): Promise<WordResult | null> => {
  messages += 1;
  return hearWord(engine.db, { provider: 'twilio', senderPrint: SENDER(), messageId: `SM${messages}`, word: kind, addressPrint: print, receivedAt: NOW + messages * 1_000, now: NOW, ...more });
};
const listed = async (print: Buffer) => (await engine.db.pool.query(
  'SELECT tenant, source, reason, removed_reason AS removed FROM suppression WHERE address_print = $1 ORDER BY tenant COLLATE "C", id', [print])).rows as Record<string, unknown>[];
const STANDING = { source: 'stop', reason: 'stop_word', removed: null };

test('a stop suppresses for every tenant, once however often its message is read; a start takes it back, and says so', async () => {
  const person = aPerson();
  expect([await word(person, 'stop', { messageId: 'a' }), await word(person, 'stop', { messageId: 'a' }), await word(person, 'stop')]).toEqual(['suppressed', null, 'standing']);
  expect(await listed(person)).toEqual([{ tenant: 'acme', ...STANDING }, { tenant: 'default', ...STANDING }]);
  expect([await word(person, 'start', { messageId: 'b' }), await word(person, 'start', { messageId: 'b' }), await word(person, 'start')]).toEqual(['lifted', null, 'nothing']);
  expect(await listed(person)).toEqual([{ tenant: 'acme', ...STANDING, removed: 'resubscribed' }, { tenant: 'default', ...STANDING, removed: 'resubscribed' }]);
  expect(await word(person, 'stop')).toBe('suppressed');
});

test('what was said last counts, in whatever order it is read', async () => {
  const person = aPerson();
  expect([await word(person, 'start', { receivedAt: NOW + 50 }), await word(person, 'stop', { receivedAt: NOW + 40 })]).toEqual(['nothing', 'outdated']);
  expect(await listed(person)).toEqual([]);
  expect(await word(aPerson(), 'stop', { receivedAt: NOW + 40 })).toBe('suppressed');
});

test('a start takes back neither what was done by hand nor what a provider said, nor another sender\'s or channel\'s', async () => {
  const person = aPerson();
  const one = { tenant: 'default', channel: 'sms', addressPrint: person, at: NOW, actor: 'x', reason: 'x' } as const;
  await insertSuppression(engine.db, { ...one, senderPrint: null, source: 'hand' });
  await insertSuppression(engine.db, { ...one, tenant: 'acme', senderPrint: SENDER(), source: 'provider' });
  await insertSuppression(engine.db, { ...one, senderPrint: Buffer.alloc(32, 7), source: 'stop' });
  await insertSuppression(engine.db, { ...one, channel: 'email', senderPrint: SENDER(), source: 'stop' });
  expect([await word(person, 'stop'), await word(person, 'start')]).toEqual(['suppressed', 'lifted']);
  expect((await listed(person)).map(({ source, removed }) => [source, removed])).toEqual([
    ['provider', null], ['hand', null], ['stop', null], ['stop', null], ['stop', 'resubscribed'],
  ]);
});

test('two that hear one person at the same time leave what was said last, and neither twice', async () => {
  for (let round = 0; round < 15; round += 1) {
    const person = aPerson();
    const both = async (db: typeof engine.db): Promise<unknown[]> => Promise.all([
      hearWord(db, { provider: 'twilio', senderPrint: SENDER(), messageId: `r${round}-1`, word: 'stop', addressPrint: person, receivedAt: NOW + 1, now: NOW }),
      hearWord(db, { provider: 'twilio', senderPrint: SENDER(), messageId: `r${round}-2`, word: 'start', addressPrint: person, receivedAt: NOW + 2, now: NOW }),
    ]);
    const results = (await Promise.all([both(engine.db), both(engine.db)])).flat();
    expect(results.filter((result) => result !== null)).toHaveLength(2);
    expect((await listed(person)).filter(({ removed }) => removed === null)).toEqual([]);
  }
});

test('a tenant that comes later keeps to what was said before it came', async () => {
  const [stopped, resumed, both] = [aPerson(), aPerson(), aPerson()];
  for (const person of [stopped, resumed, both]) await word(person, 'stop');
  await word(resumed, 'start');
  await insertSuppression(engine.db, { tenant: 'late', channel: 'sms', addressPrint: both, senderPrint: SENDER(), reason: 'opted_out', source: 'provider', at: NOW, actor: 'x' });
  expect(await inheritStops(engine.db, 'late')).toBeGreaterThanOrEqual(1);
  expect(await inheritStops(engine.db, 'late')).toBe(0);
  const of = async (person: Buffer) => (await listed(person)).filter(({ tenant }) => tenant === 'late').map(({ source }) => source);
  expect([await of(stopped), await of(resumed), await of(both)]).toEqual([['stop'], [], ['provider']]);
});

test('one reader at a time: a read is due again when it says so, or when its reader has not been heard of', async () => {
  const line = { provider: 'sinch', senderPrint: SENDER() };
  const claim = (now: number) => claimInbound(engine.db, line, { now, busyUntil: now + 60_000, firstFrom: now - 1_000 });
  expect([await claim(NOW), await claim(NOW), await claim(NOW + 59_999)]).toEqual([NOW - 1_000, null, null]);
  expect(await claim(NOW + 60_000)).toBe(NOW - 1_000);
  await finishInbound(engine.db, line, { readUntil: NOW, nextAt: NOW + 61_000 });
  expect([await claim(NOW + 60_999), await claim(NOW + 61_000)]).toEqual([null, NOW]);
  await finishInbound(engine.db, line, { readUntil: null, nextAt: NOW + 62_000 });
  await finishInbound(engine.db, line, { readUntil: NOW - 9_000, nextAt: NOW + 62_000 });
  expect(await claim(NOW + 62_000)).toBe(NOW);
  expect(await Promise.all(Array.from({ length: 4 }, () => claim(NOW + 200_000)))).toEqual(expect.arrayContaining([NOW, null, null, null]));
});

test('the record of words is append-only for everybody, and holds no number', async () => {
  const owner = openDatabase({ url: database.url, poolSize: 1, role: null });
  await expect(owner.pool.query("UPDATE inbound_word SET word = 'start'")).rejects.toThrow();
  await expect(owner.pool.query('TRUNCATE inbound_word')).rejects.toThrow();
  await owner.close();
  expect(JSON.stringify((await engine.db.pool.query('SELECT w::text FROM inbound_word w')).rows)).not.toMatch(/2025553/);
});
