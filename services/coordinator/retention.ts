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
  const tick = async (): Promise<number> => {
    await eraseTicketsPastRetention(engine);
    let steps = 0;
    const findings = await removePastRetention(engine, {
      steps: STEPS_A_DAY,
      onStep: async () => {
        if (duty.isClosed()) throw new Error('stopped');
        steps += 1;
        if (steps > 1) await engine.wait(REST_MS);
      },
    });
    for (const { month, purpose, notifications, held, removed } of findings) engine.log.info({ event: EVENTS.retentionRemoved, month, purpose, notifications, held, removed });
    return findings.reduce((sum, one) => sum + one.removed, 0);
  };
  const duty = repeat({
    turn: tick, waitMs: (first) => (first ? FIRST_MS : EVERY_MS),
    onError: (error) => { if (!duty.isClosed()) engine.log.warn({ event: EVENTS.sweepFailed, duty: 'retention', error: (error as Error).name }); },
  });
  return { tick, close: duty.close };
};
