import type { Cause, Told } from './answer-use.ts';
import type { ExplainedEntry } from './explain.ts';
import { entryAbout, standingOf } from './answer-words.ts';
import { wasBarred } from './eligibility.ts';
import { resolvedBy } from './explain-dead-letter.ts';
import type { Barred } from './explain-quiet.ts';
import { tellBarred } from './explain-quiet.ts';
import { attemptName, escalationRule, instant, reasonText } from './explain-words.ts';
import type { Instant } from './words.ts';
import type { AttemptState } from './state.ts';
import { currentAttempt } from './state.ts';

export interface Disuse extends Cause { observed: string; /** It may still come. */ open?: true }

const lastAt = ({ entries }: Told, kind: string): Instant => entries.findLast((entry) => entry.kind === kind)?.at ?? entries.at(-1)?.at ?? 0;

const nobody = ({ entries }: Told): string => `no provider was called for it by ${instant(entries.at(-1)?.at ?? 0)}`;

/** What is known of the attempt that decides about later steps. */
const seenOf = (told: Told, attempt: AttemptState | null): string => (attempt ? standingOf(attemptName(attempt.key), attempt, told.entries) : nobody(told));

/** Why a step could not be used, or not any more. */
const barredBy = ({ state, policy }: Told, barred: Omit<Barred, 'opensAt'>, entry: ExplainedEntry | undefined): string =>
  tellBarred({ ...barred, opensAt: entry?.details['opens_at'] as Barred['opensAt'] }, { after: state, end: state, policy }) ?? 'it could not be used';

const skipped = (told: Told, index: number): Disuse => {
  const entry = told.entries.findLast(({ kind, details }) => kind === 'StepSkipped' && details['step'] === index);
  const { channel, reason } = told.state.steps[index] ?? { channel: 'sms', reason: null };
  return { cause: reason ?? 'step_skipped', because: `${barredBy(told, { step: index, channel, reason }, entry)} (${reason ?? 'step_skipped'})`, observed: `that was found at ${instant(entry?.at ?? told.state.requestedAt)}, and it was skipped` };
};

const inShadow = (told: Told, index: number): Disuse => {
  const attempt = told.state.attempts.find(({ step }) => step === index);
  const why = { cause: 'shadow', because: 'it runs in shadow: everything but the provider call' };
  if (!attempt) {
    const { because, observed } = skipped(told, index);
    return { ...why, observed: told.state.steps[index]?.phase === 'skipped' ? `besides, ${because}; ${observed}` : nobody(told) };
  }
  const shadowed = entryAbout(told.entries, attempt, 'AttemptShadowed');
  if (!shadowed) return { ...why, observed: `it stands as *${attempt.state}*${attempt.reason === null ? '' : ` (${reasonText(attempt.reason)})`} since ${instant(attempt.settledAt ?? attempt.queuedAt ?? attempt.plannedAt)}` };
  return { ...why, observed: `${attempt.reason === null ? 'it would have been submitted' : `it could not have been submitted (${reasonText(attempt.reason)})`} at ${instant(shadowed.at)}` };
};

const waiting = (told: Told): Disuse => {
  const { state } = told;
  const deciding = currentAttempt(state);
  const observed = seenOf(told, deciding);
  if (state.paused) return { cause: 'paused', because: `the notification is paused since ${instant(state.paused.at)} (${state.paused.reason}), and nothing is claimed while it is`, observed, open: true };
  const held = heldByOrigin(told);
  if (held !== null) return { cause: 'precondition_error', because: held, observed, open: true };
  const until = deciding ? `, at ${instant(deciding.lookUntil ?? deciding.decisionDeadlineAt)} at the latest` : '';
  return { cause: 'not_due', because: `it has its turn only by what becomes of ${deciding ? attemptName(deciding.key) : 'what comes before it'}${until}`, observed, open: true };
};

/** The origin system could not say whether it was still needed, and the rule for that holds it; null where it does not. */
const heldByOrigin = ({ state, entries }: Told): string | null => {
  const asked = entries.findLast(({ kind }) => kind === 'PreconditionAnswered');
  if (asked?.details['answer'] !== 'error' || state.precondition?.onError !== 'hold') return null;
  return `the origin system could not say at ${instant(asked.at)} whether it was still needed, for which the rule is *hold*`;
};

/** Never its turn: what came before it sufficed, or the policy does not go on from how it stood. */
const passedBy = (told: Told): Disuse => {
  const { state, policy, entries } = told;
  const delivered = state.attempts.find((attempt) => attempt.state === 'delivered');
  if (delivered) return { cause: 'delivered', because: `${attemptName(delivered.key)} was delivered, and nothing further was needed`, observed: seenOf(told, delivered) };
  const deciding = currentAttempt(state);
  const observed = seenOf(told, deciding);
  if (!deciding) return { cause: 'not_due', because: 'nothing before it was ever started', observed };
  const rule = escalationRule(state, policy.steps[deciding.step]);
  if (deciding.corrected) return { cause: 'not_escalated', because: `${attemptName(deciding.key)} had been confirmed *delivered*, and a later correction starts nothing`, observed };
  const passed = entryAbout(entries, deciding, 'DeadlinePassed');
  const stood = passed ? `at the decision deadline ${instant(deciding.decisionDeadlineAt)} ${attemptName(deciding.key)} stood as *${String(passed.details['class'])}*` : `${attemptName(deciding.key)} stood as *${deciding.state}* when it settled at ${instant(lastAt(told, 'NotificationSettled'))}`;
  return { cause: 'not_escalated', because: `${stood}, and ${rule} only`, observed };
};

/** The pause that was on when that happened; null where none was. Of what had fallen due in it nothing was decided. */
const pausedAt = ({ entries }: Told, end: 'NotificationExpired' | 'NotificationClosed'): ExplainedEntry | null => {
  const before = entries.slice(0, Math.max(0, entries.findIndex(({ kind }) => kind === end)));
  const last = before.findLast(({ kind }) => kind === 'NotificationPaused' || kind === 'NotificationResumed');
  return last?.kind === 'NotificationPaused' ? last : null;
};

const heldByPause = (told: Told, { at, details }: ExplainedEntry): string =>
  `the notification was paused from ${instant(at)} (${String(details['reason'])}) until it expired at ${instant(lastAt(told, 'NotificationExpired'))}`;

const whilePaused = (told: Told): string => {
  const pause = pausedAt(told, 'NotificationClosed');
  return pause ? `, while it was paused since ${instant(pause.at)} (${String(pause.details['reason'])}),` : '';
};

const dropped = (told: Told, reason: string | null): Disuse => {
  const { state } = told;
  const deciding = currentAttempt(state);
  const observed = seenOf(told, deciding);
  // It had its turn before that, and the policy did not take it.
  const passed = deciding ? told.entries.findLastIndex(({ kind, details }) => kind === 'DeadlinePassed' && details['attempt'] === deciding.key) : -1;
  if (passed !== -1 && passed < told.entries.findIndex(({ kind }) => kind === 'NotificationClosed' || kind === 'NotificationExpired')) return passedBy(told);
  if (reason === 'closed' && state.closed) return { cause: 'closed', because: `the notification was closed at ${instant(state.closed.at)} (${state.closed.reason})${whilePaused(told)} before it had its turn`, observed };
  const pause = reason === 'expired' ? pausedAt(told, 'NotificationExpired') : null;
  if (pause) return { cause: 'paused', because: `${heldByPause(told, pause)}, and nothing is claimed while it is, so it never had its turn`, observed };
  const held = heldByOrigin(told);
  if (reason === 'expired') return { cause: held === null ? 'expired' : 'precondition_error', because: `${held === null ? '' : `${held}, and `}the notification expired at ${instant(lastAt(told, 'NotificationExpired'))} before it had its turn`, observed };
  return passedBy(told);
};

/** How it stopped, and whether that still is work for an operator. */
const stopped = ({ entries, letterEnds, state: { strategy } }: Told, { key, state }: AttemptState): string => {
  if (state === 'expired') return 'it expired before anything of it was at its provider';
  if (state !== 'dead_lettered' && state !== 'render_failed') return `it ended as *${state}*`;
  const at = entries.findLastIndex(({ kind, details }) => (kind === 'AttemptDeadLettered' || kind === 'AttemptRenderFailed') && details['attempt'] === key);
  const until = resolvedBy({ key, at: entries[at]?.at ?? 0, later: entries.slice(at + 1), ends: letterEnds, strategy });
  return `${state === 'dead_lettered' ? 'it stopped' : 'its message could not be made'}, and it ${until === null ? 'waits for an operator' : `waited for an operator ${until}`}`;
};

/** Started, and nothing of it ever was at its provider. */
const unsent = (told: Told, attempt: AttemptState): Disuse => {
  const { state, entries } = told;
  const observed = standingOf('it', attempt, entries);
  if (attempt.state === 'planned') return { cause: 'quiet_hours', because: `it waits for the end of its quiet hours, at ${instant(attempt.startsAt)}`, observed, open: true };
  if (attempt.state === 'queued') {
    if (state.paused) return { cause: 'paused', because: `the notification is paused since ${instant(state.paused.at)} (${state.paused.reason}), and nothing is started while it is`, observed, open: true };
    if (attempt.providerWaitAt !== null) return { cause: 'provider_unavailable', because: `${attempt.provider} refuses our account, and it waits since ${instant(attempt.providerWaitAt)}`, observed, open: true };
    return { cause: 'waiting', because: 'it waits in its queue', observed, open: true };
  }
  if (wasBarred(attempt)) {
    return { cause: attempt.reason ?? 'suppressed', because: `${barredBy(told, attempt, entryAbout(entries, attempt, 'AttemptSuppressed'))} (${reasonText(attempt.reason)})`, observed };
  }
  const pause = attempt.state === 'expired' ? pausedAt(told, 'NotificationExpired') : null;
  if (pause) return { cause: 'paused', because: `${heldByPause(told, pause)}, and nothing is started while it is`, observed };
  if (attempt.state !== 'cancelled') return { cause: attempt.reason ?? attempt.state, because: `${stopped(told, attempt)} (${reasonText(attempt.reason)})`, observed };
  if (attempt.reason === 'closed' && state.closed) return { cause: 'closed', because: `the notification was closed at ${instant(state.closed.at)} (${state.closed.reason})${whilePaused(told)} before anything of it was at its provider`, observed };
  return { cause: attempt.reason ?? 'cancelled', because: `nothing of it was at its provider when a later channel was claimed, at ${instant(attempt.settledAt ?? attempt.plannedAt)}`, observed };
};

/** Why a step was not used, or not so far: nothing of it was, or may have been, at its provider. */
export const causeOfDisuse = (told: Told, index: number): Disuse => {
  const { state } = told;
  if (state.rejected) return { cause: state.rejected, because: `its policy does not cover the recipient's region (${state.rejected})`, observed: `that was found at the request, at ${instant(state.requestedAt)}, and nothing was started` };
  const step = state.steps[index];
  if (step?.shadow) return inShadow(told, index);
  if (step?.phase === 'skipped') return skipped(told, index);
  if (step?.phase === 'dropped') return dropped(told, step.reason);
  const attempt = state.attempts.findLast((one) => one.step === index);
  return attempt ? unsent(told, attempt) : waiting(told);
};
