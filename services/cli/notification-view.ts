import { reasonBy } from '../../shared/domain/reasons.ts';
import type { AttemptState } from '../../shared/domain/state.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import { resolveLocale } from '../../shared/content/template.ts';
import type { BoundVersions } from '../../shared/delivery/versions.ts';
import { templateKey } from '../../shared/delivery/versions.ts';
import type { NotificationRecord } from '../../shared/ledger/reads.ts';

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

/** Closed because the person acted, and not merely called off. */
const COMPLETING: ReadonlySet<string> = new Set(['consumed', 'accepted', 'taken', 'completed', 'resolved']);

const attemptOf = (one: AttemptState) => ({
  attempt_key: one.key, channel: one.channel, sequence: one.sequence, step: one.step, origin: one.origin,
  outcome: one.state, reason: one.reason, reason_by: one.reason && reasonBy(one.reason),
  planned_at: iso(one.plannedAt), queued_at: iso(one.queuedAt), submitted_at: iso(one.submittedAt), settled_at: iso(one.settledAt),
  decision_deadline_at: iso(one.decisionDeadlineAt),
});

const templateOf = (record: NotificationRecord, bound: BoundVersions) => {
  const step = bound.policy.steps[record.current.state.attempts.at(-1)?.step ?? 0];
  const template = step === undefined ? undefined : bound.templates.get(templateKey(step.template, step.templateVersion));
  return template === undefined ? null : { owner: template.owner, name: template.name, version: template.version, locale: resolveLocale(template, record.locale) };
};

/** The public view, as `GET /notifications/{event_id}` answers it (a test holds the two together); neutral of providers, no addresses. */
export const notificationView = (record: NotificationRecord, bound: BoundVersions) => {
  const { state, updatedAt } = record.current;
  return {
    event_id: record.eventId, status: publicStatus(state), ...(state.rejected === null ? {} : { reason: state.rejected }), paused: false,
    closed: state.closed && { reason: state.closed.reason, at: iso(state.closed.at) },
    completed_at: state.closed && COMPLETING.has(state.closed.reason) ? iso(state.closed.at) : null,
    purpose: record.purpose, policy: { purpose: record.purpose, version: record.policyVersion }, template: templateOf(record, bound),
    requested_at: record.requestedAt.toISOString(), expires_at: record.expiresAt.toISOString(),
    steps: state.steps.map(({ channel, phase, reason }) => ({ channel, phase, reason })),
    attempts: state.attempts.map(attemptOf), settled_at: iso(state.settledAt), updated_at: updatedAt.toISOString(),
  };
};
export type NotificationView = ReturnType<typeof notificationView>;
