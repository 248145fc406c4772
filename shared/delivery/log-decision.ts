import type { Decision } from '../domain/work.ts';
import { attemptOf } from '../domain/transitions.ts';
import { findAttempt } from '../domain/state.ts';
import { nextDecideAt } from '../domain/lifecycle.ts';
import { publicStatus } from '../domain/status.ts';
import type { Logger } from '../telemetry/logger.ts';
import { EVENTS } from '../telemetry/events.ts';

/** One structured event per decision: ids, codes and instants, never a text or an address. */
export const logDecision = (log: Logger, { transitions, state }: Decision): void => {
  if (!log.isLevelEnabled('info')) return;
  const last = transitions.at(-1);
  if (!last) return;
  const key = [...transitions].reverse().map(({ transition }) => attemptOf(transition)).find((one) => one !== null) ?? null;
  const attempt = key === null ? null : findAttempt(state, key);
  log.info({
    event: EVENTS.decided, event_id: state.eventId, version: state.version, transitions: transitions.map(({ transition }) => transition.kind),
    attempt: key, channel: attempt?.channel, result: attempt?.state, reason: attempt?.reason, public_status: publicStatus(state),
    policy: `${state.purpose}/${state.policyVersion}`, next_check_at: nextDecideAt(state), next_poll_at: attempt?.nextPollAt,
    to_deadline_ms: attempt ? attempt.decisionDeadlineAt - last.at : null,
  });
};
