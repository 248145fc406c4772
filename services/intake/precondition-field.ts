import type { Engine } from '../../shared/delivery/engine.ts';
import { preconditionRule } from '../../shared/domain/precondition.ts';
import { preconditionUrlFault } from '../../shared/transports/origin/precondition-url.ts';
import { refuseUnlessAccepted } from './accepted-before.ts';
import type { NotificationFields } from './notification-fields.ts';
import type { Problem } from './problem.ts';
import { faultyFields } from './problem.ts';

const FIELD = 'precondition_url';

const problemOf = async (engine: Engine, { purpose, preconditionUrl }: NotificationFields, origins: readonly string[]): Promise<Problem | null> => {
  const bound = preconditionUrl === undefined ? null : await engine.versions.active(purpose);
  // An unknown purpose is told as what it is.
  if (preconditionUrl === undefined || !bound) return null;
  if (preconditionRule(bound.policy) === null) {
    return faultyFields([{ field: FIELD, problem: 'is asked by no step of this purpose', cure: 'leave it out, or set precondition in its policy' }], 'precondition_not_supported', 422);
  }
  const fault = preconditionUrlFault(preconditionUrl, origins);
  return fault && faultyFields([{ field: FIELD, ...fault }], 'precondition_url_not_allowed', 422);
};

/**
 * Refuses a `precondition_url` that would never be asked, or may not be. What was accepted once under the key stays accepted, also
 * where policy or allow-list have changed since.
 * @throws Problem 422 naming the field and the cure, never the URL.
 */
export const refusePrecondition = async (engine: Engine, fields: NotificationFields, at: { tenant: string; idempotencyKey: string; origins: readonly string[] }): Promise<void> => {
  const problem = await problemOf(engine, fields, at.origins);
  if (problem) await refuseUnlessAccepted(engine, at, problem);
};
