import { nextDecideAt } from '../domain/lifecycle.ts';
import { reasonBy } from '../domain/reasons.ts';
import type { AttemptState, NotificationState } from '../domain/state.ts';
import { publicStatus } from '../domain/status.ts';
import { attemptOutcome } from './rows.ts';
import type { StoredState } from './stored-state.ts';
import { unpackState } from './stored-state.ts';
import type { Folded, PlannedTemplate } from './verify-event.ts';
import type { Faults } from './verify-fault.ts';
import { firstDifference } from './verify-fault.ts';

export interface StateRow { event_id: string; version: number; head_hash: Buffer; state: StoredState; status: string; decide_at: Date | null }
export type AttemptRow = { event_id: string; attempt_key: string } & Record<string, unknown>;

const plain = (value: unknown): unknown => (value instanceof Date ? value.getTime() : value);

/** The columns of an attempt as the fold of the entries has them. */
const columnsOf = (attempt: AttemptState, state: NotificationState, template: PlannedTemplate | undefined): Record<string, unknown> => ({
  step: attempt.step, origin: attempt.origin, channel: attempt.channel, sequence: attempt.sequence, state: attempt.state, provider: attempt.provider,
  provider_message_id: attempt.providerMessageId, render_hash: attempt.renderHash, policy_version: state.policyVersion, template: template?.template,
  template_version: template?.template_version, outcome: attemptOutcome(attempt), reason: attempt.reason, reason_by: attempt.reason ? reasonBy(attempt.reason) : null,
  decision_deadline_at: attempt.decisionDeadlineAt, planned_at: attempt.plannedAt, queued_at: attempt.queuedAt, submitted_at: attempt.submittedAt,
  settled_at: attempt.settledAt, next_poll_at: attempt.nextPollAt, provider_wait_at: attempt.providerWaitAt,
});

/** What was tampered with may not be a state at all: then it differs as it is. */
const readable = (stored: StoredState): unknown => {
  try {
    return unpackState(stored);
  } catch {
    return stored;
  }
};

const checkState = (eventId: string, folded: Folded, { row, faults }: { row: StateRow; faults: Faults }): void => {
  const at = { eventId, version: row.version };
  if (row.version !== folded.version) {
    faults.add(at, 'notification_state.version', row.version > folded.version
      ? `names version ${row.version}, but the entries end at ${folded.version}: the last ones were deleted` : `names version ${row.version}, but the entries go on to ${folded.version}`);
    return;
  }
  if (!folded.hash?.equals(row.head_hash)) faults.add(at, 'notification_state.head_hash', 'is not the hash of the last entry');
  if (folded.state === null) return;
  const path = firstDifference(folded.state, readable(row.state));
  if (path !== null) faults.add(at, 'notification_state.state', `is not what the entries add up to (${path})`);
  if (row.status !== publicStatus(folded.state)) faults.add(at, 'notification_state.status', 'is not what the entries add up to');
  if ((row.decide_at?.getTime() ?? null) !== nextDecideAt(folded.state)) faults.add(at, 'notification_state.decide_at', 'is not what the entries add up to');
};

const checkAttempts = (eventId: string, folded: Folded & { state: NotificationState }, { rows, faults }: { rows: readonly AttemptRow[]; faults: Faults }): void => {
  const known = new Map(rows.map((row) => [row.attempt_key, row]));
  for (const attempt of folded.state.attempts) {
    const row = known.get(attempt.key);
    known.delete(attempt.key);
    if (!row) faults.add({ eventId }, 'attempt.attempt_key', `${attempt.key} is in the entries and not in the table`);
    else {
      for (const [column, value] of Object.entries(columnsOf(attempt, folded.state, folded.templates.get(attempt.key)))) {
        if (firstDifference(plain(row[column]), value) !== null) faults.add({ eventId }, `attempt.${column}`, `of ${attempt.key} is not what the entries add up to`);
      }
    }
  }
  for (const key of known.keys()) faults.add({ eventId }, 'attempt.attempt_key', `${key} is in the table and not in the entries`);
};

/** Holds what is materialized beside the entries against what they add up to. */
export const checkMaterialized = (eventId: string, folded: Folded, { state, attempts, faults }: { state: StateRow | null; attempts: readonly AttemptRow[]; faults: Faults }): void => {
  if (state) checkState(eventId, folded, { row: state, faults });
  else faults.add({ eventId }, 'notification_state.event_id', 'there is no state beside the entries');
  if (folded.state !== null && (state === null || state.version === folded.version)) checkAttempts(eventId, { ...folded, state: folded.state }, { rows: attempts, faults });
};
