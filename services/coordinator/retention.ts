import type { Engine } from '../../shared/delivery/engine.ts';
import { eraseTicketsPastRetention, removePastRetention } from '../../shared/delivery/remove-retained.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import { repeat } from './repeat.ts';

const EVERY_MS = 24 * 3_600_000;
/** Not at once: who starts many times a day looks no more often. */
const FIRST_MS = 10 * 60_000;
/** Most steps a day, and the rest between two of them: a long backlog takes days and hinders nobody. */
const STEPS_A_DAY = 200;
const REST_MS = 250;

export interface RetentionDuty {
  /** Removes what is past its retention, in steps; how many notifications went. */
  tick: () => Promise<number>;
  close: () => Promise<void>;
}

/** Once a day: tickets past their retention are erased, and months of a purpose that are wholly past theirs are removed. */
export const startRetention = (engine: Engine): RetentionDuty => {
  const failed = (error: unknown, of: { month?: string; purpose?: string | null } = {}): void => {
    engine.metrics.dutyFailures.inc({ duty: 'retention' });
    engine.log.warn({ event: EVENTS.sweepFailed, duty: 'retention', ...of, error: (error as Error).name });
  };
  const tick = async (): Promise<number> => {
    // Tickets and months are kept for different times, so that neither has to wait for the other.
    await eraseTicketsPastRetention(engine).catch((error: unknown) => failed(error));
    let steps = 0;
    const findings = await removePastRetention(engine, {
      steps: STEPS_A_DAY,
      onStep: async () => {
        if (duty.isClosed()) throw new Error('stopped');
        steps += 1;
        if (steps > 1) await engine.wait(REST_MS);
      },
      onFailure: ({ month, purpose, error }) => failed(error, { month, purpose }),
    });
    for (const { month, purpose, notifications, held, removed } of findings) engine.log.info({ event: EVENTS.retentionRemoved, month, purpose, notifications, held, removed });
    return findings.reduce((sum, one) => sum + one.removed, 0);
  };
  const duty = repeat({
    turn: tick, waitMs: (first) => (first ? FIRST_MS : EVERY_MS),
    onError: (error) => { if (!duty.isClosed()) failed(error); },
  });
  return { tick, close: duty.close };
};
