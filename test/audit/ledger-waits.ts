import { CLOCKS } from './audit-policies.ts';
import { hasEnded } from './findings.ts';
import type { LedgerNotification } from './ledger-reader.ts';
import { readStates } from './ledger-reader.ts';
import { until } from './waiting.ts';

const all = (databaseUrl: string, holds: (notification: Pick<LedgerNotification, 'state' | 'status'>) => boolean, what: string, withinMs: number): Promise<true> => until(what, async () => {
  // A database that is just away tells nothing.
  const states = await readStates(databaseUrl).catch(() => null);
  return states?.every(holds) ? true : null;
}, { withinMs, everyMs: 1_000 });

/** Everything is over by then in any case, busy machines included. */
export const LONGEST_LIFE_MS = CLOCKS.expiresAfterMs + CLOCKS.graceMs + 30_000;

/** Waits until every notification has ended. @throws DeadlineError. */
export const allEnded = (databaseUrl: string, withinMs = LONGEST_LIFE_MS): Promise<true> => all(databaseUrl, hasEnded, 'the end of every notification', withinMs);

/** Waits until every notification is settled, its grace included. @throws DeadlineError. */
export const allSettled = (databaseUrl: string): Promise<true> => all(databaseUrl, ({ state }) => state.settledAt !== null, 'the end of every grace period', LONGEST_LIFE_MS);
