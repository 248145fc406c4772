import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startRetention } from '../../services/coordinator/retention.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { removePastRetention } from '../../shared/delivery/remove-retained.ts';
import type { RetentionFailure } from '../../shared/delivery/remove-retained.ts';
import { sweepDecisions } from '../../shared/delivery/sweep.ts';
import { ensurePartitions } from '../../shared/ledger/partitions.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { run as runCli } from '../cli/support.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { withClient } from './verify-support.ts';

const KEYS = generateKeyRingText();
const MARCH = Date.UTC(2024, 2, 10, 12);
const LATER = Date.UTC(2025, 4, 10);
let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };
let now = MARCH;
const warnings: Record<string, unknown>[] = [];

const accept = async (over: Partial<AcceptRequest> = {}): Promise<void> => {
  const outcome = await acceptNotification(engine, urgentRequest('03', over));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  await closeNotification(engine, { tenant: null, eventId: outcome.eventId, reason: 'taken', actor: 'test', requestId: 'r' });
};
const asOwner = (...statements: string[]): Promise<unknown> => withClient(database.url, async (client) => { for (const one of statements) await client.query(one); });
const failures = async (): Promise<number> => (await engine.metrics.dutyFailures.get()).values.reduce((sum, { value }) => sum + value, 0);

beforeAll(async () => {
  database = await createTestDatabase();
  const made = await createTestEngine({ url: database.url, ring: KEYS, now: () => now });
  const log = new Proxy(made.log, { get: (target, name) => (name === 'warn' ? (line: Record<string, unknown>) => { warnings.push(line); } : Reflect.get(target, name) as unknown) });
  engine = { ...made, log };
  await ensurePartitions(engine.db, MARCH);
  await accept();
  await accept({ purpose: 'report-code', recipient: { ...urgentRequest().recipient, consent: [] }, variables: () => ({ code: '123456' }) });
  now = LATER;
  while ((await engine.db.pool.query('SELECT 1 FROM notification_state WHERE decide_at <= $1', [new Date(now)])).rows.length > 0) await sweepDecisions(engine, 'test');
}, 60_000);
afterAll(async () => {
  await engine.close();
  await database.drop();
});

describe('what of the past cannot be removed', () => {
  test('is logged and counted, a purpose of a month and the tickets each by itself, and costs nothing else its turn', async () => {
    await asOwner(
      'CREATE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION \'stuck\'; END $$',
      'CREATE TRIGGER stuck BEFORE DELETE ON notification FOR EACH ROW WHEN (OLD.purpose = \'game-support-urgent\') EXECUTE FUNCTION stuck()',
      'REVOKE UPDATE ON ticket FROM tocsin_app',
    );
    const duty = startRetention(engine);
    try {
      expect(await duty.tick()).toBe(1);
    } finally {
      await duty.close();
    }
    expect((await engine.db.pool.query('SELECT purpose FROM notification')).rows).toEqual([{ purpose: 'game-support-urgent' }]);
    expect(warnings).toEqual([expect.objectContaining({ duty: 'retention', error: 'error' }), expect.objectContaining({ duty: 'retention', month: '2024-03', purpose: 'game-support-urgent', error: 'error' })]);
    expect(await failures()).toBe(2);
    await asOwner('DROP TRIGGER stuck ON notification');
  });

  test('is told by the command line, with exit code 1: here the room that could not be given back', async () => {
    await asOwner('ALTER FUNCTION tocsin_drop_empty_month(text) RENAME TO kept_for_later', `CREATE FUNCTION tocsin_drop_empty_month(suffix text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN IF suffix = '2024_03' THEN RAISE EXCEPTION 'the disk is odd'; END IF; RETURN false; END $$`);
    const { code, out, err } = await runCli(['ledger', 'retention'], { env: { DATABASE_URL: database.url, TOCSIN_KEYS: KEYS, TOCSIN_DATA_DIR: '/nonexistent' } });
    expect([code, out, err]).toEqual([1, expect.stringMatching(/2024-03 +game-support-urgent +1 +removed\n/), 'tocsin: 2024-03 could not be given back: the disk is odd\n']);
    await asOwner('DROP FUNCTION tocsin_drop_empty_month(text)', 'ALTER FUNCTION kept_for_later(text) RENAME TO tocsin_drop_empty_month');
  });

  test('is no failure where somebody is at work there: the room is given back another time', async () => {
    const failed: RetentionFailure[] = [];
    const removed = (): Promise<unknown> => removePastRetention(engine, { onFailure: (failure) => { failed.push(failure); } });
    const isThere = async (): Promise<boolean> => (await engine.db.pool.query<{ there: boolean }>("SELECT to_regclass('ledger_entry_2024_03') IS NOT NULL AS there")).rows[0]?.there === true;
    await withClient(database.url, async (client) => {
      await client.query('BEGIN');
      await client.query('LOCK TABLE ledger_entry IN ROW EXCLUSIVE MODE');
      await removed();
      await client.query('COMMIT');
    });
    expect([failed, await isThere()]).toEqual([[], true]);
    await removed();
    expect([failed, await isThere()]).toEqual([[], false]);
  });

  test('ends the work with its error where nobody is to be told', async () => {
    await asOwner('ALTER FUNCTION tocsin_drop_empty_month(text) RENAME TO kept_for_later');
    await ensurePartitions(engine.db, MARCH);
    await expect(removePastRetention(engine)).rejects.toThrow(/tocsin_drop_empty_month/);
    await asOwner('ALTER FUNCTION kept_for_later(text) RENAME TO tocsin_drop_empty_month');
  });
});
