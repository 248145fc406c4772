import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../services/standalone/embedded-postgres.ts';
import { APP_ROLE } from '../../shared/ledger/database.ts';
import { migrate } from '../../shared/ledger/migrate.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import type { ChildService } from './child-service.ts';
import { atTheEnd, startService, startedEvent } from './child-service.ts';
import type { Surroundings } from './surroundings.ts';
import { killPostgres } from './surroundings.ts';
import { within } from './waiting.ts';

/** The services of which a fleet runs two copies each; the dashboard is one. */
export const COPIED = ['intake', 'sms', 'email', 'coordinator'] as const;
export type CopiedService = (typeof COPIED)[number];

export interface Copy { service: CopiedService; process: ChildService; url: string | null }
export interface Fleet {
  databaseUrl: string;
  copies: Copy[];
  intakeUrls: () => string[];
  /** kill -9 of Postgres, and a new start on the same data and port. */
  restartDatabase: () => Promise<void>;
  /** SIGTERM for all; resolves to their exit codes, by name. */
  stop: () => Promise<Record<string, number | null>>;
}

const READY_WITHIN_MS = 200_000;
export const PROGRAMS: Record<CopiedService | 'dashboard', { program: string; env: Record<string, string> }> = {
  intake: { program: 'services/intake/main.ts', env: { INTAKE_PORT: '0' } },
  sms: { program: 'services/delivery/main.ts', env: { CHANNEL: 'sms' } },
  email: { program: 'services/delivery/main.ts', env: { CHANNEL: 'email' } },
  coordinator: { program: 'services/coordinator/main.ts', env: {} },
  dashboard: { program: 'services/dashboard/main.ts', env: { DASHBOARD_PORT: '0', OPERATOR_PASSWORD: 'for-the-audit-only' } },
};

const startDatabase = async (around: Surroundings): Promise<{ url: string; restart: () => Promise<void> }> => {
  const dataDir = join(around.folder, 'postgres-of-fleet');
  let postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  atTheEnd(() => postgres.stop());
  const { url } = postgres;
  await migrate(url);
  if (around.backend === 'postgres') await migrateQueueSchema(url, APP_ROLE);
  return {
    url,
    restart: async () => {
      await killPostgres(dataDir);
      postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined, port: Number(new URL(url).port) });
    },
  };
};

/** Starts every service of the Procfile as a process of its own, two copies of each worker, coordinator and intake, on one database. */
export const startFleet = async (around: Surroundings): Promise<Fleet> => {
  const { url: databaseUrl, restart } = await startDatabase(around);
  const common = {
    ...around.env, DATABASE_URL: databaseUrl, CHECKPOINT_FILE: join(around.folder, 'checkpoints.jsonl'), TOCSIN_KEYS: generateKeyRingText(), LOG_LEVEL: 'info', DATABASE_POOL: '4', ...(around.redis ? { REDIS_URL: around.redis.url } : {}),
  };
  const start = (name: CopiedService | 'dashboard', copy: number): ChildService => startService({
    name: `${name}.${copy}`, program: PROGRAMS[name].program, env: { ...common, ...PROGRAMS[name].env }, logPath: join(around.folder, `${name}.${copy}.log`), readyIn: startedEvent,
  });
  const whenReady = async (process: ChildService): Promise<Record<string, unknown>> => {
    const told = await within(READY_WITHIN_MS, process.ready);
    if (!told) throw new Error(`${process.name} did not start: see its log in ${around.folder}`);
    return told;
  };
  const dashboard = start('dashboard', 1);
  const starting = COPIED.flatMap((service) => [1, 2].map((copy) => ({ service, process: start(service, copy) })));
  await whenReady(dashboard);
  const copies = await Promise.all(starting.map(async ({ service, process }): Promise<Copy> => ({ service, process, url: service === 'intake' ? String((await whenReady(process))['url']) : (await whenReady(process), null) })));
  return {
    databaseUrl, copies, restartDatabase: restart,
    intakeUrls: () => copies.flatMap(({ url }) => (url === null ? [] : [url])),
    stop: async () => Object.fromEntries(await Promise.all([...copies.map(({ process }) => process), dashboard].filter((process) => process.isRunning())
      .map(async (process) => [process.name, (await process.stop()).code] as const))),
  };
};
