import { join } from 'node:path';
import type { Environment } from './environment.ts';
import { readVariables } from './environment.ts';

/** Where erasures are written outside of the database: `ERASURE_FILE`, else in the data directory. @throws ConfigurationError. */
export const readErasureFile = (env: Environment): string => {
  const read = readVariables(env, ['ERASURE_FILE', 'TOCSIN_DATA_DIR']);
  return read.ERASURE_FILE ?? join(read.TOCSIN_DATA_DIR, 'erasures.jsonl');
};
