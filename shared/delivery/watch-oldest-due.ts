import type { Database } from '../ledger/database.ts';
import { oldestDueAges } from '../ledger/heartbeat.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { cachedFor } from '../telemetry/metrics.ts';

/** However many scrape: one query over three indexes in five seconds. */
const KEEP_MS = 5_000;

/** Shows the age of the oldest due row at every scrape; where the database does not answer, none is shown rather than an old one. */
export const watchOldestDue = (metrics: Metrics, db: Database, now: () => number): void => {
  const read = cachedFor(KEEP_MS, () => oldestDueAges(db, now()));
  metrics.onScrape(async () => {
    metrics.oldestDueSeconds.reset();
    const { decisionMs, pollMs, outboxMs } = await read();
    for (const [kind, ms] of [['decision', decisionMs], ['poll', pollMs], ['outbox', outboxMs]] as const) metrics.oldestDueSeconds.set({ kind }, ms / 1000);
  });
};
