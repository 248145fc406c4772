import pg from 'pg';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Engine } from '../../shared/delivery/engine.ts';
import { PAST, scanFeed } from '../../shared/ledger/feed.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';

let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };

beforeAll(async () => {
  database = await createTestDatabase();
  engine = await createTestEngine({ url: database.url });
  await fill(5_000);
});
afterAll(async () => {
  await engine.close();
  await database.drop();
});

let filled = 0;
/** Entries of notifications that nobody sent, ten each, spread over the months that there are; past the triggers, as the owner. */
const fill = async (count: number): Promise<void> => {
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  try {
    const { rows: months } = await owner.query<{ from: string }>(
      `SELECT substring(pg_get_expr(relpartbound, oid) FROM '''(evt_[^'']{10})') AS from FROM pg_class WHERE relname LIKE 'ledger\\_entry\\_20%' AND relkind = 'r'`);
    await owner.query('SET session_replication_role = replica');
    await owner.query(
      `INSERT INTO ledger_entry (event_id, version, position, xid, epoch, kind, at, actor, request_id, policy_version, to_state, body, prev_hash, hash)
       SELECT ($2::text[])[1 + (n / 10) % cardinality($2::text[])] || lpad((n / 10)::text, 20, '0'), 1 + n % 10, n, (10 + n / 3)::text::xid8, 1, 'X', 'epoch', 'a', 'r', 1, 's', '{}', '\\x', sha256('{}')
         FROM generate_series($1::integer, $1::integer + $3::integer - 1) AS n`, [filled, months.map((month) => month.from), count]);
    filled += count;
    await owner.query('ANALYZE ledger_entry');
  } finally {
    await owner.end();
  }
};

interface Node { 'Node Type': string; 'Relation Name'?: string; 'Index Name'?: string; 'Index Cond'?: string; Filter?: string; 'Actual Rows': number; 'Actual Loops': number; 'Shared Hit Blocks': number; 'Shared Read Blocks': number; Plans?: Node[] }

const planOf = async (text: string, values: unknown[], settings: string[] = []): Promise<{ nodes: Node[]; blocks: number }> => {
  const client = await engine.db.pool.connect();
  await client.query(['BEGIN', ...settings.map((setting) => `SET LOCAL ${setting.replace('=', ' = ')}`)].join('; '));
  const { rows: [row] } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, SUMMARY OFF, FORMAT JSON) ${text}`, values);
  await client.query('ROLLBACK');
  client.release();
  const flat = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flat)];
  const [root] = row['QUERY PLAN'] as [{ Plan: Node }];
  return { nodes: flat(root.Plan), blocks: root.Plan['Shared Hit Blocks'] + root.Plan['Shared Read Blocks'] };
};

/** The statement inside the function that a page is read with, under the function's own settings. */
const planOfRange = async (values: unknown[]): Promise<{ nodes: Node[]; blocks: number }> => {
  const { rows: [row] } = await engine.db.pool.query(`SELECT prosrc, proconfig FROM pg_proc WHERE proname = 'tocsin_feed_range'`);
  const typed = ['integer', 'xid8', 'bigint', 'integer', 'xid8', 'integer'];
  return planOf((row.prosrc as string).replace(/\$(\d)/g, (_all, digit: string) => `$${digit}::${typed[Number(digit) - 1]}`), values, row.proconfig as string[]);
};

test('a page is a range of the index in every partition, without a sort, a filter or a row too many', async () => {
  const { nodes } = await planOfRange([1, '500', '1500', 2, '9000', 100]);
  const scans = nodes.filter((node) => node['Node Type'].includes('Scan'));
  expect(scans.length).toBeGreaterThanOrEqual(3);
  for (const scan of scans) {
    expect(scan['Node Type']).toMatch(/^Index/);
    expect(scan['Index Cond']).toMatch(/ROW\(epoch, xid, "?position"?\) > .* AND \(ROW\(epoch, xid\) < /);
    expect(scan.Filter).toBeUndefined();
  }
  expect(nodes.some((node) => /Sort|Hash/.test(node['Node Type']))).toBe(false);
  expect(scans.reduce((sum, scan) => sum + scan['Actual Rows'], 0)).toBeLessThanOrEqual(100 + scans.length);
});

test('its cost does not grow with the history before it or after it', async () => {
  const whole = await scanFeed(engine.db, { after: { epoch: 1, xid: '1643', position: '4900' }, below: { epoch: 2, xid: '9000' }, limit: 50 });
  expect(whole.map((entry) => entry.place.position)).toEqual(Array.from({ length: 50 }, (_, index) => String(4_901 + index)));
  const page = (): Promise<{ blocks: number }> => planOfRange([1, '1643', '4900', 2, '9000', 50]);
  await page();
  const before = (await page()).blocks;
  await fill(15_000);
  await page();
  const after = (await page()).blocks;
  expect(after).toBeLessThanOrEqual(before + 20);
  expect(after).toBeLessThan(150);
});

test('what past states are folded from is found by key, in the partition of each notification alone', async () => {
  const { rows } = await engine.db.pool.query<{ event_id: string }>('SELECT DISTINCT event_id FROM ledger_entry LIMIT 20');
  const { nodes, blocks } = await planOf(PAST.text, [rows.map((row) => row.event_id), rows.map(() => 5)]);
  const scans = nodes.filter((node) => node['Relation Name']?.startsWith('ledger_entry') && node['Actual Loops'] > 0);
  expect(scans.reduce((sum, scan) => sum + scan['Actual Loops'], 0)).toBe(20);
  for (const scan of scans) expect(scan['Node Type']).toMatch(/^(Bitmap Heap|Index)/);
  expect(blocks).toBeLessThan(20 * 10);
});
