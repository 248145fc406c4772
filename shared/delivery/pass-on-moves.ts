import type { Decision } from '../domain/work.ts';
import type { Engine } from './engine.ts';
import type { EnqueuedAttempt } from './hand-over.ts';

/** Tells, once a decision stands in the ledger, what it enqueued and what it moved. */
export const passOnMoves = (engine: Engine, { requests, state }: Decision): void => {
  const enqueued: EnqueuedAttempt[] = [];
  for (const request of requests) {
    if (request.kind === 'enqueue') enqueued.push({ eventId: state.eventId, attemptKey: request.attempt, channel: request.channel, generation: request.generation, notBeforeAt: request.notBeforeAt });
  }
  if (enqueued.length > 0) engine.onEnqueued(enqueued);
  engine.onMoved(state);
};
