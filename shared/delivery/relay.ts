import type { OutboxRow } from '../ledger/claims.ts';
import type { LedgerPort } from '../ledger/ledger-port.ts';
import type { QueueBackend } from '../queue/queue-backend.ts';
import { attemptJobId } from '../queue/queue-names.ts';
import type { WorkJob } from '../queue/work-job.ts';
import type { HandOver } from './hand-over.ts';
import { CHANNELS, parseAttemptKey } from '../domain/words.ts';
import { faultPoint } from '../telemetry/fault-points.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { processMetrics } from '../telemetry/metrics.ts';

const BATCH = 500;

export interface Relay {
  /** Says that rows may be waiting; returns at once. */
  wake: () => void;
  /** Moves what is waiting; resolves once a pass found no more, rejects where queue or database is away. */
  drain: () => Promise<void>;
  close: () => Promise<void>;
}

const jobOf = (row: OutboxRow, now: number): WorkJob => ({
  id: attemptJobId(row.attemptKey, row.generation), name: 'attempt',
  payload: { eventId: row.eventId, channel: row.channel, sequence: parseAttemptKey(row.attemptKey)?.sequence ?? 1 },
  delayMs: Math.max(0, row.notBeforeAt - now),
});

export interface RelaySettings {
  ledger: Pick<LedgerPort, 'moveOutbox'>;
  queue: Pick<QueueBackend, 'addJobs'>;
  now: () => number;
  log: Logger;
  metrics?: Metrics;
  /** What this process performs by itself: that is not enqueued. */
  handOver?: Pick<HandOver, 'inHand' | 'holds' | 'wasPerformed' | 'forget'>;
}

/** Of the rows that were taken one is in hand: it was taken up after it had been said which ones are. */
class TakenUpMeanwhile extends Error {}

/**
 * Moves outbox rows into the channel queues: enqueued first, removed after, so that a crash in between enqueues twice at
 * worst, which the ledger makes harmless. Where the queue is away the rows stay; the coordinator's sweep comes back to them.
 */
export const createRelay = (settings: RelaySettings): Relay => {
  const { metrics = processMetrics, handOver } = settings;
  let running: Promise<void> | null = null;
  let again = false;
  let closed = false;

  const enqueue = async (taken: OutboxRow[]): Promise<void> => {
    const now = settings.now();
    if (handOver && taken.some(handOver.holds)) throw new TakenUpMeanwhile();
    const rows = handOver ? taken.filter((row) => !handOver.wasPerformed(row)) : taken;
    await Promise.all(CHANNELS.map((channel) =>
      settings.queue.addJobs(channel, rows.filter((row) => row.channel === channel).map((row) => jobOf(row, now)))));
    for (const { channel, notBeforeAt } of rows) {
      metrics.relayed.inc({ channel });
      // What is laid on a later instant has not waited for us.
      if (notBeforeAt <= now) metrics.relayLagSeconds.observe({ channel }, (now - notBeforeAt) / 1000);
    }
    faultPoint('outbox-enqueued');
  };
  /** Whether there may be more. */
  const move = async (): Promise<boolean> => {
    let taken: OutboxRow[] = [];
    try {
      const moved = await settings.ledger.moveOutbox(BATCH, (rows) => { taken = rows; return enqueue(rows); }, handOver?.inHand());
      // Not before they are gone: what is given back was still performed.
      handOver?.forget(taken);
      return moved === BATCH;
    } catch (error) {
      if (error instanceof TakenUpMeanwhile) return true;
      throw error;
    }
  };
  const pass = async (): Promise<void> => {
    do {
      again = false;
      while (!closed && await move());
    } while (again && !closed);
  };
  const drain = (): Promise<void> => {
    if (closed) return Promise.resolve();
    again = true;
    running ??= pass().finally(() => { running = null; });
    return running;
  };
  return {
    wake: () => {
      drain().catch((error: unknown) => settings.log.warn({ event: EVENTS.relayFailed, error: (error as Error).name }));
    },
    drain,
    close: async () => {
      closed = true;
      await running?.catch(() => undefined);
    },
  };
};
