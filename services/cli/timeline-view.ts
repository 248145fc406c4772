import type { Channel } from '../../shared/domain/words.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { isLive } from '../../shared/domain/state.ts';
import { awaitsDeadline } from '../../shared/domain/escalation.ts';
import { nextDecideAt } from '../../shared/domain/lifecycle.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import { parseAttemptKey } from '../../shared/domain/words.ts';
import type { Entry } from './ledger-session.ts';

/** Letters of the picture; the legend tells those that occur. */
export const MARKS = {
  P: 'planned', Q: 'queued', R: 'queued again', S: 'submission started', A: 'taken by the provider', W: 'not processed, tried again', o: 'status read',
  e: 'status read failed', '?': 'outcome unknown', L: 'one more look', '|': 'decision deadline', F: 'claimed as fallback', D: 'delivered', X: 'failed', C: 'cancelled',
  E: 'expired', w: 'waits for its provider', z: 'waits for the end of quiet hours', U: 'delivery corrected', s: 'in shadow, not sent', N: 'accepted', H: 'paused', Z: 'resumed', O: 'retried by an operator', K: 'closed', '.': 'settled',
} as const;
export type Mark = keyof typeof MARKS;

export interface LaneMark { at: number; mark: Mark }
/** One line of the picture: a channel, or `all` for what concerns the notification. */
export interface Lane { name: 'all' | Channel; marks: LaneMark[]; live: boolean; standing: string }

export interface TimelineView {
  eventId: string;
  policy: string;
  status: string;
  requestedAt: number;
  expiresAt: number;
  settledAt: number | null;
  lanes: Lane[];
  /** What happens next by itself; null once settled. */
  next: { at: number; what: string } | null;
  /** Said below the picture, e.g. that the database is away. */
  notice: string | null;
}

const MARK_OF: Record<string, Mark> = {
  NotificationAccepted: 'N', PolicyRejected: 'X', StepSkipped: 'C', FallbackClaimed: 'F', AttemptPlanned: 'P', AttemptRenderFailed: 'X', AttemptQueued: 'Q',
  AttemptRequeued: 'R', AttemptHeld: 'w', AttemptReleased: 'R', AttemptPostponed: 'z', AttemptCancelled: 'C', AttemptExpired: 'E', AttemptDeadLettered: 'X', AttemptShadowed: 's', SubmissionStarted: 'S', SubmissionAccepted: 'A',
  SubmissionDeferred: 'W', SubmissionAbandoned: 'W', SubmissionOutcomeUnknown: '?', AttemptAdopted: 'A', StatusObserved: 'o', StatusReadFailed: 'e',
  ResubmissionPlanned: 'R', ResubmissionWithdrawn: '?', DeliveryCorrected: 'U', OperatorRetried: 'O', NotificationPaused: 'H', NotificationResumed: 'Z',
  LookRequested: 'L', AttemptDelivered: 'D', AttemptUndelivered: 'X', AttemptRejected: 'X', AttemptSuppressed: 'X', NotificationClosed: 'K',
  NotificationExpired: 'E', NotificationSettled: '.',
};

const laneOf = (entry: Entry): Lane['name'] => {
  const parts = entry.attempt === null ? null : parseAttemptKey(entry.attempt);
  if (parts) return parts.channel;
  return entry.kind === 'FallbackClaimed' || entry.kind === 'StepSkipped' ? entry.details['channel'] as Channel : 'all';
};

/** Deadlines are drawn at their instant, whether they are still ahead or are past. */
const deadlines = (state: NotificationState, channel: Channel): LaneMark[] => state.attempts
  .filter((attempt) => attempt.channel === channel && (awaitsDeadline(attempt) || attempt.superseded || attempt.deadlinePassed))
  .filter((attempt) => attempt.settledAt === null || attempt.settledAt >= attempt.decisionDeadlineAt)
  .map((attempt) => ({ at: attempt.decisionDeadlineAt, mark: '|' as const }));

const standingOf = (state: NotificationState, channel: Channel): string => {
  const attempt = state.attempts.filter((one) => one.channel === channel).at(-1);
  const step = state.steps.find((one) => one.channel === channel);
  if (attempt) return attempt.reason === null ? attempt.state : `${attempt.state} (${attempt.reason})`;
  return step ? `${step.phase}${step.reason === null ? '' : ` (${step.reason})`}` : 'not used';
};

const nextOf = (state: NotificationState): TimelineView['next'] => {
  const polls = state.attempts.flatMap((one) => (one.nextPollAt === null ? [] : [{ at: one.nextPollAt, what: `${one.channel} status read` }]));
  // Once settled, what comes next is a destruction in a day or a year: nothing to wait for.
  const decideAt = state.settledAt === null ? nextDecideAt(state) : null;
  const all = decideAt === null ? polls : [...polls, { at: decideAt, what: 'decision' }];
  return all.sort((one, other) => one.at - other.at)[0] ?? null;
};

/** What the picture shows of a notification: the fold and its entries. Pure. */
export const timelineView = (state: NotificationState, entries: readonly Entry[], notice: string | null = null): TimelineView => {
  const channels = [...new Set([...state.steps.map((step) => step.channel), ...state.attempts.map((attempt) => attempt.channel)])];
  const lane = (name: Lane['name']): Lane => {
    const own = entries.flatMap((entry) => {
      const mark = MARK_OF[entry.kind];
      return mark !== undefined && laneOf(entry) === name ? [{ at: entry.at, mark }] : [];
    });
    if (name === 'all') return { name, marks: own, live: state.settledAt === null, standing: publicStatus(state) };
    // A stable sort by time keeps the order of the ledger within one instant.
    const marks = [...own, ...deadlines(state, name)].sort((one, other) => one.at - other.at);
    return { name, marks, live: state.attempts.some((one) => one.channel === name && isLive(one)), standing: standingOf(state, name) };
  };
  return {
    eventId: state.eventId, policy: `${state.purpose}/${state.policyVersion}`, status: publicStatus(state), requestedAt: state.requestedAt,
    expiresAt: state.expiresAt, settledAt: state.settledAt, lanes: [lane('all'), ...channels.map(lane)], next: nextOf(state), notice,
  };
};
