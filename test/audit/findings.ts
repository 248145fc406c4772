import { isDeepStrictEqual } from 'node:util';
import { fold } from '../../shared/domain/evolve.ts';
import { isReconciling, isUnsubmitted } from '../../shared/domain/state.ts';
import type { LedgerAttempt, LedgerEntry, LedgerNotification } from './ledger-reader.ts';
import type { ProviderReceipt } from './sandbox-log.ts';

/** What an audit may find; each is a broken promise. `docs/audits.md` says which. */
export const FINDING_KINDS = ['lost', 'split', 'not_ended', 'twice', 'claimed_twice', 'started_late', 'pending_past_expiry', 'misreported', 'chain', 'fold'] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];
export interface Finding { kind: FindingKind; eventId: string | null; detail: string }

/** Everything that is known about one notification, from ledger and provider. */
export interface Evidence {
  notification: LedgerNotification;
  attempts: readonly LedgerAttempt[];
  provider: readonly ProviderReceipt[];
  /** When the client's close was confirmed with nothing in flight; null where it closed nothing. */
  closedAt: number | null;
}

const finding = (kind: FindingKind, { notification }: Evidence, detail: string): Finding => ({ kind, eventId: notification.eventId, detail });

const OPEN_STATUSES = new Set(['accepted', 'in_progress']);

/** Ended: the status is final, and nothing may still go out; what is at a provider may still be observed. */
export const hasEnded = ({ state, status }: Pick<LedgerNotification, 'state' | 'status'>): boolean =>
  !OPEN_STATUSES.has(status)
  && (state.settledAt !== null || state.attempts.every((attempt) => attempt.settledAt !== null || isReconciling(attempt)));

const repeated = (texts: readonly string[]): string[] => [...new Set(texts.filter((text, index) => texts.indexOf(text) !== index))];

/** More than one message accepted of one channel, or of one attempt key. What was refused before it was read (its attempt is known by its envelope) has no content. */
export const sentTwice = (evidence: Evidence): Finding[] => {
  const accepted = evidence.provider.filter((receipt) => receipt.kind === 'accepted');
  const contentsOf = (key: string): Set<string> => new Set(evidence.provider.filter((receipt) => receipt.attemptKey === key).map((receipt) => receipt.contentSha256).filter((content) => content !== ''));
  const keys = [...new Set(evidence.provider.map((receipt) => receipt.attemptKey ?? ''))];
  return [
    ...repeated(accepted.map((receipt) => receipt.channel)).map((channel) => finding('twice', evidence, `${channel} accepted more than once`)),
    ...repeated(accepted.map((receipt) => receipt.attemptKey ?? '')).map((key) => finding('twice', evidence, `${key} accepted more than once`)),
    ...keys.filter((key) => contentsOf(key).size > 1).map((key) => finding('twice', evidence, `${key} was submitted with different contents`)),
  ];
};

/** A step claimed more than once. */
export const claimedTwice = (evidence: Evidence): Finding[] => {
  const steps = evidence.notification.entries.flatMap(({ stamped: { transition } }) => (transition.kind === 'FallbackClaimed' ? [String(transition.details.to_step)] : []));
  return repeated(steps).map((step) => finding('claimed_twice', evidence, `step ${step} claimed more than once`));
};

/**
 * Whether its outcome had been booked as unknown by then: what was written to the line before may still arrive, and that is
 * why it is called so. A submission that is started later is a finding of its own.
 */
export const wasUnknownBy = (entries: readonly LedgerEntry[], attemptKey: string | null, at: number): boolean =>
  entries.some((entry) => entry.kind === 'SubmissionOutcomeUnknown' && entry.attemptKey === attemptKey && entry.at <= at);

/** A submission started after the close or the expiry, or received after a close that had nothing in flight. */
export const startedLate = (evidence: Evidence): Finding[] => {
  const { notification: { entries, expiresAt }, provider, closedAt } = evidence;
  const closed = entries.find((entry) => entry.kind === 'NotificationClosed');
  const starts = entries.filter((entry) => entry.kind === 'SubmissionStarted');
  return [
    ...starts.filter((entry) => entry.at >= expiresAt).map((entry) => finding('started_late', evidence, `v${entry.version} started after expiry`)),
    ...starts.filter((entry) => closed !== undefined && entry.version > closed.version).map((entry) => finding('started_late', evidence, `v${entry.version} started after the close`)),
    ...provider.filter((receipt) => closedAt !== null && receipt.receivedAt > closedAt && !wasUnknownBy(entries, receipt.attemptKey, closedAt)).map((receipt) => finding('started_late', evidence, `${receipt.channel} reached the provider after a close with nothing in flight`)),
  ];
};

/** Something that might still go out although the expiry is past. */
export const pendingPastExpiry = (evidence: Evidence, now: number, slackMs: number): Finding[] => {
  const { notification: { expiresAt, state } } = evidence;
  if (now < expiresAt + slackMs) return [];
  const waiting = state.settledAt === null && !state.expired && state.steps.some((step) => step.phase === 'waiting');
  return [
    ...state.attempts.filter((attempt) => isUnsubmitted(attempt) || attempt.state === 'submitting').map((attempt) => finding('pending_past_expiry', evidence, `${attempt.key} is ${attempt.state}`)),
    ...(waiting ? [finding('pending_past_expiry', evidence, 'a step still waits')] : []),
  ];
};

const NEVER_THERE = new Set(['planned', 'queued', 'rejected', 'suppressed', 'cancelled', 'expired', 'render_failed', 'dead_lettered']);
/** Ended by what a status said later: taken at first, and refused all the same. */
const refusedLater = (key: string, { notification: { entries } }: Evidence): boolean => entries.some(({ attemptKey, stamped: { transition } }) =>
  attemptKey === key && (transition.kind === 'AttemptRejected' || transition.kind === 'AttemptSuppressed') && transition.details.source !== 'submit');
const WAS_THERE = new Set(['submitted', 'delivered', 'undelivered']);

/** Ledger and provider tell different stories: sent without a started submission, called failed though taken, or the other way round. */
export const misreported = (evidence: Evidence): Finding[] => {
  const { attempts, provider, notification } = evidence;
  const acceptedOf = (key: string): boolean => provider.some((receipt) => receipt.kind === 'accepted' && receipt.attemptKey === key);
  const startsOf = (key: string | null): number => notification.entries.filter((entry) => entry.kind === 'SubmissionStarted' && entry.attemptKey === key).length;
  const keys = [...new Set(provider.map((receipt) => receipt.attemptKey))];
  return [
    ...attempts.filter((attempt) => NEVER_THERE.has(attempt.state) && acceptedOf(attempt.attemptKey) && !refusedLater(attempt.attemptKey, evidence)).map((attempt) => finding('misreported', evidence, `${attempt.attemptKey} is ${attempt.state}, but the provider took it`)),
    ...attempts.filter((attempt) => WAS_THERE.has(attempt.state) && !acceptedOf(attempt.attemptKey)).map((attempt) => finding('misreported', evidence, `${attempt.attemptKey} is ${attempt.state}, but the provider never took it`)),
    ...keys.filter((key) => provider.filter((receipt) => receipt.attemptKey === key).length > startsOf(key)).map((key) => finding('misreported', evidence, `${key} reached the provider more often than submissions were started`)),
  ];
};

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** The stored state is not the fold of the entries, or the attempt rows differ from it. */
export const foldErrors = (evidence: Evidence): Finding[] => {
  const { notification: { eventId, state, entries }, attempts } = evidence;
  try {
    const folded = fold(eventId, entries.map((entry) => entry.stamped));
    const rows = Object.fromEntries(attempts.map((attempt) => [attempt.attemptKey, attempt.state]));
    const expected = Object.fromEntries(folded.attempts.map((attempt) => [attempt.key, attempt.state]));
    return [
      ...(isDeepStrictEqual(plain(folded), plain(state)) ? [] : [finding('fold', evidence, 'the state is not the fold of the entries')]),
      ...(isDeepStrictEqual(rows, expected) ? [] : [finding('fold', evidence, `attempt rows differ: ${JSON.stringify(rows)} for ${JSON.stringify(expected)}`)]),
    ];
  } catch (error) {
    return [finding('fold', evidence, `the entries do not fold: ${(error as Error).message}`)];
  }
};
