import { postAlerts, reviewAlerts } from '../../shared/delivery/alerts.ts';
import type { AlertLinks } from '../../shared/delivery/alerts.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { claimDuty } from '../../shared/ledger/alerts.ts';
import { lastBeatAt } from '../../shared/ledger/heartbeat.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import type { AlertReceiver } from '../../shared/transports/alerts/receiver.ts';
import { ANSWER_WITHIN_MS } from '../../shared/transports/alerts/receiver.ts';
import { repeat } from './repeat.ts';

/** How often it is looked for what is at risk, all coordinators together. */
const REVIEW_EVERY_MS = 5_000;
const LOOK_EVERY_MS = 1_000;
const HEARTBEAT_EVERY_MS = 60_000;
/** A sweep that finished within this is an engine that works. */
const ALIVE_WITHIN_MS = 10_000;

export interface AlertSettings { receivers: readonly AlertReceiver[]; links: AlertLinks; heartbeatUrl: string | null }

export interface AlertDuty {
  /** One turn: a review where one is due, what receivers are to be told, the heartbeat. Rejects never. */
  tick: () => Promise<void>;
  close: () => Promise<void>;
}

/**
 * Tells people what approaches its deadline without a way to its recipient. Its clock is its own and its memory is Postgres, so that it
 * does not need the queue, and any number of coordinators raise one alert. For as long as sweeps finish it calls the heartbeat's URL: a
 * dead man's switch there tells that they do not.
 */
export const startAlertDuty = ({ engine, receivers, links, heartbeatUrl }: AlertSettings & { engine: Engine }): AlertDuty => {
  const beat = async (): Promise<void> => {
    if (heartbeatUrl === null) return;
    const now = engine.now();
    const sweptAt = await lastBeatAt(engine.db, 'sweep');
    if (sweptAt === null || now - sweptAt > ALIVE_WITHIN_MS || !(await claimDuty(engine.db, 'alert-heartbeat', { now, everyMs: HEARTBEAT_EVERY_MS }))) return;
    const response = await fetch(heartbeatUrl, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_WITHIN_MS), headers: { 'User-Agent': 'Tocsin' } }).catch(() => null);
    await response?.body?.cancel();
    if (!response?.ok) engine.log.warn({ event: EVENTS.heartbeatFailed, status: response?.status ?? null });
  };
  const failed = (error: unknown): void => engine.log.warn({ event: EVENTS.alertDutyFailed, error: (error as Error).name, code: (error as { code?: string }).code });
  // One receiver that does not answer holds up neither the other nor the next review.
  const review = async (): Promise<void> => {
    const now = engine.now();
    if (await claimDuty(engine.db, 'alert-review', { now, everyMs: REVIEW_EVERY_MS })) await reviewAlerts(engine, receivers.map(({ name }) => name));
    await Promise.all(receivers.map((receiver) => postAlerts(engine, receiver, links)));
  };
  let running: Promise<void> | null = null;
  const tick = (): Promise<void> => {
    running ??= Promise.all([review().catch(failed), beat().catch(failed)]).then(() => undefined).finally(() => { running = null; });
    return running;
  };
  const { close } = repeat({ turn: tick, waitMs: () => LOOK_EVERY_MS, onError: failed });
  return {
    tick,
    close: async () => {
      await close();
      await running;
    },
  };
};
