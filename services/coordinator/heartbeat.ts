import type { Engine } from '../../shared/delivery/engine.ts';
import type { Relay } from '../../shared/delivery/relay.ts';
import type { QueueBackend } from '../../shared/queue/queue-backend.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';

const LOOK_EVERY_MS = 250;
/** No finished sweep for this long: the queue was flushed, is away, or its worker is. */
const SILENT_AFTER_MS = 2_000;
/** A decision overdue by this much is taken without waiting for the silence to last: the tick that should have taken it is lost or late. */
const OVERDUE_AFTER_MS = 1_000;

export interface HeartbeatSettings {
  engine: Engine;
  queue: QueueBackend;
  relay: Relay;
  sweep: () => Promise<void>;
  tickEveryMs: number;
  /** Whether the last sweep made polls by itself, for the queue is away: then nobody else comes back for those that a rate held back. */
  pollsHere: () => boolean;
}

/**
 * Each coordinator's own pulse. When the ledger shows no finished sweep for two seconds it makes the schedulers again and
 * sweeps by itself, and it sweeps when a decision is overdue by one, so that decisions need Postgres alone. Also how the first tick of a fresh deployment comes about.
 */
export const startHeartbeat = (settings: HeartbeatSettings): { close: () => Promise<void> } => {
  const { engine, queue, relay } = settings;
  const startedAt = engine.monotonic();
  let closed = false;
  let looking: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  let scheduling: Promise<void> | null = null;

  // Not awaited: a queue that is away takes its time to say so, and decisions must not wait for it.
  const schedule = (): void => {
    scheduling ??= queue.ensureTick(settings.tickEveryMs)
      .catch((error: unknown) => engine.log.debug({ event: EVENTS.queueAway, error: (error as Error).name }))
      .finally(() => { scheduling = null; });
  };
  const look = async (): Promise<void> => {
    const { beatAt: last, decisionAt } = await engine.ledger.readPulse('sweep');
    const silent = last === null || engine.now() - last >= SILENT_AFTER_MS;
    const overdue = decisionAt !== null && engine.now() - decisionAt >= OVERDUE_AFTER_MS;
    if (!silent && !overdue && !settings.pollsHere()) return;
    if (silent) schedule();
    await settings.sweep();
    relay.wake();
    // At its own start a coordinator finds the silence that its predecessor left.
    if (silent && last !== null && engine.monotonic() - startedAt > SILENT_AFTER_MS * 2) engine.log.warn({ event: EVENTS.rescued, silent_ms: engine.now() - last });
  };
  const loop = (): void => {
    if (closed) return;
    looking = look()
      .catch((error: unknown) => engine.log.warn({ event: EVENTS.sweepFailed, error: (error as Error).name }))
      .finally(() => {
        if (!closed) timer = setTimeout(loop, LOOK_EVERY_MS);
      });
  };
  schedule();
  loop();
  return {
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await looking;
      await scheduling;
    },
  };
};
