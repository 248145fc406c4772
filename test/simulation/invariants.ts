import { evolve } from '../../shared/domain/evolve.ts';
import type { Policy, PolicyStep } from '../../shared/domain/policy.ts';
import type { ProviderState } from '../../shared/domain/provider-state.ts';
import type { AttemptState, NotificationState } from '../../shared/domain/state.ts';
import { emptyState } from '../../shared/domain/state.ts';
import type { Stamped } from '../../shared/domain/transitions.ts';
import type { Commit, MemoryNotification } from './memory-ledger.ts';
import type { Receipt } from './provider.ts';
import type { Book, Told } from './watch.ts';
import { openBook, toldBy } from './watch.ts';
import { openBarringChecks } from './barring-checks.ts';
import { openOriginChecks } from './origin-checks.ts';
import type { OriginAnswered } from './origins.ts';
import { openPayloadChecks } from './payload-rules.ts';
import { openProviderChecks } from './provider-checks.ts';

/**
 * The promises of the design, checked at every commit and every call that arrives. What is checked is the ledger's text, the
 * rows and the provider's book; of the product's own code only the fold is used, so that a mistake cannot hide itself.
 */
export interface Checks {
  onCommit: (commit: Commit, now: number) => void;
  onReceipt: (receipt: Receipt, writtenAt: number) => void;
  onDeferred: (attemptKey: string, at: number, retryAfterMs: number) => void;
  atEnd: (notification: MemoryNotification) => void;
  /** When a part of its payload has to be gone next; null where none waits for its time. */
  payloadDueAt: (eventId: string) => number | null;
}

export interface CheckSettings {
  policyOf: (purpose: string) => Policy;
  submitStartWithinMs: number;
  /** A provider as the database has it. */
  providerOf: (name: string) => ProviderState | undefined;
  /** How far an entry's instant may lie from the true one: skew, a stop, a journey. */
  clockSlackMs: number;
  /** How far two clocks may lie apart. */
  skewMs: number;
  report: (invariant: string, about: string) => void;
  /** What the origin system of a notification has answered, by its own book. */
  originSaid: (eventId: string) => readonly OriginAnswered[];
  /** Whether the list holds the destination of a notification on that channel. */
  isSuppressed: (notification: MemoryNotification, channel: string) => boolean;
  /** Whether a consent of its recipient on that channel was taken back. */
  isWithdrawn: (notification: MemoryNotification, channel: string) => boolean;
  /** Sees every state that an entry leads from and to. */
  onMoved: (from: NotificationState, to: NotificationState) => void;
}

const FAILED = new Set(['rejected', 'undelivered', 'suppressed', 'render_failed', 'dead_lettered']);
const NOT_SENT = new Set(['planned', 'queued', 'cancelled', 'expired', 'render_failed', 'dead_lettered', 'shadowed']);
const ENDS: Record<string, string> = {
  AttemptDelivered: 'delivered', AttemptUndelivered: 'undelivered', AttemptRejected: 'rejected', AttemptSuppressed: 'suppressed',
  AttemptCancelled: 'cancelled', AttemptExpired: 'expired', AttemptDeadLettered: 'dead_lettered', AttemptRenderFailed: 'render_failed', AttemptShadowed: 'shadowed',
};
/** What ends an attempt before anything of it was sent, and counts as a step that was skipped. */
const BARS = new Set(['suppressed', 'consent_withdrawn', 'throttled', 'quiet_hours']);
const HEARD = new Set(['StatusObserved', 'AttemptDelivered', 'AttemptUndelivered', 'AttemptRejected', 'AttemptSuppressed', 'StatusReadFailed', 'AttemptAdopted']);
const QUEUED = new Set(['AttemptQueued', 'AttemptRequeued', 'SubmissionDeferred', 'SubmissionAbandoned', 'ResubmissionPlanned']);

const finalOf = (receipt: Receipt): string => receipt.fate.at(-1)?.outcome ?? 'none';
const find = (state: NotificationState, key: unknown): AttemptState | undefined => state.attempts.find((attempt) => attempt.key === key);
/** Whether two values of plain JSON are the same. */
const isSame = (one: unknown, other: unknown): boolean => {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null || Array.isArray(one) !== Array.isArray(other)) return false;
  const members = Object.entries(one);
  return members.length === Object.keys(other).length && members.every(([name, value]) => Object.hasOwn(other, name) && isSame(value, (other as Record<string, unknown>)[name]));
};
const classOf = (attempt: AttemptState): string => {
  if (FAILED.has(attempt.state)) return 'failed';
  if (attempt.state === 'planned' || attempt.state === 'queued') return 'pending';
  if (attempt.state !== 'submitted') return 'unknown';
  return attempt.evidence?.outcome === 'accepted' ? 'accepted' : 'pending';
};

export const openChecks = (settings: CheckSettings): Checks => {
  const books = new Map<string, Book>();
  const { report } = settings;
  const must = (holds: boolean, invariant: string, about: string): void => { if (!holds) report(invariant, about); };
  const payloads = openPayloadChecks(report);
  const checkProviders = openProviderChecks(settings);
  const bookOf = (eventId: string): Book | undefined => books.get(eventId);

  const started = (book: Book, told: Told, from: NotificationState, { now, suppressed }: { now: number; suppressed: (channel: string) => boolean }): void => {
    const key = String(told.transition.details['attempt']);
    const attempt = find(from, key);
    const submission = Number(told.transition.details['submission']);
    must(told.at < book.expiresAt, 'no submission is started after expiry', key);
    must(book.closedAt === null, 'no submission is started after close', key);
    must(book.pausedAt === null, 'no submission is started while paused', key);
    must(!suppressed(String(attempt?.channel)), 'no submission is started to a suppressed destination', key);
    must(attempt?.superseded !== true, 'no submission is started on a superseded attempt', key);
    const before = book.started.get(key) ?? [];
    const taken = (book.receipts.get(key) ?? []).filter((receipt) => receipt.messageId !== null);
    must(submission === before.length + 1, 'a submission is numbered once', key);
    must((taken.length === 0 || book.basis.get(key) === 'replay') && (submission === 1 || attempt?.state === 'queued'), 'never a blind second send', key);
    book.started.set(key, [...before, { at: told.at, committedAt: now }]);
  };

  const claimed = (book: Book, told: Told, from: NotificationState, { step, heardLater, failedRead }: { step: PolicyStep | undefined; heardLater: boolean; failedRead: boolean }): void => {
    const details = told.transition.details;
    const rests = details['rests_on'] as { attempt: string; class: string; stale: boolean; observed_at: number | null };
    const to = Number(details['to_step']);
    must(!book.claimed.has(to), 'a fallback is claimed once', `step ${to}`);
    book.claimed.add(to);
    const attempt = find(from, rests.attempt);
    if (!attempt || !step) return report('a claim names what it rests on', `step ${to}`);
    const failed = details['cause'] === 'attempt_failed';
    const stranded = details['cause'] === 'provider_unavailable';
    if (stranded) must(attempt.state === 'queued' && attempt.providerWaitAt !== null && settings.providerOf(attempt.provider)?.state !== 'closed', 'only what waits for its provider claims for that', attempt.key);
    else must(failed ? FAILED.has(attempt.state) : told.at >= attempt.decisionDeadlineAt, failedRead ? 'a failed status read claims nothing' : 'a claim needs a failure or the deadline', attempt.key);
    must(attempt.state !== 'delivered', 'nothing is claimed after a delivery', attempt.key);
    must(book.closedAt === null && told.at < book.expiresAt, 'nothing is claimed after close or expiry', attempt.key);
    must(book.pausedAt === null, 'nothing is claimed while paused', attempt.key);
    // Ended by the list, its step counts as skipped: the next one starts whatever the policy says.
    const skipped = attempt.state === 'suppressed' && attempt.reason !== null && BARS.has(attempt.reason);
    const permitted = skipped || step.escalateWhen.includes(rests.class as 'failed') || (stranded && step.escalateWhen.includes('failed'));
    must(classOf(attempt) === rests.class && permitted, 'a claim is permitted by what the ledger knows', `${attempt.key} ${rests.class}`);
    must(!heardLater, 'an answer in hand is heard before a claim is made', attempt.key);
    const readable = attempt.state === 'submitted' ? attempt.statusByPoll : attempt.state === 'submitted_unknown' && attempt.canLookUp;
    const fresh = rests.observed_at !== null && rests.observed_at >= told.at - step.maxObservationAgeMs;
    must(!readable || fresh || (rests.stale && attempt.lookUntil !== null && attempt.lookUntil <= told.at), 'a claim on old evidence looks first', attempt.key);
  };

  const ended = (book: Book, told: Told, from: NotificationState): void => {
    const key = String(told.transition.details['attempt']);
    const state = ENDS[told.transition.kind] as string;
    const before = book.ended.get(key);
    must(before === undefined, before === 'delivered' ? 'delivered is never downgraded' : 'an attempt that ended never changes', `${key} ${before} then ${state}`);
    book.ended.set(key, state);
    if (told.transition.kind === 'AttemptCancelled') {
      must(book.closedAt !== null || find(from, key)?.superseded === true, 'late truth takes nothing back', key);
    }
    const taken = (book.receipts.get(key) ?? []).find((receipt) => receipt.messageId !== null);
    if (!taken) return must(state !== 'delivered' && state !== 'undelivered', 'nothing is reported of a message that was never taken', key);
    must(!NOT_SENT.has(state), 'what the provider took is never called not sent', `${key} ${state}`);
    must(!FAILED.has(state) || taken.fate.some((one) => one.outcome === state), 'unknown is never called failed', `${key} ${state}, in truth ${finalOf(taken)}`);
    must(state !== 'delivered' || taken.fate.some((one) => one.outcome === 'delivered'), 'failed is never called delivered', key);
  };

  const checkOrigin = openOriginChecks(settings);
  const checkBarring = openBarringChecks(settings);
  /** By the policy itself, and not by what the state made of it. */
  const checkShadow = ({ transition: { kind, details } }: Told, from: NotificationState, policy: Policy): void => {
    const stepOf = (key: unknown): PolicyStep | undefined => policy.steps[find(from, key)?.step ?? -1];
    const key = String(details['attempt'] ?? from.eventId);
    if (kind === 'SubmissionStarted') must(stepOf(key)?.shadow !== true, 'what runs in shadow is never submitted', key);
    if (kind === 'AttemptShadowed') must(stepOf(key)?.shadow === true && details['reason'] !== 'render_drift', 'only what runs in shadow ends in it', key);
    if (kind === 'FallbackClaimed') must(policy.steps[Number(details['to_step'])]?.shadow !== true && policy.steps[Number(details['from_step'])]?.shadow !== true, 'what runs in shadow neither claims nor is claimed', key);
  };
  const entry = (book: Book, told: Told, around: { from: NotificationState; policy: Policy; now: number; erased: boolean; suppressed: (channel: string) => boolean; later: readonly Told[]; all: readonly Told[] }): void => {
    const { from, policy, now } = around;
    const { kind, details } = told.transition;
    must(Math.abs(told.at - now) <= settings.clockSlackMs, 'every instant derives from the injected clock', `${kind} ${told.at - now} ms off`);
    checkOrigin(told, from, policy);
    checkShadow(told, from, policy);
    if (kind === 'SubmissionStarted') started(book, told, from, around);
    if (kind === 'FallbackClaimed') {
      claimed(book, told, from, {
        step: policy.steps[Number(details['from_step'])], heardLater: around.later.some((one) => HEARD.has(one.transition.kind)),
        failedRead: around.all.some((one) => one.transition.kind === 'StatusReadFailed'),
      });
    }
    if (kind === 'AttemptPlanned' || kind === 'AttemptRenderFailed') {
      const step = Number(details['step']);
      must(!book.planned.has(step) || details['origin'] === 'operator', 'a step is planned once by policy', String(step));
      must(!book.attempts.has(String(details['attempt'])), 'an attempt key is used once', String(details['attempt']));
      book.planned.add(step);
      book.attempts.add(String(details['attempt']));
    }
    if (kind === 'AttemptDeadLettered') must(details['reason'] !== 'render_drift' && (details['reason'] !== 'payload_destroyed' || around.erased), 'what was planned can be rendered again', String(details['attempt']));
    if (kind === 'StepSkipped' && details['reason'] === 'suppressed') must(around.erased || around.suppressed(String(details['channel'])), 'only what the list holds is suppressed', String(details['channel']));
    if (kind === 'AttemptSuppressed' && details['source'] === 'eligibility' && details['reason'] === 'suppressed') must(around.erased || around.suppressed(String(find(from, details['attempt'])?.channel)), 'only what the list holds is suppressed', String(details['attempt']));
    if (kind === 'AttemptSuppressed' && details['reason'] === 'opted_out') must(around.erased || around.suppressed(String(find(from, details['attempt'])?.channel)), 'an opt-out is on the list with its transition', String(details['attempt']));
    if (kind in ENDS) ended(book, told, from);
    if (kind === 'DeliveryCorrected') book.ended.set(String(details['attempt']), 'undelivered');
    if (kind === 'ResubmissionPlanned') book.basis.set(String(details['attempt']), String(details['reason']));
    // A resubmission that was definitely not processed is tried again on what it rested on.
    if (kind === 'SubmissionOutcomeUnknown' || kind === 'ResubmissionWithdrawn') book.basis.delete(String(details['attempt']));
    if (kind === 'OperatorRetried') {
      must(details['even_if_delivered'] === true || from.attempts.every((one) => one.state !== 'delivered' || (from.strategy === 'all' && one.channel !== from.attempts.find((attempt) => attempt.key === details['attempt'])?.channel)), 'no retry after a delivery on any channel', String(details['attempt']));
    }
    if (kind === 'NotificationClosed') book.closedAt = told.at;
    if (kind === 'NotificationPaused') book.pausedAt = told.at;
    if (kind === 'NotificationResumed' || kind === 'NotificationClosed') book.pausedAt = null;
    // What a dead or stopped worker was told, nobody knows: a wish holds from the entry that speaks of it on.
    if (kind === 'SubmissionDeferred' && details['reason'] !== 'connection_refused') {
      const wish = book.wished.get(String(details['attempt'])) ?? 0;
      book.notBefore.set(String(details['attempt']), wish);
      must(Number(details['retry_at']) >= Math.min(wish, book.expiresAt) - settings.skewMs, 'Retry-After is honoured', String(details['attempt']));
    }
  };

  /** What holds of a state whoever made it. */
  const checkState = ({ notification, append }: Commit, told: readonly Told[]): void => {
    const { state } = notification;
    must(state.expiresAt === notification.expiresAt || state.rejected !== null, 'expiry is set once and never moves', notification.eventId);
    const claimedNow = told.some((one) => one.transition.kind === 'FallbackClaimed');
    for (const attempt of state.attempts) {
      const waits = attempt.state === 'planned' || attempt.state === 'queued';
      must(!waits || !attempt.superseded, 'a claim leaves no earlier attempt unsubmitted', attempt.key);
      must(!waits || state.closed === null, 'nothing waits to be submitted once closed', attempt.key);
      const shadow = settings.policyOf(state.purpose).steps[attempt.step]?.shadow === true;
      must(!shadow || !append.rows.dead_letters.some((row) => row['attempt_key'] === attempt.key), 'what runs in shadow is no dead letter', attempt.key);
      if (claimedNow && waits && !shadow) must(attempt.key === state.attempts.at(-1)?.key, 'a claim leaves no earlier attempt unsubmitted', attempt.key);
      const row = notification.attempts.get(attempt.key);
      must(row?.state === attempt.state && row.nextPollAt === attempt.nextPollAt && row.settledAt === attempt.settledAt, 'the next poll and the state stand in the database', attempt.key);
      must(attempt.state !== 'queued' || attempt.requeueAt === null || state.paused !== null || (notification.decideAt !== null && notification.decideAt <= attempt.requeueAt), 'whatever waits has an alarm', attempt.key);
      must(attempt.state !== 'planned' || state.paused !== null || (notification.decideAt !== null && notification.decideAt <= attempt.startsAt), 'whatever waits has an alarm', attempt.key);
    }
    must(state.settledAt !== null || notification.decideAt !== null, 'whatever is open has an alarm', notification.eventId);
    // While paused nothing is enqueued; the resume finds what waits by its alarm.
    for (const one of told.filter((each) => QUEUED.has(each.transition.kind) && state.paused === null)) {
      const { attempt, generation } = one.transition.details;
      // What is started by the very append that queues it waits for nothing.
      const isStarted = told.some(({ transition: t }) => t.kind === 'SubmissionStarted' && t.details.attempt === attempt);
      must(isStarted || append.rows.outbox.some((row) => row['attempt_key'] === attempt && row['generation'] === generation), 'an enqueue is written with its decision', String(attempt));
    }
  };

  return {
    onCommit: (commit, now) => {
      const { notification, before } = commit;
      const book = bookOf(notification.eventId) ?? openBook(notification.expiresAt);
      books.set(notification.eventId, book);
      const told = toldBy(commit);
      const policy = settings.policyOf(notification.state.purpose);
      let state = before ?? emptyState(notification.eventId);
      told.forEach((one, index) => {
        payloads.onEntry(one, state);
        checkBarring(one, { notification, from: state, policy });
        entry(book, one, { from: state, policy, now, erased: notification.erased, suppressed: (channel) => settings.isSuppressed(notification, channel), later: told.slice(index + 1), all: told });
        const next = evolve(state, { at: one.at, transition: one.transition } as Stamped);
        settings.onMoved(state, next);
        state = next;
      });
      must(isSame(state, notification.state), 'the state is the fold of the ledger', notification.eventId);
      checkState(commit, told);
      payloads.onCommit(notification);
      checkProviders(commit, told, now);
    },
    onReceipt: (receipt, writtenAt) => {
      const key = receipt.attemptKey;
      const book = bookOf(key.split('.')[0] as string);
      if (!book || !book.attempts.has(key)) return report('the attempt key goes to the provider unchanged', key);
      const known = book.receipts.get(key) ?? [];
      const starts = book.started.get(key) ?? [];
      const standing = starts.filter((one) => one.committedAt <= writtenAt);
      must(known.length < standing.length, 'SubmissionStarted is committed before its call', key);
      const start = standing.at(-1);
      if (start) must(writtenAt - start.committedAt <= settings.submitStartWithinMs, 'no call starts later than the fence allows', `${key} ${writtenAt - start.committedAt} ms`);
      must(known.every((one) => one.contentHash === receipt.contentHash), 'every submission of an attempt is the same bytes', key);
      must(receipt.messageId === null || known.every((one) => one.messageId === null), 'one message per attempt key', key);
      const others = [...book.receipts.values()].flat().filter((one) => one.channel === receipt.channel && one.messageId !== null && one.attemptKey !== key);
      must(receipt.messageId === null || others.every((one) => FAILED.has(finalOf(one))), 'one message per channel', key);
      must(receipt.at >= (book.notBefore.get(key) ?? 0) - settings.skewMs, 'Retry-After is honoured', key);
      book.receipts.set(key, [...known, receipt]);
    },
    onDeferred: (attemptKey, at, retryAfterMs) => { bookOf(attemptKey.split('.')[0] as string)?.wished.set(attemptKey, at + retryAfterMs); },
    payloadDueAt: payloads.dueAt,
    atEnd: (notification) => {
      const book = bookOf(notification.eventId);
      must(notification.state.settledAt !== null, 'everything ends', notification.eventId);
      must(payloads.dueAt(notification.eventId) === null, 'what can be destroyed is destroyed in time', notification.eventId);
      for (const attempt of notification.state.attempts) {
        const taken = (book?.receipts.get(attempt.key) ?? []).some((receipt) => receipt.messageId !== null);
        must(!taken || !NOT_SENT.has(attempt.state), 'what the provider took is never called not sent', attempt.key);
        must(taken || attempt.state !== 'submitted', 'nothing is reported of a message that was never taken', attempt.key);
      }
    },
  };
};
