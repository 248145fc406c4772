import type { AttemptState, NotificationState } from '../domain/state.ts';
import { reasonBy } from '../domain/reasons.ts';
import { publicReason, publicStatus } from '../domain/status.ts';
import type { PublicReason } from '../domain/status.ts';
import { ownerName, resolveLocale } from '../content/template.ts';
import type { BoundVersions } from './versions.ts';
import { templateKey } from './versions.ts';
import type { EntryRecord, NotificationRecord } from '../ledger/reads.ts';

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

/** Reasons of a close that say that the person acted; a cancelled intent is closed and not completed. */
const COMPLETING: ReadonlySet<string> = new Set(['consumed', 'accepted', 'taken', 'completed', 'resolved']);

const attemptView = (attempt: AttemptState) => ({
  attempt_key: attempt.key, channel: attempt.channel, sequence: attempt.sequence, step: attempt.step, origin: attempt.origin,
  outcome: attempt.state, reason: attempt.reason, reason_by: attempt.reason && reasonBy(attempt.reason),
  planned_at: iso(attempt.plannedAt), queued_at: iso(attempt.queuedAt), submitted_at: iso(attempt.submittedAt), settled_at: iso(attempt.settledAt),
  decision_deadline_at: iso(attempt.decisionDeadlineAt), ...(attempt.shadow ? { shadow: attempt.shadow } : {}),
});

const templateView = ({ locale }: ViewedIntent, state: NotificationState, { policy, templates }: BoundVersions) => {
  const step = policy.steps[state.attempts.at(-1)?.step ?? 0];
  const template = step && templates.get(templateKey(step.template, step.templateVersion));
  return template ? { owner: ownerName(template.owner), name: template.name, version: template.version, locale: resolveLocale(template, locale) } : null;
};

/** Since when nothing tells any more whom it was about; there only where somebody was erased. */
const erasedView = ({ erased }: NotificationState): { erased_at?: string } => {
  const instants = Object.values(erased ?? {});
  return instants.length === 0 ? {} : { erased_at: new Date(Math.min(...instants)).toISOString() };
};

/** Why nothing was sent, where it was refused or every channel was barred; nothing for every other status. */
export const reasonView = (why: PublicReason | null): { reason?: PublicReason['reason']; skipped?: PublicReason['skipped'] } =>
  (why === null ? {} : { reason: why.reason, ...(why.skipped.length > 0 ? { skipped: why.skipped } : {}) });

/** What of the immutable intent is public. */
export type ViewedIntent = Pick<NotificationRecord, 'eventId' | 'purpose' | 'policyVersion' | 'locale' | 'requestedAt' | 'expiresAt'>;

/**
 * The public view of a notification in a state, today's or a past one, neutral of providers. All that can change in it comes
 * from that state, so that status and attempts always agree. `template` is that of the newest attempt, or of the first step.
 */
export const stateView = (intent: ViewedIntent, { state, updatedAt }: { state: NotificationState; updatedAt: Date }, bound: BoundVersions) => ({
  event_id: intent.eventId, status: publicStatus(state), ...reasonView(publicReason(state)),
  paused: Boolean(state.paused), closed: state.closed && { reason: state.closed.reason, at: iso(state.closed.at) },
  completed_at: state.closed && COMPLETING.has(state.closed.reason) ? iso(state.closed.at) : null,
  purpose: intent.purpose, policy: { purpose: intent.purpose, version: intent.policyVersion }, template: templateView(intent, state, bound),
  requested_at: intent.requestedAt.toISOString(), expires_at: intent.expiresAt.toISOString(),
  steps: state.steps.map(({ channel, phase, reason, shadow }) => ({ channel, phase, reason, ...(shadow ? { shadow } : {}) })),
  attempts: state.attempts.map(attemptView), settled_at: iso(state.settledAt), ...erasedView(state), updated_at: updatedAt.toISOString(),
});

/** The public view of a notification as it is now. */
export const notificationView = (record: NotificationRecord, bound: BoundVersions) => stateView(record, record.current, bound);

/** The details of an entry, from its stored canonical text. */
export const detailsOf = (entry: EntryRecord): Record<string, unknown> => (JSON.parse(entry.body) as { details: Record<string, unknown> }).details;

/** One ledger entry as it is shown; `body` and the hashes let anyone check the chain. */
export const entryView = (entry: EntryRecord) => ({
  version: entry.version, kind: entry.kind, at: entry.at.toISOString(), actor: entry.actor, request_id: entry.requestId, attempt_key: entry.attemptKey,
  from: entry.fromState, to: entry.toState, policy_version: entry.policyVersion, details: detailsOf(entry),
  body: entry.body, prev_hash: Buffer.from(entry.prevHash).toString('hex'), hash: Buffer.from(entry.hash).toString('hex'),
});
export type NotificationView = ReturnType<typeof notificationView>;
