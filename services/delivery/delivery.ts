import type { Channel } from '../../shared/domain/words.ts';
import { attemptKeyOf } from '../../shared/domain/words.ts';
import type { AttemptKey } from '../../shared/domain/words.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createGate } from '../../shared/delivery/gate.ts';
import type { InTurn } from '../../shared/delivery/gate.ts';
import { createPlaces } from './places.ts';
import type { PlaceAhead } from './places.ts';
import type { HandOver } from '../../shared/delivery/hand-over.ts';
import { performAttempt, performStarted } from '../../shared/delivery/perform-attempt.ts';
import type { Performed } from '../../shared/delivery/perform-attempt.ts';
import { isDatabaseAway } from '../../shared/ledger/database.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { settledWithin } from '../../shared/queue/within.ts';
import type { RunningWorker } from '../../shared/queue/work-job.ts';
import type { Transport } from '../../shared/transports/transport.ts';

const DATABASE_AWAY_PAUSE_MS = 1_000;
/** As long as the queue's own workers wait for what is in hand. */
const GRACE_MS = 2_500;

export interface DeliverySettings {
  engine: Engine;
  queue: QueueBackend;
  channel: Channel;
  transport: Transport;
  concurrency: number;
  submitStartWithinMs: number;
  providerTimeoutMs: number;
  actor: string;
  /** Where this process hands over by itself what it enqueues; without it everything comes by the queue. */
  takesOver?: HandOver;
}

/** A channel's worker: one job is one attempt; the job's data is ids only, everything else is loaded. */
export const startDelivery = (settings: DeliverySettings): RunningWorker => {
  const { engine, channel, transport, submitStartWithinMs, actor, takesOver } = settings;
  const gate = createGate(settings.concurrency);
  const places = createPlaces(engine.monotonic, gate.room);
  const perform = (key: AttemptKey): Promise<Performed> => gate(() => performAttempt(engine, key, { transport, submitStartWithinMs, actor }));
  const worker = settings.queue.startWorker(channel, {
    concurrency: settings.concurrency,
    // Longer than a whole call, so that a lock is not lost while a provider takes its time.
    lockDurationMs: settings.providerTimeoutMs + submitStartWithinMs + 10_000,
    handler: async ({ payload }) => {
      const key = attemptKeyOf(String(payload['eventId']), channel, Number(payload['sequence']));
      try {
        return await perform(key).finally(places.look);
      } catch (error) {
        if (!isDatabaseAway(error)) throw error;
        // The hint is kept: the ledger decides anew when it can be read, and finds a started submission where there was one.
        return { retryAtMs: Date.now() + DATABASE_AWAY_PAUSE_MS };
      }
    },
  });
  // Only the calls are counted: what is being written down takes nothing of the provider.
  const inTurn = (place: PlaceAhead): InTurn => (call) => gate(() => place.call(call));
  let closing = false;
  const leave = takesOver?.serve(channel, async ({ attemptKey }) => {
    const place = await places.await();
    try {
      return !closing && await performAttempt(engine, attemptKey, { transport, submitStartWithinMs, actor, inTurn: inTurn(place) }) === 'done';
    } catch (error) {
      engine.log.warn({ event: isDatabaseAway(error) ? EVENTS.databaseAway : EVENTS.jobFailed, where: `handed over ${channel}`, error: (error as Error).name });
      return false;
    } finally {
      place.leave();
    }
  });
  const withdraw = takesOver?.hands.serve(channel, {
    provider: transport.name,
    place: () => {
      const place = places.enter();
      if (!place) return null;
      return {
        leave: place.leave,
        submit: (key, started) => void performStarted(engine, key, started, { transport, submitStartWithinMs, actor, inTurn: inTurn(place) })
          .catch((error: unknown) => engine.log.warn({ event: EVENTS.jobFailed, where: `started ${channel}`, error: (error as Error).name })).finally(place.leave),
      };
    },
  });
  return {
    ...worker,
    close: async (graceMs = GRACE_MS) => {
      closing = true;
      leave?.();
      withdraw?.();
      await Promise.all([worker.close(graceMs), settledWithin(graceMs, Promise.all([gate.idle(), places.idle()]))]);
    },
  };
};
