import { join } from 'node:path';
import type { Environment } from '../../shared/config/environment.ts';
import { DEMO_SENDER } from '../../shared/config/cli-config.ts';
import { readVariables } from '../../shared/config/environment.ts';
import { readAlertConfig } from '../../shared/config/alert-config.ts';
import { readCheckpointFile } from '../../shared/config/checkpoint-config.ts';
import { readErasureFile } from '../../shared/config/erasure-config.ts';
import { readEngineConfig } from '../../shared/config/engine-config.ts';
import { freePort } from '../../shared/http/free-port.ts';
import { readDashboardConfig, readIntakeConfig } from '../../shared/config/intake-config.ts';
import { readSandboxConfig } from '../../shared/config/sandbox-config.ts';
import type { SandboxConfig } from '../../shared/config/sandbox-config.ts';
import type { StandaloneConfig } from '../../shared/config/standalone-config.ts';
import { readCoordinatorConfig, readTransportConfig } from '../../shared/config/worker-config.ts';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { loadRoster } from '../../shared/content/roster.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';
import { operatorAsTold } from '../../shared/delivery/operators.ts';
import { openRuntime } from '../../shared/delivery/open-runtime.ts';
import type { Runtime } from '../../shared/delivery/open-runtime.ts';
import { createApiKeyFinder, insertApiKey } from '../../shared/ledger/api-keys.ts';
import { APP_ROLE, openDatabase } from '../../shared/ledger/database.ts';
import { migrate } from '../../shared/ledger/migrate.ts';
import { newestSealed } from '../../shared/ledger/reads.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { CHANNELS } from '../../shared/domain/words.ts';
import { apiKeyIdOf, generateApiKey, hashApiKey } from '../../shared/security/api-key.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { openReceivers } from '../../shared/transports/alerts/open-receivers.ts';
import { openThreadedTransports } from '../../shared/transports/threaded/open-threaded.ts';
import { startCoordinator } from '../coordinator/coordinator.ts';
import { startDashboard } from '../dashboard/dashboard.ts';
import { startDelivery } from '../delivery/delivery.ts';
import { startIntake } from '../intake/intake.ts';
import type { OriginStandIn } from '../sandbox/origin.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { ensureDataDir, keptSecret, makePassword, removeStandaloneFile, writePrivately, writeStandaloneFile } from './data-dir.ts';
import type { StandaloneFile } from './data-dir.ts';
import { createClosers } from './closers.ts';
import { keepPostgres } from './keep-postgres.ts';
import { armFaultPoint, faultPoint } from '../../shared/telemetry/fault-points.ts';

export interface RunningStandalone {
  file: StandaloneFile;
  /** Whether the queue could be reached at the start: one that is away is no reason not to start. */
  queueAnswers: boolean;
  close: () => Promise<void>;
}

const apiKeyFor = async (runtime: Runtime, dataDir: string): Promise<string> => {
  const text = await keptSecret(dataDir, 'api-key', () => generateApiKey().text);
  const hash = Buffer.from(hashApiKey(text), 'hex');
  if (!(await createApiKeyFinder(runtime.engine.db)(hash))) {
    await insertApiKey(runtime.engine.db, { id: apiKeyIdOf(text) ?? 'standalone', hash, tenant: 'default', label: 'standalone', now: runtime.engine.now() });
  }
  return text;
};

/** Reads every setting and file before anything is started, so that a mistake is told at once and leaves nothing behind. */
const preflight = (env: Environment, config: StandaloneConfig): void => {
  const stand: Environment = {
    TWILIO_FROM: '+12025550100', MAIL_FROM: 'tocsin@example.com', TOCSIN_KEYS: 'k0:', OPERATOR_PASSWORD: 'not-yet-made', TWILIO_ACCOUNT_SID: `AC${'0'.repeat(32)}`,
    TWILIO_AUTH_TOKEN: 'none', SMTP_URL: 'smtp://127.0.0.1', TWILIO_BASE_URL: 'http://127.0.0.1',
    SINCH_BASE_URL: 'http://127.0.0.1', SINCH_PLAN_ID: 'none', SINCH_TOKEN: 'none', SINCH_FROM: '+12025550100', RESEND_BASE_URL: 'http://127.0.0.1', RESEND_API_KEY: 'none', ...given(env), DATABASE_URL: config.databaseUrl ?? 'postgres://embedded', LOG_LEVEL: config.logLevel,
  };
  const { policyDir, templateDir } = readEngineConfig(stand);
  readIntakeConfig(stand);
  readDashboardConfig(stand);
  readTransportConfig(stand);
  readCoordinatorConfig(stand);
  readAlertConfig(stand);
  readVariables(stand, ['DELIVERY_CONCURRENCY', 'TOCSIN_KILL_AT']);
  loadRoster(policyDir);
  loadPolicies(policyDir);
  loadTemplates(templateDir);
};

/** What is set; an empty variable counts as unset. */
const given = (env: Environment): Environment => Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));

/** A key ring is only made where nothing was sealed yet: with a new one, what the database holds could never be read again. */
const keysFor = async (config: StandaloneConfig, databaseUrl: string): Promise<string> => keptSecret(config.dataDir, 'keys', async () => {
  const db = openDatabase({ url: databaseUrl, poolSize: 1 });
  try {
    if (await newestSealed(db)) throw new Error(`${join(config.dataDir, 'keys')} is missing, but the database holds what was sealed with it: put the kept file back, or set TOCSIN_KEYS`);
  } finally {
    await db.close();
  }
  return generateKeyRingText();
});

interface SandboxFound { httpUrl: string; smtpUrl: string; account: SandboxConfig; origin: OriginStandIn | null }

/** The sandbox's shop may be asked too, unless a provider or an origin of one's own is named: a real message must not depend on a stand-in. */
const sandboxOrigin = async (env: Environment, config: StandaloneConfig, { account, origin }: SandboxFound): Promise<Environment> => {
  const own = given(env);
  const named = ['PRECONDITION_ORIGINS', 'TWILIO_BASE_URL', 'SINCH_BASE_URL', 'RESEND_BASE_URL', 'SMTP_URL'].some((name) => own[name] !== undefined);
  if (origin === null || named) return {};
  const path = join(config.dataDir, 'sandbox-origin.pem');
  await writePrivately(path, origin.certificate);
  return { PRECONDITION_ORIGINS: origin.url, PRECONDITION_SECRET: account.preconditionSecret, PRECONDITION_CA: path, PRECONDITION_LOOPBACK: '1' };
};

/** Fills in what a newcomer need not know: keys, demo mode, and the sandbox as provider unless another one is named. */
const fillIn = async (env: Environment, config: StandaloneConfig, found: { databaseUrl: string; sandbox: SandboxFound; dashboardPort: string }): Promise<Environment> => ({
  TOCSIN_DEMO: '1', TWILIO_FROM: DEMO_SENDER.sms, MAIL_FROM: DEMO_SENDER.email,
  TWILIO_BASE_URL: found.sandbox.httpUrl, TWILIO_ACCOUNT_SID: found.sandbox.account.accountSid, TWILIO_AUTH_TOKEN: found.sandbox.account.authToken, SMTP_URL: found.sandbox.smtpUrl,
  SINCH_BASE_URL: found.sandbox.httpUrl, SINCH_PLAN_ID: found.sandbox.account.sinchPlanId, SINCH_TOKEN: found.sandbox.account.sinchToken, SINCH_FROM: '+12025550100',
  RESEND_BASE_URL: found.sandbox.httpUrl, RESEND_API_KEY: found.sandbox.account.resendApiKey,
  ...(given(env)['TOCSIN_KEYS'] === undefined ? { TOCSIN_KEYS: await keysFor(config, found.databaseUrl) } : {}),
  OPERATOR_PASSWORD: await keptSecret(config.dataDir, 'operator-password', makePassword),
  ...(await sandboxOrigin(env, config, found.sandbox)),
  ...given(env),
  DATABASE_URL: found.databaseUrl, LOG_LEVEL: config.logLevel, DASHBOARD_PORT: found.dashboardPort,
});

/**
 * Starts everything in this process: Postgres (embedded unless DATABASE_URL names another), sandbox, intake, both delivery
 * workers, coordinator and dashboard, and says in `standalone.json` where they are once all of them answer.
 */
export const startStandalone = async (env: Environment, config: StandaloneConfig, say: (line: string) => void): Promise<RunningStandalone> => {
  await ensureDataDir(config.dataDir);
  await removeStandaloneFile(config.dataDir);
  preflight(env, config);
  const closers = createClosers();
  try {
    return await startAll(env, config, { say, closers });
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
};

const startAll = async (env: Environment, config: StandaloneConfig, { say, closers }: { say: (line: string) => void; closers: ReturnType<typeof createClosers> }): Promise<RunningStandalone> => {
  const { TOCSIN_KILL_AT: killAt } = readVariables(env, ['TOCSIN_KILL_AT']);
  if (killAt !== undefined) armFaultPoint(killAt);
  const sandboxConfig = readSandboxConfig(env as NodeJS.ProcessEnv);
  const sandbox = await startSandbox(sandboxConfig);
  closers.add(() => sandbox.close());
  const databaseUrl = config.databaseUrl ?? await embedded(config, { say, closers });
  await migrate(databaseUrl, { onApplied: (name) => say(`migrated: ${name}`), beforeCommit: () => faultPoint('mid-migration') });
  if (config.redisUrl === undefined) await migrateQueueSchema(databaseUrl, APP_ROLE);
  const dashboardPort = await freePortWhereZero(env['DASHBOARD_PORT'] || '3001');
  const full = await fillIn(env, config, { databaseUrl, dashboardPort, sandbox: { httpUrl: sandbox.httpUrl, smtpUrl: sandbox.smtpUrl, account: sandboxConfig, origin: sandbox.origin } });
  const engineConfig = readEngineConfig(full);
  const runtime = await openRuntime({ ...engineConfig, killAt: undefined }, 'standalone', undefined, { together: true });
  closers.add(() => runtime.close());
  const dashboardConfig = readDashboardConfig(full);
  const services = await startServices(full, runtime, { engineConfig, dashboardConfig, closers });
  const file: StandaloneFile = {
    intake: services.intake.url, dashboard: services.dashboard.url, sandbox: sandbox.httpUrl, smtp: sandbox.smtpUrl, database: databaseUrl,
    queue: runtime.queue.kind === 'redis' ? (config.redisUrl as string) : 'postgres', api_key: await apiKeyFor(runtime, config.dataDir), operator: await operatorAsTold(runtime.engine, dashboardConfig.operator),
  };
  closers.add(() => removeStandaloneFile(config.dataDir));
  await writeStandaloneFile(config.dataDir, file);
  return { file, queueAnswers: runtime.queue.kind === 'postgres' || await runtime.queue.ping(), close: () => closers.closeAll() };
};

const embedded = async (config: StandaloneConfig, { say, closers }: { say: (line: string) => void; closers: ReturnType<typeof createClosers> }): Promise<string> => {
  const postgres = await keepPostgres({ dataDir: config.dataDir, say });
  closers.add(() => postgres.close());
  return postgres.url;
};

interface ServiceParts { engineConfig: ReturnType<typeof readEngineConfig>; dashboardConfig: ReturnType<typeof readDashboardConfig>; closers: ReturnType<typeof createClosers> }

const startServices = async (env: Environment, runtime: Runtime, { engineConfig, dashboardConfig, closers }: ServiceParts) => {
  const { engine, queue, relay, log } = runtime;
  const transportConfig = { ...readTransportConfig(env), now: engine.now };
  const transports = openThreadedTransports(CHANNELS, transportConfig);
  closers.add(async () => { await Promise.all(transports.map((transport) => transport.close())); });
  const common = { engine, queue, submitStartWithinMs: engineConfig.submitStartWithinMs, providerTimeoutMs: engineConfig.providerTimeoutMs };
  const { DELIVERY_CONCURRENCY: concurrency } = readVariables(env, ['DELIVERY_CONCURRENCY']);
  for (const transport of transports) {
    const worker = startDelivery({ ...common, channel: transport.channel, transport, concurrency, actor: `delivery-${transport.channel}`, takesOver: runtime.handOver });
    closers.add(() => worker.close());
  }
  const alertConfig = readAlertConfig(env);
  const alerts = { receivers: openReceivers(alertConfig), links: { dashboardUrl: engineConfig.dashboardUrl, runbookUrl: alertConfig.runbookUrl }, heartbeatUrl: alertConfig.heartbeatUrl };
  const coordinator = startCoordinator({ ...common, relay, alerts, transports, actor: 'coordinator', onMoved: runtime.tellMoves, ...readCoordinatorConfig(env), checkpointFile: readCheckpointFile(env), erasureFile: readErasureFile(env) });
  closers.add(() => coordinator.close());
  const dashboard = await startDashboard({ engine, queue, config: dashboardConfig, log });
  closers.add(() => dashboard.close());
  const intake = await startIntake({ engine, roster: loadRoster(engineConfig.policyDir), config: readIntakeConfig(env), dashboardUrl: engineConfig.dashboardUrl, log });
  closers.add(() => intake.close());
  return { intake, dashboard };
};

/** Links in messages name the dashboard before it listens, so that a free port is chosen beforehand. */
const freePortWhereZero = async (port: string): Promise<string> => (port === '0' ? String(await freePort()) : port);
