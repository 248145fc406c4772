import type { NotificationRecord } from '../../shared/ledger/reads.ts';

const iso = (at: Date | number | null): string | null => (at === null ? null : new Date(at).toISOString());

type TemplateBinding = { step: number; template: string; version: number };

/** The public view of one notification, as `GET /notifications/{event_id}` answers it: neutral of providers, no addresses. */
export const notificationView = (record: NotificationRecord) => {
  const { state } = record.current;
  const bindings = record.templateVersions as unknown as TemplateBinding[];
  const decisive = record.attempts.at(-1)?.step ?? 0;
  const template = bindings.find((one) => one.step === decisive) ?? bindings[0];
  return {
    event_id: record.eventId, status: record.current.status, paused: false,
    closed: state.closed ? { reason: state.closed.reason, at: iso(state.closed.at) } : null,
    completed_at: iso(state.closed?.at ?? null), purpose: record.purpose, policy: `${record.purpose}/${record.policyVersion}`,
    template: template ? { owner: 'ours', name: template.template, version: template.version, locale: record.locale } : null,
    requested_at: iso(record.requestedAt), expires_at: iso(record.expiresAt),
    attempts: record.attempts.map((attempt) => ({
      channel: attempt.channel, sequence: attempt.sequence, outcome: attempt.outcome, reason: attempt.reason,
      planned_at: iso(attempt.plannedAt), queued_at: iso(attempt.queuedAt), submitted_at: iso(attempt.submittedAt), settled_at: iso(attempt.settledAt),
      decision_deadline_at: iso(attempt.decisionDeadlineAt),
    })),
    updated_at: iso(record.current.updatedAt),
  };
};
export type NotificationView = ReturnType<typeof notificationView>;
