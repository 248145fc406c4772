import { offsetAt } from '../content/time-zones.ts';
import type { AttemptKey } from '../domain/words.ts';
import { parseAttemptKey } from '../domain/words.ts';
import type { Eligibility } from '../domain/eligibility.ts';
import type { RetryOverrides, RetryRefusal } from '../domain/retry.ts';
import { retryRefusal } from '../domain/retry.ts';
import type { RetryMeans, Transition } from '../domain/transitions.ts';
import { decideAndAppend } from './decide-and-append.ts';
import type { Engine } from './engine.ts';
import { bookReason } from './operator-reason.ts';
import { eligibilityOf, sendersFor } from './suppression.ts';

export interface RetryRequest {
  /** Null for an operator of the whole deployment. */
  tenant: string | null;
  attempt: AttemptKey;
  /** A code, or a sentence: that one is sealed and booked as `other`. */
  reason: string;
  overrides: RetryOverrides;
  actor: string;
  requestId: string;
}

export type RetryOutcome =
  | { kind: 'not_found' }
  | { kind: 'refused'; refusal: RetryRefusal }
  /** `attempt` is the key under which it goes on: a new one after a definite failure, its own where its fate is unknown. */
  | { kind: 'retried'; means: RetryMeans; attempt: AttemptKey };

const isRetry = (transition: Transition): transition is Extract<Transition, { kind: 'OperatorRetried' }> => transition.kind === 'OperatorRetried';
const isPlan = (transition: Transition): transition is Extract<Transition, { kind: 'AttemptPlanned' | 'AttemptRenderFailed' }> =>
  transition.kind === 'AttemptPlanned' || transition.kind === 'AttemptRenderFailed';

/**
 * Retries an attempt by an operator's decision, through the decider as everything else. Never a second message on a guess: a
 * definite failure plans the next sequence, an unknown one is replayed or looked for under its own key. A refusal is a value.
 */
export const retryAttempt = async (engine: Engine, request: RetryRequest): Promise<RetryOutcome> => {
  const eventId = parseAttemptKey(request.attempt)?.eventId;
  if (eventId === undefined) return { kind: 'not_found' };
  if (request.tenant !== null && (await engine.ledger.tenantOf(eventId)) !== request.tenant) return { kind: 'not_found' };
  const reason = bookReason(engine, { eventId, reason: request.reason, kind: 'OperatorRetried' });
  let eligibility: Eligibility = () => null;
  const result = await decideAndAppend(engine, eventId, {
    provenance: { actor: request.actor, requestId: request.requestId },
    command: (loaded, bound) => {
      eligibility = eligibilityOf(sendersFor(engine, bound.policy), loaded);
      return { kind: 'retry', attempt: request.attempt, reason: reason.code, overrides: request.overrides };
    },
    enrich: reason.enrich,
  });
  if (result.kind === 'not_found') return result;
  const transitions = result.kind === 'appended' ? result.decision.transitions.map(({ transition }) => transition) : [];
  const retried = transitions.find(isRetry);
  if (!retried) {
    const state = result.kind === 'appended' ? result.decision.state : result.state;
    return { kind: 'refused', refusal: retryRefusal(state, request.attempt, engine.now(), { ...request.overrides, eligibility, offsetAt }) ?? 'not_resolvable' };
  }
  const planned = transitions.slice(transitions.indexOf(retried)).find(isPlan);
  return { kind: 'retried', means: retried.details.means, attempt: planned?.details.attempt ?? request.attempt };
};
