import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { barringConformance } from './barring-conformance.ts';

barringConformance('in Postgres', async (policies) => {
  const database = await createTestDatabase();
  let at = 0;
  const engine = await createTestEngine({ url: database.url, now: () => at, policies });
  return { engine, setNow: (now) => { at = now; }, close: async () => {
    await engine.close();
    await database.drop();
  } };
});
