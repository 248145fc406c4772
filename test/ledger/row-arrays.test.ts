import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { Row } from '../../shared/ledger/row-arrays.ts';
import { rowArrays } from '../../shared/ledger/row-arrays.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const ALL = 'place integer, word text, much text, at timestamptz, raw bytea, yes boolean, kept json, asked jsonb';
const SETS = rowArrays(2, { all: ALL, others: 'word text, place integer' });
const asked = async (all: readonly Row[], others: readonly Row[] = []): Promise<Row[]> => (await client.query(
  `SELECT a.*, (extract(epoch FROM a.at) * 1000)::float8 AS at, a.kept::text AS kept FROM ${SETS.from('all')} a WHERE $1 AND NOT EXISTS (SELECT FROM ${SETS.from('others')} o WHERE o.place = a.place) ORDER BY place`,
  [true, ...SETS.values({ all, others })])).rows;

const NOTHING = { word: null, much: null, at: null, raw: null, yes: null, kept: null, asked: null };

test('what a row holds arrives as it was, whatever its type, and nothing as nothing', async () => {
  const rows: Row[] = [
    { place: 1, word: 'plain', much: 'long '.repeat(40), at: Date.UTC(2026, 10, 30, 12, 0, 0, 123), raw: Buffer.from([0, 1, 255]), yes: true, kept: { b: 1, a: [null, 'é'] }, asked: ['x'] },
    { place: 2, word: 'naïve – 你好 🙂', much: `${'ascii first, and then '.repeat(4)}ü`, at: Date.UTC(1969, 6, 20, 20, 17, 40, 1), raw: new Uint8Array(0), yes: false, kept: 'text', asked: { n: -1.5 } },
    { place: -2_147_483_648, word: '', much: '"quoted", {braced}, \\ and NULL', at: Date.UTC(9999, 11, 31), raw: Buffer.alloc(3, 7), yes: true, kept: 0, asked: true },
    { place: 2_147_483_647, word: 'NULL', much: 'null', at: 0, raw: Buffer.from('\\x00'), yes: false, kept: [], asked: {} },
    { place: 3 },
  ];
  const found = await asked(rows);
  expect(found).toHaveLength(rows.length);
  for (const row of rows) {
    expect(found.find(({ place }) => place === row['place'])).toEqual({
      ...NOTHING, ...row, ...('raw' in row ? { raw: Buffer.from(row['raw'] as Uint8Array) } : {}), ...('kept' in row ? { kept: JSON.stringify(row['kept']) } : {}),
    });
  }
});

test('rows of several kinds go side by side, and none of a kind is none', async () => {
  expect(await asked([{ place: 1 }, { place: 2 }], [{ place: 2, word: 'x' }])).toEqual([{ ...NOTHING, place: 1 }]);
  expect(await asked([])).toEqual([]);
});

test('any number of rows of any size', async () => {
  const rows = Array.from({ length: 500 }, (_, place) => ({ place, much: String.fromCodePoint(97 + (place % 26)).repeat(place * 17), word: 'ü'.repeat(place % 60) }));
  const found = await asked(rows);
  expect(found.map(({ place, much, word }) => ({ place, much, word }))).toEqual(rows);
});

test('what was handed over may be sent later, and is not written over by what comes next', async () => {
  const first = SETS.values({ all: [{ place: 1, word: 'first' }], others: [] });
  SETS.values({ all: [{ place: 2, word: 'second' }], others: [{ place: 3, word: 'third' }] });
  expect((await client.query(`SELECT place, word FROM ${SETS.from('all')} a WHERE $1 AND NOT EXISTS (SELECT FROM ${SETS.from('others')} o)`, [true, ...first])).rows).toEqual([{ place: 1, word: 'first' }]);
});

test.each([
  ['an instant that is none', { at: Number.NaN }], ['a number that is not whole', { place: 1.5 }], ['a number beyond its type', { place: 2 ** 31 }], ['a text that is none', { word: 7 }],
])('refuses %s', (_, row) => {
  expect(() => SETS.values({ all: [row], others: [] })).toThrow(/instant|whole|range|text/);
});

test('knows no other type of column', () => {
  expect(() => rowArrays(1, { kind: 'amount money' })).toThrow('no column can be sent as money: amount');
});
