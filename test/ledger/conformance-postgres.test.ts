import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { appendConformance } from './append-conformance.ts';

appendConformance('on Postgres', async () => {
  const database = await createTestDatabase();
  let at = 0;
  const engine = await createTestEngine({ url: database.url, now: () => at });
  return {
    engine,
    setNow: (now) => { at = now; },
    close: async () => {
      await engine.close();
      await database.drop();
    },
  };
});
