import type { Database } from './database.ts';

/** Where statements run: a database, or a transaction on it. */
export type Statements = Pick<Database, 'query'>;

/** Runs statements in one transaction on one connection: all of them or none. */
export const inTransaction = async <Answer>(db: Database, work: (tx: Statements) => Promise<Answer>): Promise<Answer> => {
  const client = await db.pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    const answer = await work({ query: async ({ name, text }, values) => (await client.query({ name, text, values })).rows });
    await client.query('COMMIT');
    return answer;
  } catch (error) {
    await client.query('ROLLBACK').catch((failure: Error) => { broken = failure; });
    throw error;
  } finally {
    // A connection that could not be rolled back must not go back into the pool.
    client.release(broken);
  }
};
