import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildService, Ended } from './child-service.ts';
import { standaloneReady, startService } from './child-service.ts';
import type { Surroundings } from './surroundings.ts';
import { within } from './waiting.ts';

/** What `standalone.json` says. */
export interface StandaloneAddress { intake: string; database: string; api_key: string }

export interface StandaloneProcess {
  service: ChildService;
  dataDir: string;
  /** Resolves to where it answers; null where it ended before that. */
  address: Promise<StandaloneAddress | null>;
}

export interface StandaloneSettings {
  dataDir: string;
  /** `point[:n]`, at which it kills itself. */
  killAt?: string;
  /** Database of the Redis, where the backend is Redis. */
  redisDatabase?: number;
}

/** A start that neither got ready nor died by a kill: a broken promise in itself. */
export class DidNotStartError extends Error {
  override readonly name = 'DidNotStartError';
}

const READY_WITHIN_MS = 200_000;

/** Starts the standalone on a data directory, pointed at the audit's own sandbox. */
export const startStandaloneProcess = (around: Surroundings, settings: StandaloneSettings): StandaloneProcess => {
  const { dataDir, killAt, redisDatabase = 0 } = settings;
  const service = startService({
    name: 'standalone', program: 'services/standalone/main.ts', logPath: join(around.folder, 'standalone.log'), readyIn: standaloneReady,
    env: {
      ...around.env, TOCSIN_DATA_DIR: dataDir, INTAKE_PORT: '0', DASHBOARD_PORT: '0', SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: '0', LOG_LEVEL: 'warn',
      ...(around.redis ? { REDIS_URL: `${around.redis.url}/${redisDatabase}` } : {}), ...(killAt === undefined ? {} : { TOCSIN_KILL_AT: killAt }),
    },
  });
  const address = service.ready.then((told) => (told ? JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8')) as StandaloneAddress : null));
  return { service, dataDir, address };
};

/** Waits until it is ready. @throws DidNotStartError where it is not, for whatever reason. */
export const whenReady = async ({ service, address }: StandaloneProcess): Promise<StandaloneAddress> => {
  const ready = await within(READY_WITHIN_MS, address);
  if (ready) return ready;
  const how: Ended | null = await within(0, service.ended);
  await service.kill();
  throw new DidNotStartError(`the standalone did not get ready: ${how ? `it ended with ${String(how.code ?? how.signal)}` : `not within ${READY_WITHIN_MS} ms`}`);
};
