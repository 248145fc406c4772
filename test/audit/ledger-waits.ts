import { CLOCKS } from './audit-policies.ts';
import { hasEnded } from './findings.ts';
import type { LedgerNotification } from './ledger-reader.ts';
import { readLedger } from './ledger-reader.ts';
import { until } from './waiting.ts';

const all = (databaseUrl: string, holds: (notification: LedgerNotification) => boolean, what: string, withinMs: number): Promise<true> => until(what, async () => {
  const { notifications } = await readLedger(databaseUrl);
  return notifications.every(holds) ? true : null;
}, { withinMs, everyMs: 1_000 });

/** Everything is over by then in any case, busy machines included. */
export const LONGEST_LIFE_MS = CLOCKS.expiresAfterMs + CLOCKS.graceMs + 30_000;

/** Waits until every notification has ended. @throws DeadlineError. */
export const allEnded = (databaseUrl: string, withinMs = LONGEST_LIFE_MS): Promise<true> => all(databaseUrl, hasEnded, 'the end of every notification', withinMs);

/** Waits until every notification is settled, its grace included. @throws DeadlineError. */
export const allSettled = (databaseUrl: string): Promise<true> => all(databaseUrl, ({ state }) => state.settledAt !== null, 'the end of every grace period', LONGEST_LIFE_MS);
