import type { RetryOverrides, RetryRefusal } from '../domain/retry.ts';
import type { AttemptKey } from '../domain/words.ts';
import type { Resolution } from '../domain/work.ts';
import type { AuditActor } from '../ledger/audit-entries.ts';
import { insertAudit } from '../ledger/audit-entries.ts';
import type { Handled, LeasedRequest } from '../ledger/dead-letter-requests.ts';
import { leaseRequests, recordHandled, recordRequests } from '../ledger/dead-letter-requests.ts';
import { isDatabaseAway } from '../ledger/database.ts';
import { resolveDeadLetter } from '../ledger/dead-letters.ts';
import { inTransaction } from '../ledger/transaction.ts';
import { EVENTS } from '../telemetry/events.ts';
import type { Engine } from './engine.ts';
import { openReason, sealReason } from './operator-reason.ts';
import { retryAttempt } from './retry-attempt.ts';

/** What an operator wants done about dead letters. */
export interface DeadLetterRequest {
  action: 'retry' | 'discard';
  actor: string;
  /** A code, or a sentence: that one is sealed and booked as `other`. */
  reason: string;
  overrides?: RetryOverrides;
  /** Who asks, for the trail; an operator always is. */
  audit?: AuditActor;
}

/**
 * Records that an operator asks for these dead letters to be retried or discarded; a coordinator carries it out. Returns the ids
 * of those it was recorded for: of one that is resolved, or that somebody asked for already, nothing is recorded.
 */
export const requestDeadLetters = async (engine: Engine, targets: readonly { id: bigint | string; eventId: string }[], request: DeadLetterRequest): Promise<string[]> => {
  const sealed = targets.map(({ id, eventId }) => ({ id: String(id), sealed: sealReason(engine, eventId, request.reason).sealed }));
  const { code } = sealReason(engine, '', request.reason);
  const { audit, action } = request;
  const asked = {
    action, actor: request.actor, reason: code, now: engine.now(),
    evenIfDelivered: request.overrides?.evenIfDelivered ?? false, acceptDuplicate: request.overrides?.acceptDuplicate ?? false,
  };
  if (audit === undefined) return recordRequests(engine.db, sealed, asked);
  return inTransaction(engine.db, async (tx) => {
    const recorded = await recordRequests(tx, sealed, asked);
    const events = sealed.map(({ id }) => ({ action: `dead_letter.${action}`, target: `dead-letter/${id}`, result: recorded.includes(id) ? 'asked' : 'unchanged', reason: code }));
    await insertAudit(tx, audit, events, asked.now);
    return recorded;
  });
};

const LEASE_MS = 30_000;
const BATCH = 100;

/** Refusals after which nobody can do anything more about a dead letter, and how it then ended. */
const PAST_HELP: Partial<Record<RetryRefusal, Resolution>> = { closed: 'closed', expired: 'expired', delivered: 'delivered', not_newest: 'retried', payload_destroyed: 'payload_destroyed' };

const retry = async (engine: Engine, leased: LeasedRequest): Promise<string> => {
  const { evenIfDelivered, acceptDuplicate } = leased;
  const outcome = await retryAttempt(engine, {
    tenant: null, attempt: leased.attemptKey as AttemptKey, actor: leased.actor, requestId: `dead-letter-${leased.requestId}`,
    reason: openReason(engine, leased.eventId, leased), overrides: { evenIfDelivered, acceptDuplicate },
  });
  if (outcome.kind === 'retried') return 'retried';
  const refusal = outcome.kind === 'not_found' ? 'no_such_attempt' : outcome.refusal;
  const resolution = PAST_HELP[refusal];
  if (resolution !== undefined) await resolveDeadLetter(engine.db, leased.deadLetterId, { resolution, now: engine.now() });
  return refusal;
};

const carryOut = async (engine: Engine, leased: LeasedRequest): Promise<string> => {
  // Resolved in the meantime, or by this very request before its handler died.
  if (leased.resolution !== null) return leased.resolution;
  if (leased.action === 'retry') return retry(engine, leased);
  await resolveDeadLetter(engine.db, leased.deadLetterId, { resolution: 'discarded', now: engine.now() });
  return 'discarded';
};

/** One that cannot be carried out - its reason or its message does not open, say - is handled all the same, and must not hold up the others. */
const carriedOut = async (engine: Engine, leased: LeasedRequest): Promise<string> => {
  try {
    return await carryOut(engine, leased);
  } catch (error) {
    if (isDatabaseAway(error)) throw error;
    engine.log.error({ event: EVENTS.deadLetterFailed, request: leased.requestId, event_id: leased.eventId, error: (error as Error).name });
    return 'failed';
  }
};

/**
 * Carries out what operators asked for, through the decider as everything else; a refusal is a result. One at a time per dead
 * letter, under a lease; after a crash it is taken up again and finds what was done. Returns how many were handled.
 */
export const handleDeadLetterRequests = async (engine: Engine, only?: { deadLetterId: string }): Promise<number> => {
  let count = 0;
  for (;;) {
    const now = engine.now();
    const leased = await leaseRequests(engine.db, { now, leaseUntil: now + LEASE_MS, limit: BATCH, ...only });
    const handled: Handled[] = await Promise.all(leased.map(async (one) => ({ requestId: one.requestId, result: await carriedOut(engine, one) })));
    await recordHandled(engine.db, handled, engine.now());
    for (const { requestId, result } of handled) engine.log.info({ event: EVENTS.deadLetterHandled, request: requestId, result });
    count += handled.length;
    if (leased.length < BATCH) return count;
  }
};
