import { processEnvironment, readEngineConfig } from '../../shared/config/engine-config.ts';
import { readTransportConfig } from '../../shared/config/worker-config.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { openRuntime } from '../../shared/delivery/open-runtime.ts';
import { createRelay } from '../../shared/delivery/relay.ts';
import { retryAttempt } from '../../shared/delivery/retry-attempt.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';
import { startCoordinator } from '../../services/coordinator/coordinator.ts';
import { startDelivery } from '../../services/delivery/delivery.ts';
import { gatedAppend } from './gated-append.ts';
import type { Answer, Asked, PartSettings, Told } from './messages.ts';

/**
 * One process of a deployment, with the product's own runtime, workers and coordinator. The test says over IPC which parts run,
 * which append waits between load and append, and what time it is; nothing else of it is the test's.
 */
const tell = (told: Told, sent?: () => void): void => { process.send?.(told, undefined, undefined, () => sent?.()); };
const env = processEnvironment();
const config = readEngineConfig(env);
const runtime = await openRuntime(config, 'racer', { write: (line) => tell({ told: 'logged', line: JSON.parse(line) as Record<string, unknown> }) });
/** Wide, so that a slow machine is not taken for a paused process or a silent provider; where the fence is the point, the test sets a narrow one. */
const LOOSE_FENCE_MS = 10_000;
const LOOSE_TIMEOUT_MS = 60_000;
let at = runtime.engine.now();
const now = (): number => at;
const gated = gatedAppend(runtime.engine.append, tell);
const engine: Engine = { ...runtime.engine, now, monotonic: () => performance.now() - gated.heldMs(), append: gated.append, onEnqueued: () => relay.wake() };
const relay = createRelay({ ledger: engine.ledger, queue: runtime.queue, now, log: engine.log });
const transports = (['sms', 'email'] as const).map((channel) => openTransport(channel, { ...readTransportConfig(env), timeoutMs: LOOSE_TIMEOUT_MS, now }));
let running: { close: () => Promise<void> }[] = [];

/** The queues as they are, but every job is told of, and a lock may be shorter. */
const toldQueue = (lockDurationMs: number | undefined): QueueBackend => ({
  ...runtime.queue,
  startWorker: (queue, settings) => runtime.queue.startWorker(queue, {
    ...settings,
    lockDurationMs: lockDurationMs ?? settings.lockDurationMs,
    handler: async (job) => {
      tell({ told: 'took', queue, jobId: job.id });
      const result = await settings.handler(job);
      tell({ told: 'finished', queue, jobId: job.id });
      return result;
    },
  }),
});

const start = async ({ part, submitStartWithinMs = LOOSE_FENCE_MS, lockDurationMs }: PartSettings): Promise<void> => {
  const common = { engine, queue: toldQueue(lockDurationMs), relay, providerTimeoutMs: config.providerTimeoutMs, actor: `${part}-${process.pid}` };
  if (part === 'coordinator') {
    running.push(startCoordinator({ ...common, transports, pollConcurrency: 4 }));
    return;
  }
  const transport = transports.find((one) => one.channel === part);
  if (!transport) throw new Error(`no transport for ${part}`);
  // One job at a time: of two jobs the other process has to take the second.
  const worker = startDelivery({ ...common, channel: part, transport, concurrency: 1, submitStartWithinMs });
  running.push(worker);
  await worker.whenReady();
};

const carryOut = async (asked: Asked): Promise<Answer> => {
  switch (asked.ask) {
    case 'start': await start(asked.part); break;
    case 'stop-parts':
      await Promise.all(running.map((part) => part.close()));
      running = [];
      break;
    case 'gate': gated.set(asked.gates); break;
    case 'release': gated.release(); break;
    case 'clock': at = asked.at; break;
    case 'retry': return {
      retried: await retryAttempt(engine, { tenant: null, attempt: asked.attempt, reason: 'checked', overrides: {}, actor: asked.actor, requestId: asked.requestId }),
    };
  }
  return {};
};

process.on('message', ({ id, asked }: { id: number; asked: Asked }) => {
  carryOut(asked).then((answer) => tell({ told: 'answer', id, answer }), (error: unknown) => tell({ told: 'failed', id, error: String((error as Error).stack) }));
});
// Whoever started it is gone or done with it: what is in hand is the ledger's business.
process.on('disconnect', () => process.exit(0));
tell({ told: 'ready' });
