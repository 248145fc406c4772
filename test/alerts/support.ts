import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { sweepDecisions } from '../../shared/delivery/sweep.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';

export const LINKS = { dashboardUrl: 'https://dashboard.example', runbookUrl: null };
const STEP_MS = 30_000;

/** Two coordinators' engines on one database and one clock, which begins an hour ago and which the test moves. Nothing is ever submitted unless the test does it. */
export const openPair = async () => {
  const database = await createTestDatabase();
  let at = Date.now() - 3_600_000;
  const ring = generateKeyRingText();
  const engines = [await createTestEngine({ url: database.url, now: () => at, ring }), await createTestEngine({ url: database.url, now: () => at, ring })] as const;
  const [engine] = engines;
  const accept = async (over: Partial<AcceptRequest> = {}): Promise<string> => {
    const outcome = await acceptNotification(engine, urgentRequest('01', over));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    return outcome.eventId;
  };
  return {
    database, engines, accept, ring,
    now: () => at,
    jump: (ms: number): void => { at += ms; },
    /** Lets time pass with coordinators that decide, and workers that do nothing. */
    pass: async (ms: number): Promise<void> => {
      for (const target = at + ms; at < target;) {
        at = Math.min(target, at + STEP_MS);
        await sweepDecisions(engine, 'coordinator');
      }
    },
    ask: async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> => (await engine.db.pool.query(text, values)).rows,
    close: async () => {
      await Promise.all(engines.map((one) => one.close()));
      await database.drop();
    },
  };
};
export type Pair = Awaited<ReturnType<typeof openPair>>;
export type PairEngine = Engine;
