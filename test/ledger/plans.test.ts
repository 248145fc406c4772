import pg from 'pg';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bulkLoad } from '../../bench/history/bulk-load.ts';
import type { Model } from '../../bench/history/clone-sql.ts';
import { openClocked } from '../../bench/history/engine.ts';
import { live } from '../../bench/history/lives.ts';
import { oldestDueAges } from '../../shared/ledger/heartbeat.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { nodesOf, recordPlans } from '../support/recorded-plans.ts';
import type { PlanNode, RecordedPlan } from '../support/recorded-plans.ts';
import { actAll, prepareQueue, tickCheckpoints } from './hot-acts.ts';
import { addHistoryRows, rowCounts } from './history-rows.ts';

const DAY_MS = 86_400_000;
const [FEW, MANY] = [2_000, 20_000];
/** Tables that grow with history; `outbox` holds only what waits and has a test of its own. */
const GROWING = /^(notification|notification_state|attempt|ledger_entry(_\w+)?|sealed_payload|recipient|ticket|observation_raw|lost_race|dead_letter|dead_letter_request|suppression|consent_withdrawal|throttled_start|checkpoint)$/;
/** Partial indexes of what is open: what was settled has left them. */
const OF_WHAT_IS_OPEN = /^(dead_letter_(open|list|event|to_show|to_hide)|dead_letter_request_(open|due)|attempt_(waiting|poll_provider|poll_deadline))$/;
/** Below this a table or partition fits into some pages, and reading them is as good as any index. */
const SMALL = 500;
/** The longest list that is looked at for one page. */
const LOOKED_AT = 2_001;

const recorder = recordPlans();
const opened: { close: () => Promise<void> }[] = [];
let database: TestDatabase;
let sizes: Map<string, number>;
let plans: { few: RecordedPlan[]; many: RecordedPlan[]; generic: RecordedPlan[] };

const open = async (at: number, keys?: string) => {
  const clocked = await openClocked(database.url, { keys });
  clocked.moveTo(at);
  opened.push(clocked);
  return clocked;
};

beforeAll(async () => {
  database = await createTestDatabase();
  await prepareQueue(database.url);
  const startAt = Date.now();
  const clocked = await open(startAt);
  const models: Model[] = [];
  for (const [ending, share] of [['delivered', 75], ['undelivered', 20], ['unconfirmed', 5]] as const) models.push({ eventId: await live(clocked, ending, startAt + 30 * 3_600_000), share });
  const act = async (on: typeof clocked): Promise<RecordedPlan[]> => {
    recorder.take();
    await actAll(on, database.url);
    return recorder.take();
  };
  const fill = async (from: number, to: number): Promise<void> => {
    await bulkLoad({ url: database.url, models, count: to - from, firstNumber: from, from: startAt - 300 * DAY_MS, to: startAt - DAY_MS, lanes: 1, batch: Math.ceil((to - from) / 20) });
    // What was loaded is covered first: it is no news of the minute that is looked at.
    clocked.moveTo(clocked.engine.now() + 60_000);
    await tickCheckpoints(clocked.engine);
    await addHistoryRows(database.url, clocked.engine, (to - from) / 4);
    clocked.moveTo(clocked.engine.now() + 600_000);
  };
  await fill(0, FEW);
  const few = await act(clocked);
  await fill(FEW, MANY);
  const many = await act(clocked);
  sizes = await rowCounts(database.url);
  recorder.generic(true);
  const generic = await act(await open(clocked.engine.now(), clocked.keys));
  plans = { few, many, generic };
}, 300_000);
afterAll(async () => {
  recorder.restore();
  await Promise.all(opened.map((one) => one.close()));
  await database.drop();
});

interface Node extends PlanNode { limited: boolean }
const scansOf = (plan: PlanNode, limited = false): Node[] => {
  const below = limited || plan['Node Type'] === 'Limit';
  return [...(/Scan$/.test(plan['Node Type']) && plan['Relation Name'] ? [{ ...plan, limited }] : []), ...(plan.Plans ?? []).flatMap((child) => scansOf(child, below))];
};
const rowsRead = (node: PlanNode): number => node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0));
const isHistory = (node: PlanNode): boolean => GROWING.test(node['Relation Name'] ?? '') && (sizes.get(node['Relation Name'] ?? '') ?? 0) > SMALL;

/** What is wrong with the way a statement reads tables that grow; empty where it reads ranges of indexes only. */
const faultsOf = ({ text, plan }: RecordedPlan): string[] => scansOf(plan).filter(isHistory).flatMap((node) => {
  const named = `${node['Node Type']} on ${node['Relation Name']}`;
  if (node['Node Type'] === 'Seq Scan') return [`${named}: ${text}`];
  // In the order of an index, up to a limit and without looking away from any: as good as a range.
  const ordered = node.limited && node.Filter === undefined;
  const isRange = node['Index Cond'] !== undefined || node['Recheck Cond'] !== undefined || ordered || OF_WHAT_IS_OPEN.test(node['Index Name'] ?? '');
  return isRange ? [] : [`${named} without a range of ${node['Index Name']}: ${text}`];
});
const distinct = (faults: readonly string[]): string[] => [...new Set(faults)].map((fault) => fault.slice(0, 400));
const worstOf = (recorded: readonly RecordedPlan[], cost: (plan: PlanNode) => number): Map<string, number> => {
  const worst = new Map<string, number>();
  for (const { text, plan } of recorded) if (scansOf(plan).some((node) => GROWING.test(node['Relation Name'] ?? ''))) worst.set(text, Math.max(worst.get(text) ?? 0, cost(plan)));
  return worst;
};
const readBy = (plan: PlanNode): number => scansOf(plan).filter((node) => GROWING.test(node['Relation Name'] ?? '')).reduce((sum, node) => sum + rowsRead(node), 0);
const blocksOf = (plan: PlanNode): number => (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);

test('all that the product asks all day was recorded, from the acceptance to the checkpoint', () => {
  const texts = [...new Set(plans.many.map(({ text }) => text))].join('\n');
  for (const part of [
    'INSERT INTO notification (', 'FOR NO KEY UPDATE OF s', 'tocsin_hold_destination', 'FROM added e', 'FROM outbox ORDER BY id', 'DELETE FROM outbox', 'decide_at <= $1::timestamptz ORDER BY decide_at',
    'poll_leased_until = $2', 'SELECT least(', 'not_before_at) FROM', 'provider_wait_at', 'finished_at', 'feed_epoch WHERE identity', 'e.epoch, e.xid, e.position) >', 'unnest($1::text[], $2::integer[]) AS w', 'k(tenant, idempotency_key)',
    'FROM api_key WHERE hash = ANY', 'receipt_token_hash', 'seen AS MATERIALIZED', 'NOT projected', 'AND projected', "resolution = 'expired'", 'dead_letter_request', 'INSERT INTO suppression', 'INSERT INTO lost_race', 'UPDATE provider_state',
    'FROM checkpoint c', 'INSERT INTO checkpoint', 'row_number() OVER (PARTITION BY event_id', 'OFFSET $2 LIMIT 1', 'SET decide_at = $2', 'FOR KEY SHARE OF x', '"public"."attempt"',
  ]) expect(texts).toContain(part);
});

test('no statement reads a table that grows otherwise than by a range of an index', () => {
  // A small table is read whole, and would show nothing.
  for (const [name, size] of sizes) if (GROWING.test(name) && !name.startsWith('ledger_entry')) expect([name, size > 1_000]).toEqual([name, true]);
  expect(distinct(plans.many.flatMap(faultsOf))).toEqual([]);
});

test('nor with plans that were made without looking at the parameters', () => {
  expect(distinct(plans.generic.flatMap(faultsOf))).toEqual([]);
});

test('ten times the history, and no statement reads or sorts more rows of it, nor many more pages', () => {
  const [rowsBefore, blocksBefore] = [worstOf(plans.few, readBy), worstOf(plans.few, blocksOf)];
  const grown: string[] = [];
  for (const [text, rows] of worstOf(plans.many, readBy)) if (rows > (rowsBefore.get(text) ?? rows) * 1.2 + 20) grown.push(`${rowsBefore.get(text)} -> ${rows} rows: ${text}`);
  for (const [text, blocks] of worstOf(plans.many, blocksOf)) {
    // A level more in each of its indexes, and what a connection looks up in the catalog once for each partition.
    if (blocks > (blocksBefore.get(text) ?? blocks) * 1.5 + 150) grown.push(`${blocksBefore.get(text)} -> ${blocks} pages: ${text}`);
  }
  expect(distinct(grown)).toEqual([]);
  const sorts = plans.many.flatMap(({ text, plan }) => nodesOf(plan).filter((node) => /Sort/.test(node['Node Type']) && node['Actual Rows'] * node['Actual Loops'] > LOOKED_AT).map(() => text));
  expect(distinct(sorts)).toEqual([]);
});

test('a long outbox is taken, removed and looked at from its oldest end', async () => {
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  await owner.query(`INSERT INTO outbox (event_id, attempt_key, channel, generation, not_before_at) SELECT 'evt_' || n, 'evt_' || n || '.sms.1', 'sms', 1, 'epoch' FROM generate_series(1, 20000) AS n`);
  await owner.query('VACUUM ANALYZE outbox');
  await owner.end();
  recorder.generic(false);
  const { engine } = await open(Date.now());
  recorder.take();
  expect(await engine.ledger.moveOutbox(100, async () => undefined)).toBe(100);
  expect((await oldestDueAges(engine.db, engine.now())).outboxMs).toBeGreaterThan(0);
  const scans = recorder.take().flatMap(({ plan }) => scansOf(plan)).filter((node) => node['Relation Name'] === 'outbox');
  expect(scans.length).toBeGreaterThanOrEqual(3);
  for (const scan of scans) expect([scan['Node Type'], rowsRead(scan)]).toEqual([expect.stringMatching(/^(Index|Bitmap)/), expect.any(Number)]);
  expect(Math.max(...scans.map(rowsRead))).toBeLessThanOrEqual(1_000);
});
