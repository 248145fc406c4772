import { awaitsOperator } from './state.ts';
import type { Stamped } from './transitions.ts';
import type { Decision, Request } from './work.ts';

const resolved = ({ transition }: Stamped): Request[] => {
  switch (transition.kind) {
    case 'OperatorRetried': return [{ kind: 'resolve_dead_letter', attempt: transition.details.attempt, resolution: 'retried' }];
    case 'AttemptDelivered': return [{ kind: 'resolve_dead_letter', attempt: null, resolution: 'delivered' }];
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
  return { ...decision, requests: [...decision.requests, ...decision.transitions.flatMap(resolved)] };
};
