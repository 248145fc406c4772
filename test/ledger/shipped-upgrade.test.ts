import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { activateVersion, listActivations } from '../../shared/ledger/activations.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { loadActivePolicies, publishVersions } from '../../shared/ledger/versions.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { shippedPolicies } from '../support/test-engine.ts';

const PURPOSE = 'game-support-urgent';
const START = Date.UTC(2026, 10, 29);

describe('the shipped throttle', () => {
  let database: TestDatabase;
  let db: Database;
  beforeAll(async () => {
    database = await createTestDatabase();
    db = openDatabase({ url: database.url, poolSize: 2 });
  });
  afterAll(async () => {
    await db.close();
    await database.drop();
  });
  const start = (policies = shippedPolicies()) => publishVersions(db, { policies, templates: [], now: START });
  const active = async () => {
    const policy = (await loadActivePolicies(db)).find(({ purpose }) => purpose === PURPOSE);
    return [policy?.version, policy?.steps[0]?.throttle];
  };

  it('comes with an upgrade to a deployment that had the version before it, and stays away where an operator went back', async () => {
    await start(shippedPolicies().filter(({ version }) => version === 1));
    expect(await active()).toEqual([1, undefined]);
    await start();
    expect(await active()).toEqual([2, { most: 5, withinMs: 300_000 }]);
    await activateVersion(db, { purpose: PURPOSE, version: 1, at: START, actor: 'ada', reason: { code: 'incident', sealed: null } });
    await start();
    expect(await active()).toEqual([1, undefined]);
    expect((await listActivations(db, { purpose: PURPOSE, limit: 9 })).map(({ version, actor }) => [version, actor])).toEqual([[1, 'ada'], [2, 'boot'], [1, 'boot']]);
  });
});
