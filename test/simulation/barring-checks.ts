import type { Policy } from '../../shared/domain/policy.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import type { MemoryNotification } from './memory-ledger.ts';
import type { Told } from './watch.ts';

export interface BarringSettings {
  report: (invariant: string, about: string) => void;
  /** Whether a consent of the recipient was taken back: here, all that there is. */
  isWithdrawn: (notification: MemoryNotification, channel: string) => boolean;
}

interface Around { notification: MemoryNotification; from: NotificationState; policy: Policy }

/** By the clock that stands in the entry; the simulation's quiet hours are those of UTC, and none of them passes midnight. */
const isQuiet = (policy: Policy, channel: 'sms' | 'email', at: number): boolean => {
  const hours = policy.regions['US']?.quietHours?.[channel];
  const time = new Date(at).toISOString().slice(11, 16);
  return hours !== undefined && time >= hours.from && time < hours.to;
};

/** Quiet hours, consents that were taken back, throttles: what no start may pass by, told by the ledger's own text. */
export const openBarringChecks = ({ report, isWithdrawn }: BarringSettings): ((told: Told, around: Around) => void) => {
  const begun = new Map<string, number[]>();

  const started = (told: Told, channel: 'sms' | 'email', { notification, policy }: Around): void => {
    const key = String(told.transition.details['attempt']);
    if (isQuiet(policy, channel, told.at)) report('no submission is started inside quiet hours', key);
    if (isWithdrawn(notification, channel)) report('no submission is started once its consent was taken back', key);
    const throttle = policy.steps.find((step) => step.channel === channel)?.throttle;
    if (throttle === undefined || told.transition.details['submission'] !== 1) return;
    const of = `${policy.purpose} ${channel} ${notification.prints[channel]}`;
    const near = (begun.get(of) ?? []).filter((at) => Math.abs(at - told.at) < throttle.withinMs);
    // A span is that of two: among three that are each near the newest, two may lie apart.
    if ([...near, told.at].some((from) => [...near, told.at].filter((at) => at >= from && at < from + throttle.withinMs).length > throttle.most)) report('never more than the throttle allows', key);
    begun.set(of, [...begun.get(of) ?? [], told.at]);
  };

  return (told, around) => {
    const { kind, details } = told.transition;
    const attempt = around.from.attempts.find(({ key }) => key === details['attempt']);
    if (kind === 'SubmissionStarted' && attempt) started(told, attempt.channel, around);
    if (kind === 'AttemptQueued' && attempt && isQuiet(around.policy, attempt.channel, told.at)) report('nothing is queued inside quiet hours', attempt.key);
    if (kind === 'AttemptPlanned' && Number(details['starts_at']) > told.at) {
      if (Number(details['decision_deadline_at']) <= Number(details['starts_at'])) report('a deadline counts from the opening', String(details['attempt']));
      if (!isQuiet(around.policy, details['channel'] as 'sms' | 'email', told.at)) report('only quiet hours are waited for', String(details['attempt']));
    }
    const reason = details['reason'];
    if ((kind === 'StepSkipped' || kind === 'AttemptSuppressed') && reason === 'consent_withdrawn' && !around.notification.erased) {
      if (!isWithdrawn(around.notification, String(attempt?.channel ?? details['channel']))) report('only a consent that was taken back bars', String(details['attempt'] ?? details['step']));
    }
  };
};
