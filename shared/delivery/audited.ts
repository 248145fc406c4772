import type { AttemptKey } from '../domain/words.ts';
import type { AuditActor } from '../ledger/audit-entries.ts';
import { insertAudit } from '../ledger/audit-entries.ts';
import type { CloseOutcome } from './close-notification.ts';
import { CLOSE_CODES, closeNotification } from './close-notification.ts';
import type { Engine } from './engine.ts';
import { reasonCodeOf } from './operator-reason.ts';
import type { PauseOutcome, ResumeOutcome } from './pause-notification.ts';
import { pauseNotification, resumeNotification } from './pause-notification.ts';
import type { RetryOutcome } from './retry-attempt.ts';
import { retryAttempt } from './retry-attempt.ts';

/** What an operator of the whole deployment does to a notification. */
export interface OperatorAct { eventId: string; reason: string; actor: string; audit: AuditActor }

const resultOf = (outcome: { kind: string; replayed?: boolean; refusal?: string }): string => (outcome.replayed ? 'unchanged' : outcome.refusal ?? outcome.kind);

/**
 * Notes in the trail that something is asked for, does it, and notes what came of it. The notification's own ledger is written in
 * between, grouped with others: whoever dies there leaves the first entry, whose request id leads to what the ledger has.
 */
const noted = async <Outcome extends { kind: string; replayed?: boolean; refusal?: string }>(engine: Engine, act: OperatorAct, { action, reason, target = act.eventId }: { action: string; reason: string; target?: string }, work: (requestId: string) => Promise<Outcome>): Promise<Outcome> => {
  const note = (result: string) => insertAudit(engine.db, act.audit, [{ action, target, result, reason }], engine.now());
  await note('asked');
  const outcome = await work(act.audit.requestId);
  await note(resultOf(outcome));
  return outcome;
};

/** `closeNotification` by an operator, with the trail. */
export const closeAs = (engine: Engine, act: OperatorAct): Promise<CloseOutcome> =>
  noted(engine, act, { action: 'notification.close', reason: CLOSE_CODES.has(act.reason) ? act.reason : 'other' },
    (requestId) => closeNotification(engine, { tenant: null, eventId: act.eventId, reason: act.reason, actor: act.actor, requestId }));

/** `pauseNotification` by an operator, with the trail. */
export const pauseAs = (engine: Engine, act: OperatorAct): Promise<PauseOutcome> =>
  noted(engine, act, { action: 'notification.pause', reason: reasonCodeOf(act.reason) },
    (requestId) => pauseNotification(engine, { tenant: null, eventId: act.eventId, reason: act.reason, actor: act.actor, requestId }));

/** `resumeNotification` by an operator, with the trail. `leaveRest`: see there. */
export const resumeAs = (engine: Engine, act: OperatorAct & { leaveRest?: boolean }): Promise<ResumeOutcome> =>
  noted(engine, act, { action: 'notification.resume', reason: reasonCodeOf(act.reason) },
    (requestId) => resumeNotification(engine, { tenant: null, eventId: act.eventId, reason: act.reason, actor: act.actor, requestId, leaveRest: act.leaveRest ?? false }));

/** `retryAttempt` by an operator, with the trail and without any override: what those take upon themselves is said on the command line. */
export const retryAs = (engine: Engine, act: OperatorAct & { attempt: AttemptKey }): Promise<RetryOutcome> =>
  noted(engine, act, { action: 'notification.retry', reason: reasonCodeOf(act.reason), target: act.attempt },
    (requestId) => retryAttempt(engine, { tenant: null, attempt: act.attempt, reason: act.reason, overrides: {}, actor: act.actor, requestId }));
