import { createAcceptor, findByIdempotencyKey } from './accept-group.ts';
import { createAppender, landed } from './appender.ts';
import { insertWithdrawal } from './consents.ts';
import { loadDueDecisions, moveOutbox, nextDueAt, postponeDecisions } from './claims.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { processMetrics } from '../telemetry/metrics.ts';
import type { Database } from './database.ts';
import { beat, readPulse } from './heartbeat.ts';
import { createPollLeaser } from './lease-polls.ts';
import type { LedgerPort } from './ledger-port.ts';
import { createLoader } from './load.ts';
import { createLostRaceRecorder } from './lost-races.ts';
import { preconditionOf, tenantOf } from './reads.ts';
import { insertSuppression } from './suppressions.ts';
import { throttledFor } from './throttles.ts';
import { loadWaiting } from './waiting.ts';

/** The ledger of a process on Postgres: loads, appends and acceptances asked for at the same time share a statement. */
export const createPostgresLedger = (db: Database, metrics: Metrics = processMetrics): LedgerPort => ({
  load: createLoader(db),
  append: createAppender(db, metrics),
  landed: (append) => landed(db, append),
  accept: createAcceptor(db, metrics),
  findByIdempotencyKey: (tenant, idempotencyKey) => findByIdempotencyKey(db, tenant, idempotencyKey),
  suppress: (one) => insertSuppression(db, one),
  withdrawConsent: (one) => insertWithdrawal(db, one),
  throttled: (eventId, throttles) => throttledFor(db, eventId, throttles),
  tenantOf: (eventId) => tenantOf(db, eventId),
  preconditionOf: (eventId) => preconditionOf(db, eventId),
  loadDueDecisions: (now, limit) => loadDueDecisions(db, now, limit),
  loadWaiting: (now, limit) => loadWaiting(db, now, limit),
  postponeDecisions: (eventIds, until) => postponeDecisions(db, eventIds, until),
  leaseDuePolls: createPollLeaser(db),
  nextDueAt: (now) => nextDueAt(db, now),
  moveOutbox: (limit, enqueue, except) => moveOutbox(db, limit, enqueue, except),
  recordLostRace: createLostRaceRecorder(db),
  beat: (duty, now) => beat(db, duty, now),
  readPulse: (duty) => readPulse(db, duty),
});
