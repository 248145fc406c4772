import type { EngineConfig } from '../config/engine-config.ts';
import { createFileArtifactStore } from '../content/artifacts/file-artifact-store.ts';
import { loadPolicies } from '../content/policy-file.ts';
import { loadTemplates } from '../content/template-file.ts';
import { createDatabaseClock } from '../ledger/database-clock.ts';
import { APP_ROLE, isDatabaseAway, openDatabase } from '../ledger/database.ts';
import type { Database } from '../ledger/database.ts';
import { missingMigrations } from '../ledger/migrate.ts';
import { createPostgresLedger } from '../ledger/postgres-ledger.ts';
import { publishVersions } from '../ledger/versions.ts';
import { checkRedis } from '../queue/check-redis.ts';
import { openQueueBackend } from '../queue/queue-backend.ts';
import type { QueueBackend } from '../queue/queue-backend.ts';
import { parseKeyRing } from '../security/key-ring.ts';
import { REDACT_PATHS } from '../security/redact.ts';
import { EVENTS } from '../telemetry/events.ts';
import { armFaultPoint } from '../telemetry/fault-points.ts';
import { createLogger } from '../telemetry/logger.ts';
import { unfitVersions } from './unfit-versions.ts';
import { watchDeployment } from './watch-deployment.ts';
import { watchOldestDue } from './watch-oldest-due.ts';
import { processMetrics, tellBuild } from '../telemetry/metrics.ts';
import type { Logger } from '../telemetry/logger.ts';
import { carriersFor } from '../transports/carriers.ts';
import { createOriginClient } from '../transports/origin/client.ts';
import { refuseWrongKeys } from './check-keys.ts';
import { createEngine } from './engine.ts';
import type { Engine } from './engine.ts';
import { createOriginDesk } from './origin-desk.ts';
import { createHandOver } from './hand-over.ts';
import type { HandOver } from './hand-over.ts';
import type { NotificationState } from '../domain/state.ts';
import { createRecent } from './recent.ts';
import { createRelay } from './relay.ts';
import type { Relay } from './relay.ts';

/** What a process needs to take part: engine, queues and relay on their real parts. */
export interface Runtime {
  engine: Engine; queue: QueueBackend; relay: Relay; log: Logger; actor: string;
  /** Where workers of this very process say that they take what it enqueues. */
  handOver: HandOver;
  /** Has what each commit led to told to a coordinator of this very process. */
  tellMoves: (listener: (state: NotificationState) => void) => void;
  close: () => Promise<void>;
}

const CLOCK_EVERY_MS = 30_000;

/** The database lacks migrations: nothing may run on it yet. */
export class NotMigratedError extends Error {
  override readonly name = 'NotMigratedError';
}

/** A provider call plus the fence must end before the ledger calls its outcome unknown. @throws where a policy's clocks do not allow that. */
const checkSubmitLimits = (policies: ReturnType<typeof loadPolicies>, config: EngineConfig): void => {
  const least = config.submitStartWithinMs + config.providerTimeoutMs + 500;
  for (const policy of policies) {
    for (const step of policy.steps) {
      if (step.submitLimitMs < least) {
        throw new Error(`policy ${policy.purpose} ${policy.version}, step ${step.name}: submit_limit is ${step.submitLimitMs} ms, but SUBMIT_START_WITHIN_MS and PROVIDER_TIMEOUT_MS need ${least} ms; raise submit_limit or lower PROVIDER_TIMEOUT_MS`);
      }
    }
  }
};

const refuseUnmigrated = async (db: Database): Promise<void> => {
  const missing = await missingMigrations(async (text) => (await db.pool.query(text)).rows);
  if (missing.length > 0) throw new NotMigratedError(`the database lacks ${missing.length} migration(s), first ${missing[0]}: run \`npx tocsin migrate\``);
};

const checkQueue = async (config: EngineConfig, log: Logger): Promise<void> => {
  if (config.redisUrl === undefined) return;
  // A Redis that is away at boot is no reason not to start: accepting and deciding need Postgres alone.
  const findings = await checkRedis(config.redisUrl).catch(() => []);
  const fatal = findings.find((finding) => finding.level === 'error');
  if (fatal) throw new Error(fatal.message);
  for (const finding of findings) log.warn({ event: EVENTS.started, code: finding.code }, finding.message);
};

/** Names and codes only: a message may quote what was sent. */
const failedJob = (error: Error, where: string) => ({
  event: isDatabaseAway(error) ? EVENTS.databaseAway : EVENTS.jobFailed, where, error: error.name, code: (error as { code?: string }).code,
});

/**
 * Opens the runtime of a service: checks the schema, publishes the shipped versions, and connects the queues. `together`: all services run in
 * this process, so that what one of them has just seen is kept for the next.
 * @throws NotMigratedError; errors that name the file or variable at fault.
 */
export const openRuntime = async (config: EngineConfig, service: string, destination?: Parameters<typeof createLogger>[0]['destination'], { together = false } = {}): Promise<Runtime> => {
  const log = createLogger({ level: config.logLevel, service, redactPaths: REDACT_PATHS, ...(destination ? { destination } : {}) });
  if (config.killAt !== undefined) armFaultPoint(config.killAt);
  const ring = parseKeyRing(config.keys);
  const policies = loadPolicies(config.policyDir);
  const templates = loadTemplates(config.templateDir);
  checkSubmitLimits(policies, config);
  const unfit = unfitVersions({ policyDir: config.policyDir, templateDir: config.templateDir, carriers: carriersFor(config.transports) });
  for (const { purpose, version, why } of unfit.filter(({ tell }) => tell)) log.error({ event: EVENTS.policyUnfit, policy: `${purpose}/${version}` }, `this version is not taken up by itself: ${why}`);
  const db = openDatabase({ url: config.databaseUrl, poolSize: config.poolSize, onPoolError: (error) => log.warn({ event: EVENTS.databaseAway, error: error.message }) });
  try {
    const clock = createDatabaseClock(db);
    await clock.refresh();
    await refuseUnmigrated(db);
    await refuseWrongKeys(db, ring);
    await publishVersions(db, { policies, unfit, templates: templates.map((template) => ({ name: template.name, version: template.version, definition: template })), now: clock.now() });
    await checkQueue(config, log);
    const clockTimer = setInterval(() => void clock.refresh().catch(() => undefined), CLOCK_EVERY_MS);
    clockTimer.unref();
    const queue = openQueueBackend({
      databaseUrl: config.databaseUrl, roleName: APP_ROLE, ...(config.redisUrl === undefined ? {} : { redisUrl: config.redisUrl }),
      onError: (error, where) => log.warn(where.startsWith('handler') ? failedJob(error, where) : { event: EVENTS.queueAway, where, error: error.message }),
    });
    tellBuild(processMetrics, { service, backend: queue.kind });
    processMetrics.addProcess();
    watchOldestDue(processMetrics, db, clock.now);
    const ledger = createPostgresLedger(db);
    const handOver = createHandOver(() => relay.wake());
    const relay: Relay = createRelay({ ledger, queue, now: clock.now, log, handOver });
    let moved: (state: NotificationState) => void = () => undefined;
    const engine = createEngine({
      ...(together ? { recent: createRecent(), hands: handOver.hands } : {}), db, ledger, ring, carriers: carriersFor(config.transports), sender: config.sender, artifacts: createFileArtifactStore(config.artifactDir, ring), prices: config.prices, log, now: clock.now,
      onEnqueued: (attempts) => { if (!handOver.offer(attempts, clock.now())) relay.wake(); }, onMoved: (state) => moved(state), onAsked: (question) => desk.ask(question),
    });
    const desk = createOriginDesk({ engine, actor: service, client: config.precondition && createOriginClient({ ...config.precondition, now: clock.now }) });
    watchDeployment(engine);
    return {
      engine, queue, relay, log, actor: service, handOver,
      tellMoves: (listener) => { moved = listener; },
      close: async () => {
        clearInterval(clockTimer);
        await desk.close();
        await relay.close();
        await queue.close();
        await db.close();
        log.info({ event: EVENTS.stopped, pid: process.pid });
      },
    };
  } catch (error) {
    await db.close().catch(() => undefined);
    throw error;
  }
};
