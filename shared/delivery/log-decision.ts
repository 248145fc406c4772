import type { Decision } from '../domain/work.ts';
import { attemptOf } from '../domain/transitions.ts';
import { findAttempt } from '../domain/state.ts';
import { nextDecideAt } from '../domain/lifecycle.ts';
import { publicStatus } from '../domain/status.ts';
import { plainLog } from '../telemetry/logger.ts';
import type { Logger } from '../telemetry/logger.ts';
import { EVENTS } from '../telemetry/events.ts';

/**
 * What a decision changed of a provider, once: whoever wrote it says so. An account that is refused is an error, since a person must
 * act; what probes find is a warning, and the end of an incident too, so that it is seen where its begin was.
 */
export const logProviders = (log: Logger, { requests, state, transitions }: Decision): void => {
  for (const request of requests) {
    if (request.kind !== 'provider' || request.write === null) continue;
    const { state: now, reason, failures, openedAt, probeAt, probe } = request.write;
    const told = { event_id: state.eventId, provider: request.provider, reason, failures, opened_at: openedAt, probe_at: probeAt };
    if (now === 'open' && openedAt === transitions.at(-1)?.at) log.error({ event: EVENTS.providerOpened, ...told });
    else if (now === 'open') log.warn({ event: EVENTS.probeFailed, ...told });
    else if (now === 'probing') log.info({ event: EVENTS.providerProbed, ...told, attempt: probe?.attempt });
    else log.warn({ event: EVENTS.providerClosed, ...told });
  }
};

/** One structured event per decision: ids, codes and instants, never a text or an address. */
export const logDecision = (log: Logger, { transitions, state }: Decision): void => {
  if (!log.isLevelEnabled('info')) return;
  const last = transitions.at(-1);
  if (!last) return;
  const about = transitions.findLast(({ transition }) => attemptOf(transition) !== null);
  const key = about ? attemptOf(about.transition) : null;
  const attempt = key === null ? null : findAttempt(state, key);
  plainLog(log).info({
    event: EVENTS.decided, event_id: state.eventId, version: state.version, transitions: transitions.map(({ transition }) => transition.kind),
    attempt: key, channel: attempt?.channel, result: attempt?.state, reason: attempt?.reason, public_status: publicStatus(state),
    policy: `${state.purpose}/${state.policyVersion}`, next_check_at: nextDecideAt(state), next_poll_at: attempt?.nextPollAt,
    to_deadline_ms: attempt ? attempt.decisionDeadlineAt - last.at : null,
  });
};
