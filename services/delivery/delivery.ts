import type { Channel } from '../../shared/domain/words.ts';
import { attemptKeyOf } from '../../shared/domain/words.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { isDatabaseAway } from '../../shared/ledger/database.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import type { RunningWorker } from '../../shared/queue/work-job.ts';
import type { Transport } from '../../shared/transports/transport.ts';

const DATABASE_AWAY_PAUSE_MS = 1_000;

export interface DeliverySettings {
  engine: Engine;
  queue: QueueBackend;
  channel: Channel;
  transport: Transport;
  concurrency: number;
  submitStartWithinMs: number;
  providerTimeoutMs: number;
  actor: string;
}

/** A channel's worker: one job is one attempt; the job's data is ids only, everything else is loaded. */
export const startDelivery = (settings: DeliverySettings): RunningWorker => {
  const { engine, channel, transport, submitStartWithinMs, actor } = settings;
  return settings.queue.startWorker(channel, {
    concurrency: settings.concurrency,
    // Longer than a whole call, so that a lock is not lost while a provider takes its time.
    lockDurationMs: settings.providerTimeoutMs + submitStartWithinMs + 10_000,
    handler: async ({ payload }) => {
      const key = attemptKeyOf(String(payload['eventId']), channel, Number(payload['sequence']));
      try {
        return await performAttempt(engine, key, { transport, submitStartWithinMs, actor });
      } catch (error) {
        if (!isDatabaseAway(error)) throw error;
        // The hint is kept: the ledger decides anew when it can be read, and finds a started submission where there was one.
        return { retryAtMs: Date.now() + DATABASE_AWAY_PAUSE_MS };
      }
    },
  });
};
