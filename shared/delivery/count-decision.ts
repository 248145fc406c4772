import type { Decision } from '../domain/work.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** Counts what a decision came to, once it stands in the ledger. */
export const countDecision = (metrics: Metrics, { transitions, requests }: Decision): void => {
  for (const { transition } of transitions) {
    if (transition.kind === 'FallbackClaimed') metrics.fallbacks.inc({ channel: transition.details.channel, cause: transition.details.cause });
  }
  for (const request of requests) {
    if (request.kind === 'dead_letter') metrics.deadLetters.inc({ channel: request.channel, reason: request.reason });
  }
};
