import type { Engine } from '../../shared/delivery/engine.ts';
import { findByIdempotencyKey } from '../../shared/ledger/accept-group.ts';
import type { Problem } from './problem.ts';

/**
 * Refuses a request, unless one was accepted under its key before: that stays accepted, whatever has changed since.
 * @throws the problem.
 */
export const refuseUnlessAccepted = async (engine: Engine, key: { tenant: string; idempotencyKey: string }, problem: Problem): Promise<void> => {
  if (!(await findByIdempotencyKey(engine.db, key.tenant, key.idempotencyKey))) throw problem;
};
