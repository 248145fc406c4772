import pg from 'pg';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { foldErrors } from './findings.ts';
import { readLedger } from './ledger-reader.ts';

let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };
beforeAll(async () => {
  database = await createTestDatabase();
  engine = await createTestEngine({ url: database.url });
});
afterAll(async () => {
  await engine.close();
  await database.drop();
});

/** As a superuser for whom no trigger runs: what the ledger itself can no longer refuse. */
const tamper = async (statement: string, values: unknown[]): Promise<void> => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('SET session_replication_role = replica');
  await client.query(statement, values).finally(() => client.end());
};
const acceptOne = async (): Promise<string> => {
  const outcome = await acceptNotification(engine, urgentRequest());
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.eventId;
};
const evidenceOf = async (eventId: string) => {
  const { notifications, attempts } = await readLedger(database.url);
  const notification = notifications.find((one) => one.eventId === eventId);
  if (!notification) throw new Error(`no ${eventId}`);
  return { notification, attempts: attempts.filter((attempt) => attempt.eventId === eventId), provider: [], closedAt: null };
};

test('an untouched ledger has no fault in its chain, and its states are the folds of its entries', async () => {
  const eventId = await acceptOne();
  expect((await readLedger(database.url)).chainErrors).toEqual([]);
  expect(foldErrors(await evidenceOf(eventId))).toEqual([]);
});

test('an entry that was rewritten together with its own hash breaks the chain at the next one', async () => {
  const eventId = await acceptOne();
  await tamper(`UPDATE ledger_entry SET body = replace(body, '"actor":"test"', '"actor":"else"'), hash = sha256(prev_hash || convert_to(replace(body, '"actor":"test"', '"actor":"else"'), 'UTF8'))
    WHERE event_id = $1 AND version = 2`, [eventId]);
  expect((await readLedger(database.url)).chainErrors.filter((fault) => fault.startsWith(eventId)).sort()).toEqual([`${eventId} v2: columns differ from the text`, `${eventId} v3: link`]);
});

test('an entry that was taken out breaks the head', async () => {
  const eventId = await acceptOne();
  await tamper('DELETE FROM ledger_entry WHERE event_id = $1 AND version = 3', [eventId]);
  expect((await readLedger(database.url)).chainErrors.filter((fault) => fault.startsWith(eventId))).toEqual([`${eventId}: head`]);
  expect(foldErrors(await evidenceOf(eventId)).map(({ kind }) => kind)).toContain('fold');
});
