import { resolve } from 'node:path';
import type { Environment } from './environment.ts';
import { readVariables } from './environment.ts';

export interface StandaloneConfig {
  dataDir: string;
  /** An own Postgres instead of the embedded one. */
  databaseUrl: string | undefined;
  redisUrl: string | undefined;
  logLevel: string;
}

/** Reads the standalone's own settings; everything else it fills in. @throws ConfigurationError. */
export const readStandaloneConfig = (env: Environment): StandaloneConfig => {
  const read = readVariables({ ...env, DATABASE_URL: env['DATABASE_URL'] || 'postgres://embedded', LOG_LEVEL: env['LOG_LEVEL'] || 'warn' }, ['DATABASE_URL', 'REDIS_URL', 'TOCSIN_DATA_DIR', 'LOG_LEVEL']);
  return {
    dataDir: resolve(read.TOCSIN_DATA_DIR), databaseUrl: env['DATABASE_URL'] ? read.DATABASE_URL : undefined, redisUrl: read.REDIS_URL, logLevel: read.LOG_LEVEL,
  };
};
