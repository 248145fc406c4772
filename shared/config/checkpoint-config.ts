import { join } from 'node:path';
import type { Environment } from './environment.ts';
import { readVariables } from './environment.ts';

/** Where the checkpoints are written outside of the database: `CHECKPOINT_FILE`, else in the data directory. @throws ConfigurationError. */
export const readCheckpointFile = (env: Environment): string => {
  const read = readVariables(env, ['CHECKPOINT_FILE', 'TOCSIN_DATA_DIR']);
  return read.CHECKPOINT_FILE ?? join(read.TOCSIN_DATA_DIR, 'checkpoints.jsonl');
};
