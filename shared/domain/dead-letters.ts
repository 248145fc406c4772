import type { AttemptKey } from './words.ts';
import type { NotificationState } from './state.ts';
import { awaitsOperator, findAttempt } from './state.ts';
import type { Stamped } from './transitions.ts';
import type { Decision, Request } from './work.ts';

/** What is delivered ends the work of the channels it stands in for: all of them, or, where the policy uses each, its own. */
const reached = (state: NotificationState, delivered: AttemptKey): Request[] => {
  const channel = findAttempt(state, delivered)?.channel;
  const over = state.strategy === 'escalate' ? [null] : state.attempts.filter((attempt) => attempt.channel === channel && awaitsOperator(attempt)).map(({ key }) => key);
  return over.map((attempt) => ({ kind: 'resolve_dead_letter', attempt, resolution: 'delivered' }));
};

const resolved = (state: NotificationState, { transition }: Stamped): Request[] => {
  switch (transition.kind) {
    case 'OperatorRetried': return [{ kind: 'resolve_dead_letter', attempt: transition.details.attempt, resolution: 'retried' }];
    case 'AttemptDelivered': return reached(state, transition.details.attempt);
    case 'NotificationClosed': return [{ kind: 'resolve_dead_letter', attempt: null, resolution: 'closed' }];
    case 'PayloadDestroyed': return transition.details.erasure ? [{ kind: 'resolve_dead_letter', attempt: null, resolution: 'erased' }] : [];
    case 'NotificationExpired': return [{ kind: 'resolve_dead_letter', attempt: null, resolution: 'expired' }];
    default: return [];
  }
};

/**
 * Adds to a decision that dead letters are resolved by it: by a retry, or because nothing is left to be done about them. Only
 * where the notification has one at all, so that every other append carries nothing of it.
 */
export const withResolutions = (decision: Decision): Decision => {
  const retried = decision.transitions.some(({ transition }) => transition.kind === 'OperatorRetried');
  if (!retried && !decision.state.attempts.some(awaitsOperator)) return decision;
  return { ...decision, requests: [...decision.requests, ...decision.transitions.flatMap((stamped) => resolved(decision.state, stamped))] };
};
