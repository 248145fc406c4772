import { expect, test } from '@jest/globals';
import type { Database } from '../../../shared/ledger/database.ts';
import { openDatabase } from '../../../shared/ledger/database.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import { acceptMany, carryOut, decided, openRig, publishShipped } from './rig.ts';
import { ROUNDS, runRounds } from './rounds.ts';

const withDatabase = async <Value>(use: (db: Database) => Promise<Value>): Promise<Value> => {
  const database = await createTestDatabase();
  const db = openDatabase({ url: database.url, poolSize: 32 });
  try {
    return await use(db);
  } finally {
    await db.close();
    await database.drop();
  }
};

test.each(ROUNDS)('the product’s statements keep every promise in the round of %s', async (only) => {
  expect(await withDatabase((db) => runRounds({ db, from: 1, runs: 2, only }))).toEqual({ runs: 2, broken: null });
}, 240_000);

test('what the database refuses, and an enqueue that is not there, are told by name', async () => {
  const told: string[] = [];
  await withDatabase(async (db) => {
    await publishShipped(db);
    const rig = openRig(db, { seed: 1, round: 'test' }, (invariant) => { told.push(invariant); });
    const [eventId] = await acceptMany(rig, 1) as [string];
    const append = await decided(rig, eventId, { kind: 'start_submission', attempt: `${eventId}.sms.1` });
    if (!append) throw new Error('nothing was decided');
    rig.watched.expect({ ...append, rows: { ...append.rows, outbox: [{ attempt_key: `${eventId}.sms.1`, generation: 9 }] } });
    expect(await rig.engine.append(append)).toBe(true);
    // Decided on a version that was passed by, but said to be decided on the present one.
    const forged = { ...append, rows: { ...append.rows, state: { ...append.rows.state, expected: append.version } } };
    await expect(rig.engine.append(forged)).rejects.toThrow(/ledger_entry/);
    await expect(carryOut(rig, eventId, { kind: 'start_submission', attempt: `${eventId}.sms.1` })).rejects.toThrow(/came to nothing/);
  });
  expect(told).toEqual(['an enqueue is written with its decision', 'no append breaks a constraint of the ledger']);
}, 60_000);
