import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFileArtifactStore } from '../../shared/content/artifacts/file-artifact-store.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import type { Policy } from '../../shared/domain/policy.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createOriginDesk } from '../../shared/delivery/origin-desk.ts';
import { createHandOver } from '../../shared/delivery/hand-over.ts';
import type { HandOver } from '../../shared/delivery/hand-over.ts';
import { createRecent } from '../../shared/delivery/recent.ts';
import { createRelay } from '../../shared/delivery/relay.ts';
import type { Relay } from '../../shared/delivery/relay.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import { nextDueAt } from '../../shared/ledger/claims.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { openQueueBackend } from '../../shared/queue/queue-backend.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import type { Logger } from '../../shared/telemetry/logger.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { carriersFor } from '../../shared/transports/carriers.ts';
import type { TransportChoice } from '../../shared/transports/carriers.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';
import { createOriginClient } from '../../shared/transports/origin/client.ts';
import { startCoordinator } from '../../services/coordinator/coordinator.ts';
import type { Coordinator, CoordinatorSettings } from '../../services/coordinator/coordinator.ts';
import { startDelivery } from '../../services/delivery/delivery.ts';
import { startOrigin } from '../../services/sandbox/origin.ts';
import type { OriginStandIn } from '../../services/sandbox/origin.ts';
import { startSandbox } from '../../services/sandbox/sandbox.ts';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import type { TestBackend } from './backends.ts';
import { openQueuePath } from './queue-path.ts';
import { createTestDatabase } from './test-database.ts';
import { SANDBOX_ACCOUNT, sandboxProviders } from './sandbox-providers.ts';
import { through } from './tcp-proxy.ts';
import type { TcpProxy } from './tcp-proxy.ts';
import { createTestEngine, urgentRequest } from './test-engine.ts';

export interface World {
  engine: Engine;
  queue: QueueBackend;
  relay: Relay;
  coordinator: Coordinator;
  sandbox: RunningSandbox;
  /** The shop that is asked whether an order still waits. */
  origin: OriginStandIn;
  now: () => number;
  /** Accepts an urgent intent to the on-call whose number ends so; resolves to its event id. */
  accept: (ending: string, over?: Partial<AcceptRequest>) => Promise<string>;
  state: (eventId: string) => Promise<NotificationState>;
  status: (eventId: string) => Promise<string>;
  kinds: (eventId: string) => Promise<string[]>;
  /** Resolves once the condition holds, looked at after every append; the clock stands still. */
  until: (eventId: string, holds: (state: NotificationState) => boolean) => Promise<NotificationState>;
  /** Moves the clock from one due instant to the next, for so many milliseconds, and lets everything due come to pass. */
  advance: (ms: number) => Promise<void>;
  /** Between the services and their database; the test itself goes around it. */
  databaseProxy: TcpProxy;
  /** Where it runs together; else null. */
  handOver: HandOver | null;
  /** Takes the queue away, and gives it back. */
  takeQueueAway: () => Promise<void>;
  giveQueueBack: () => Promise<void>;
  /** Loses all that the queues hold: jobs, delays and schedulers. */
  flushQueue: () => Promise<void>;
  /** Where the queues are, past the proxy. */
  redisUrl: string | null;
  /** Stops every worker and the coordinator, and starts them anew: nothing that they held in memory is left. */
  restart: () => Promise<void>;
  /** Stops every worker and the coordinator, runs that, and starts them anew. */
  whileDown: (run: () => Promise<void>) => Promise<void>;
  /** Shifts the monotonic clock, as a pause of the process would. */
  pause: (ms: number) => void;
  /** Asks the database directly, as its owner. */
  ask: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;
  databaseUrl: string;
  /** A Maildir that delivery reports are read from, where the transports say that they are. */
  mailbox: string;
  /** Where the bytes of artifacts lie. */
  artifactDir: string;
  /** The key ring, as a command line would be given it. */
  keys: string;
  /** Moves the clock alone; nothing is waited for. */
  jump: (ms: number) => void;
  close: () => Promise<void>;
}

export interface WorldSettings {
  backend: TestBackend; policies?: Policy[]; templates?: TemplateVersion[]; providerTimeoutMs?: number; startAt?: number; transports?: TransportChoice; log?: Logger; ring?: string;
  pollsPerSecond?: CoordinatorSettings['pollsPerSecond'];
  /** Whom its coordinator tells; without it, nobody. */
  alerts?: CoordinatorSettings['alerts'];
  /** As the standalone runs: workers take over what this process enqueues, and what was just seen is not loaded again. */
  together?: boolean;
  /** For jitter; left out, it is random. */
  random?: () => number;
}

const ORIGIN_SECRET = 'a-secret-of-the-shop-with-forty-characters';

const DEFAULT_TRANSPORTS: TransportChoice = { sms: 'twilio', email: 'smtp' };

/** All services in this process on a real database and real queues, with the sandbox as provider and an injected clock. */
export const openWorld = async (settings: WorldSettings): Promise<World> => {
  const database = await createTestDatabase();
  if (settings.backend.kind === 'postgres') await migrateQueueSchema(database.url, 'tocsin_app');
  const databaseThrough = await through(database.url);
  const path = settings.backend.redisUrl ? await openQueuePath(settings.backend.redisUrl) : null;
  const redisUrl = path?.redisUrl ?? null;
  const direct = openDatabase({ url: database.url, poolSize: 2, role: null });
  let paused = 0;
  let at = settings.startAt ?? Date.now();
  const now = (): number => at;
  const sandbox = await startSandbox({ httpPort: 0, smtpPort: 0, ...SANDBOX_ACCOUNT, now });
  const origin = await startOrigin({ port: 0, secret: ORIGIN_SECRET, now });
  const watchers = new Set<() => void>();
  const keys = settings.ring ?? generateKeyRingText();
  const base = await createTestEngine({
    ring: keys, url: databaseThrough.url, now, carriers: carriersFor(settings.transports ?? DEFAULT_TRANSPORTS), ...(settings.policies ? { policies: settings.policies } : {}),
    ...(settings.templates ? { templates: settings.templates } : {}), ...(settings.log ? { log: settings.log } : {}), onEnqueued: () => relay.wake(),
  });
  const handOver = settings.together ? createHandOver(() => relay.wake()) : null;
  const artifactDir = await mkdtemp(join(tmpdir(), 'world-artifacts-'));
  const mailbox = await mkdtemp(join(tmpdir(), 'world-mailbox-'));
  for (const folder of ['new', 'cur', 'tmp']) await mkdir(join(mailbox, folder));
  const engine: Engine = {
    ...base,
    artifacts: createFileArtifactStore(artifactDir, base.ring),
    monotonic: () => performance.now() + paused,
    onAsked: (question) => desk.ask(question),
    ...(handOver ? { recent: createRecent(), hands: handOver.hands, onEnqueued: (attempts) => { if (!handOver.offer(attempts, now())) relay.wake(); } } : {}),
    ...(settings.random ? { random: settings.random } : {}),
    append: async (append) => {
      const won = await base.append(append);
      for (const watcher of [...watchers]) watcher();
      return won;
    },
  };
  // More than the product's two seconds, for the machine's sake.
  const desk = createOriginDesk({ engine, actor: 'origin', client: createOriginClient({ origins: [origin.url], secrets: [ORIGIN_SECRET], ca: origin.certificate, allowLoopback: true, now, limitMs: 4_000 }) });
  const queue = openQueueBackend({
    databaseUrl: databaseThrough.url, roleName: 'tocsin_app', ...path?.settings, onError: () => undefined, metrics: engine.metrics,
  });
  const relay = createRelay({ ledger: engine.ledger, queue, now, log: engine.log, metrics: engine.metrics, ...(handOver ? { handOver } : {}) });
  const providerTimeoutMs = settings.providerTimeoutMs ?? 1_000;
  const transports = (['sms', 'email'] as const).map((channel) => openTransport(channel, {
    ...sandboxProviders(sandbox, settings.transports ?? DEFAULT_TRANSPORTS), timeoutMs: providerTimeoutMs, now,
  }));
  const common = { engine, queue, relay, providerTimeoutMs, submitStartWithinMs: 2_000 };
  const startWorkers = () => transports.map((transport) => startDelivery({ ...common, channel: transport.channel, transport, concurrency: 8, actor: `delivery-${transport.channel}`, ...(handOver ? { takesOver: handOver } : {}) }));
  const startOneCoordinator = () => startCoordinator({ ...common, transports, actor: 'coordinator', pollConcurrency: 8, ...(settings.pollsPerSecond ? { pollsPerSecond: settings.pollsPerSecond } : {}), ...(settings.transports?.mailReports ? { bounceMaildir: mailbox } : {}), ...(settings.alerts ? { alerts: settings.alerts } : {}) });
  let workers = startWorkers();
  let coordinator = startOneCoordinator();
  const stopServices = async (): Promise<void> => {
    await coordinator.close();
    await Promise.all(workers.map((worker) => worker.close()));
  };

  // The workers' own statements and the drop may deadlock; whoever drops tries again.
  const dropQueueSchema = async (tries = 20): Promise<void> => {
    try {
      await direct.pool.query('DROP SCHEMA bullmq CASCADE');
    } catch (error) {
      if ((error as { code?: string }).code !== '40P01' || tries === 0) throw error;
      await dropQueueSchema(tries - 1);
    }
  };
  const state = async (eventId: string): Promise<NotificationState> => {
    const loaded = await engine.load(eventId);
    if (!loaded) throw new Error(`no ${eventId}`);
    return loaded.state;
  };
  const holds = async (check: () => Promise<boolean>): Promise<void> => {
    for (;;) {
      let changed = false;
      let wake: () => void = () => undefined;
      const signal = new Promise<void>((resolve) => { wake = resolve; });
      const watcher = (): void => { changed = true; wake(); };
      watchers.add(watcher);
      try {
        if (await check()) return;
        if (!changed) await signal;
      } finally {
        watchers.delete(watcher);
      }
    }
  };
  const busy = `SELECT (SELECT count(*) FROM attempt WHERE next_poll_at <= $1) + (SELECT count(*) FROM notification_state WHERE decide_at <= $1)
    + (SELECT count(*) FROM attempt WHERE state IN ('queued', 'submitting') AND provider_wait_at IS NULL) AS open`;
  const quiet = (): Promise<void> => holds(async () => Number((await engine.db.pool.query(busy, [new Date(at)])).rows[0].open) === 0);
  return {
    get coordinator() { return coordinator; },
    redisUrl, mailbox, handOver,
    engine, queue, relay, sandbox, origin, now, state, databaseProxy: databaseThrough.proxy, databaseUrl: database.url, artifactDir, keys,
    pause: (ms) => { paused += ms; },
    jump: (ms) => { at += ms; },
    ask: async (text, values = []) => (await direct.pool.query(text, values)).rows,
    takeQueueAway: async () => {
      if (path) path.cut();
      else await dropQueueSchema();
    },
    giveQueueBack: async () => {
      if (path) path.restore();
      else await migrateQueueSchema(database.url, 'tocsin_app');
    },
    flushQueue: async () => {
      if (path) return path.flush();
      await dropQueueSchema();
      return migrateQueueSchema(database.url, 'tocsin_app');
    },
    restart: async () => {
      await stopServices();
      workers = startWorkers();
      coordinator = startOneCoordinator();
    },
    whileDown: async (run) => {
      await stopServices();
      await run();
      workers = startWorkers();
      coordinator = startOneCoordinator();
    },
    accept: async (ending, over) => {
      const outcome = await acceptNotification(engine, urgentRequest(ending, over));
      if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
      return outcome.eventId;
    },
    status: async (eventId) => publicStatus(await state(eventId)),
    kinds: async (eventId) => (await readEntries(engine.db, eventId)).map((entry) => entry.kind),
    until: async (eventId, wanted) => {
      await holds(async () => wanted(await state(eventId)));
      return state(eventId);
    },
    advance: async (ms) => {
      const target = at + ms;
      for (;;) {
        const due = await nextDueAt(engine.db, at);
        if (due === null || due > target) break;
        at = Math.max(at, due);
        await coordinator.sweep();
        await desk.idle();
        await quiet();
        // A status read may have led to a question.
        await desk.idle();
        await quiet();
      }
      at = target;
    },
    close: async () => {
      await stopServices();
      await desk.close();
      await origin.close();
      await Promise.all(transports.map((transport) => transport.close()));
      await relay.close();
      await queue.close();
      await base.close();
      await sandbox.close();
      await direct.close();
      await databaseThrough.proxy.close();
      await path?.close();
      await database.drop();
      for (const folder of [artifactDir, mailbox]) await rm(folder, { recursive: true, force: true });
    },
  };
};
