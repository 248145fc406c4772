import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { insertApiKey } from '../shared/ledger/api-keys.ts';
import { APP_ROLE, openDatabase } from '../shared/ledger/database.ts';
import { migrate } from '../shared/ledger/migrate.ts';
import { migrateQueueSchema } from '../shared/queue/migrate-queue-schema.ts';
import { apiKeyIdOf, generateApiKey, hashApiKey } from '../shared/security/api-key.ts';
import { generateKeyRingText } from '../shared/security/key-ring.ts';
import { atTheEnd, standaloneReady, startService, startedEvent } from '../test/audit/child-service.ts';
import type { ChildService } from '../test/audit/child-service.ts';
import { PROGRAMS } from '../test/audit/fleet.ts';
import type { Contender } from './contender.ts';
import { NODE_FLAGS } from './contender.ts';
import type { Ground } from './ground.ts';
import { createPoster } from './poster.ts';
import type { SandboxProcess } from './sandbox-process.ts';

export type Shape = 'services' | 'standalone';

export interface ProductSettings { ground: Ground; sandbox: SandboxProcess; folder: string; tree: string; policyDir: string; shape: Shape; redisNumber: number; profile?: boolean }

const OVER = `SELECT event_id FROM attempt WHERE attempt_key = ANY($1) AND state = 'delivered'
  UNION ALL SELECT event_id FROM attempt WHERE attempt_key = ANY($2) AND state = 'submitted'`;
const DEADLINES = 'SELECT event_id, decision_deadline_at FROM attempt WHERE attempt_key = ANY($1)';

const environmentOf = ({ sandbox, policyDir }: ProductSettings, databaseUrl: string, redisUrl: string | undefined): Record<string, string> => ({
  DATABASE_URL: databaseUrl, ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }), TOCSIN_KEYS: generateKeyRingText(), LOG_LEVEL: 'warn',
  TWILIO_BASE_URL: sandbox.http, TWILIO_ACCOUNT_SID: 'AC5a4db0c05a4db0c05a4db0c05a4db0c0', TWILIO_AUTH_TOKEN: 'sandbox-token', TWILIO_FROM: '+12025550100',
  SMTP_URL: sandbox.smtp, MAIL_FROM: 'Tocsin <tocsin@example.com>', TOCSIN_POLICY_DIR: policyDir, TOCSIN_DASHBOARD_URL: 'http://127.0.0.1:3001',
  // The sandbox has no limit; the shipped rate is for a real provider.
  TWILIO_POLLS_PER_SECOND: '1000000', NODE_OPTIONS: NODE_FLAGS,
});

const whenReady = async (service: ChildService): Promise<Record<string, unknown>> => {
  const told = await service.ready;
  if (!told) throw new Error(`${service.name} did not start: see its log`);
  return told;
};

const startServices = async (settings: ProductSettings, env: Record<string, string>): Promise<{ services: ChildService[]; url: string }> => {
  const services = (['intake', 'sms', 'email', 'coordinator'] as const).map((name) => startService({
    name, program: PROGRAMS[name].program.replace(/ts$/, 'js'), env: { ...env, ...PROGRAMS[name].env, LOG_LEVEL: 'info', ...profiling(settings, name) }, apart: true, compiled: true, root: settings.tree,
    logPath: join(settings.folder, `${settings.shape}-${name}.log`), readyIn: startedEvent,
  }));
  const told = await Promise.all(services.map(whenReady));
  return { services, url: String(told[0]?.['url']) };
};

/** Has a service begin and end a CPU profile at a signal (SIGUSR2). */
const profiling = ({ profile, folder }: ProductSettings, name: string): Record<string, string> => (profile !== true ? {} : {
  NODE_OPTIONS: `${NODE_FLAGS} --import ${fileURLToPath(new URL('./profile-preload.mjs', import.meta.url))}`, BENCH_PROFILE: join(folder, name),
});

const startStandalone = async (settings: ProductSettings, env: Record<string, string>): Promise<{ services: ChildService[]; url: string }> => {
  const dataDir = join(settings.folder, 'standalone');
  const service = startService({
    name: 'standalone', program: 'services/standalone/main.js', apart: true, compiled: true, root: settings.tree, logPath: join(settings.folder, 'standalone.log'), readyIn: standaloneReady,
    env: { ...env, TOCSIN_DATA_DIR: dataDir, INTAKE_PORT: '0', DASHBOARD_PORT: '0', SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: '0', ...profiling(settings, 'standalone') },
  });
  await whenReady(service);
  const file = JSON.parse(readFileSync(join(dataDir, 'standalone.json'), 'utf8')) as { intake: string };
  return { services: [service], url: file.intake };
};

/** Starts the product on a database of its own, as it runs in production: a process for each service, or all of them in one. */
export const startProduct = async (settings: ProductSettings): Promise<Contender> => {
  const { ground, shape } = settings;
  const databaseUrl = await ground.makeDatabase(`product_${shape}`);
  await migrate(databaseUrl);
  if (ground.backend === 'postgres') await migrateQueueSchema(databaseUrl, APP_ROLE);
  const key = generateApiKey().text;
  const db = openDatabase({ url: databaseUrl, poolSize: 1 });
  await insertApiKey(db, { id: apiKeyIdOf(key) as string, hash: Buffer.from(hashApiKey(key), 'hex'), tenant: 'default', label: 'bench', now: Date.now() });
  await db.close();
  const env = environmentOf(settings, databaseUrl, ground.redisUrl(settings.redisNumber));
  const { services, url } = await (shape === 'services' ? startServices(settings, env) : startStandalone(settings, env));
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1, idleTimeoutMillis: 0, options: '-c enable_seqscan=off' });
  pool.on('error', () => undefined);
  atTheEnd(() => pool.end());
  const smsKeys = (ids: readonly string[]): string[] => ids.map((id) => `${id}.sms.1`);
  return {
    name: `product, ${shape}`, pids: services.map((service) => service.pid), post: createPoster(url, key),
    completed: async (ids) => (await pool.query<{ event_id: string }>({ name: 'over', text: OVER, values: [smsKeys(ids), ids.map((id) => `${id}.email.1`)] })).rows.map((row) => row.event_id),
    deadlines: async (ids) => new Map((await pool.query<{ event_id: string; decision_deadline_at: Date }>(DEADLINES, [smsKeys(ids)])).rows.map((row) => [row.event_id, row.decision_deadline_at.getTime()])),
    tell: (signal) => services.forEach((service) => service.signal(signal)),
    freeze: () => services.forEach((service) => service.signal('SIGSTOP')),
    thaw: () => services.forEach((service) => service.signal('SIGCONT')),
  };
};
