import type { Engine } from '../../shared/delivery/engine.ts';
import { hearRecipients } from '../../shared/delivery/hear-recipients.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { repeat } from './repeat.ts';

/** How often a coordinator looks whether a read is due: the others may have gone. */
const LOOK_EVERY_MS = 5_000;
const DEFAULT_EVERY_MS = 15_000;

export interface InboundDuty {
  /** Reads what is due of what recipients texted back. Rejects where the database is away. */
  tick: () => Promise<void>;
  close: () => Promise<void>;
}

export interface InboundSettings {
  engine: Engine;
  transports: readonly Transport[];
  /** How often it is read, all coordinators together; without it only `tick` reads. */
  everyMs?: number | undefined;
  /** How long one read may take before another coordinator may begin. */
  busyMs: number;
}

/** Words of recipients, asked for: a provider that cannot be asked has no such duty. */
export const startInboundDuty = ({ engine, transports, everyMs, busyMs }: InboundSettings): InboundDuty => {
  const tick = async (): Promise<void> => {
    for (const transport of transports) await hearRecipients(engine, transport, { everyMs: everyMs ?? DEFAULT_EVERY_MS, busyMs });
  };
  if (everyMs === undefined || !transports.some(({ readInbound }) => readInbound !== undefined)) return { tick, close: () => Promise.resolve() };
  const { close } = repeat({
    turn: tick, waitMs: (first) => (first ? 0 : Math.min(everyMs, LOOK_EVERY_MS)),
    onError: (error) => engine.log.warn({ event: EVENTS.inboundFailed, error: (error as Error).name, code: (error as { code?: string }).code }),
  });
  return { tick, close };
};
