import { ConfigurationError } from '../../shared/config/environment.ts';
import { readCliConfig, readDatabaseUrl } from '../../shared/config/cli-config.ts';
import type { Database } from '../../shared/ledger/database.ts';
import type { Io } from './io.ts';

/** What was read of the database; null, with the reason in words, where there is none. */
export type Read<Value> = { value: Value; missing: null } | { value: null; missing: string };

/** Reads something of the deployment's database where one is known and answers; files alone need none. */
export const readIfThere = async <Value>(io: Pick<Io, 'env'>, read: (db: Database) => Promise<Value>): Promise<Read<Value>> => {
  let url: string;
  try {
    url = readDatabaseUrl(io.env, readCliConfig(io.env));
  } catch (error) {
    if (error instanceof ConfigurationError) return { value: null, missing: 'no database is known' };
    throw error;
  }
  // Loaded only now: most look at files alone.
  const { isDatabaseAway, openDatabase } = await import('../../shared/ledger/database.ts');
  const db = openDatabase({ url, poolSize: 2 });
  try {
    return { value: await read(db), missing: null };
  } catch (error) {
    if (isDatabaseAway(error)) return { value: null, missing: 'the database does not answer' };
    throw error;
  } finally {
    await db.close();
  }
};
