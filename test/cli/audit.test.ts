import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { run } from './support.ts';

describe('tocsin audit list', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await (await createTestEngine({ url: database.url })).close();
  });
  afterAll(() => database.drop());
  const audit = (...line: string[]) => run(['audit', 'list', ...line, '--json'], { env: { DATABASE_URL: database.url, TOCSIN_DATA_DIR: '/nonexistent' } });
  const readers = async (): Promise<string[]> => (JSON.parse((await audit()).out) as { entries: { actor: string }[] }).entries.map(({ actor }) => actor);

  it('notes no read under a name that was meant to find what somebody did, and says how each is said', async () => {
    const refused = await audit('--actor', 'ada');
    expect([refused.code, JSON.parse(refused.out)]).toEqual([2, { error: expect.objectContaining({ code: 'usage', field: '--actor', message: expect.stringMatching(/--of NAME for what that actor did, or --as NAME for who reads it/) }) }]);
    expect(await readers()).toEqual(['cli']);
  });

  it('notes a read under the name that --as gives, which must be one', async () => {
    expect((await audit('--as', 'ben')).code).toBe(0);
    expect((await readers()).slice(0, 2)).toEqual(['cli', 'ben']);
    const refused = await audit('--as', 'ada@example.com');
    expect([refused.code, JSON.parse(refused.out)]).toEqual([2, { error: expect.objectContaining({ field: '--as', message: expect.stringContaining('--as must be a short name') }) }]);
  });
});
