import type { TransitionKind } from '../../shared/domain/transitions.ts';

export type Tone = 'plain' | 'soft' | 'good' | 'open' | 'bad';
/** `shape` is SVG around 0, 0 within 7 units each way. Classes: `f` filled, `h` hollow, `l` a line, `k` a line on something filled. */
export interface Glyph { words: string; tone: Tone; shape: string }

const RING = '<circle r="5" class="h"/>';
const DISC = '<circle r="6.5" class="f"/>';

/** The signs of the picture, by name. The words are its legend. */
export const GLYPHS = {
  accepted: { words: 'accepted by Tocsin', tone: 'plain', shape: '<path d="M-6.5 0L0-6.5L6.5 0L0 6.5Z" class="f"/>' },
  refused: { words: 'refused by policy', tone: 'bad', shape: '<path d="M-6.5 0L0-6.5L6.5 0L0 6.5Z" class="f"/><path d="M-2.5-2.5L2.5 2.5M2.5-2.5L-2.5 2.5" class="k"/>' },
  planned: { words: 'planned', tone: 'soft', shape: '<rect x="-4.5" y="-4.5" width="9" height="9" class="h"/>' },
  queued: { words: 'queued', tone: 'soft', shape: '<rect x="-5" y="-5" width="10" height="10" class="f"/>' },
  requeued: { words: 'queued again', tone: 'soft', shape: '<rect x="-6" y="-3" width="8" height="8" class="h"/><rect x="-2" y="-6" width="8" height="8" class="f"/>' },
  waiting: { words: 'waits for its provider', tone: 'open', shape: '<rect x="-6" y="-6" width="12" height="12" class="h"/><path d="M-2-3V3M2-3V3" class="l"/>' },
  silent: { words: 'waits for the end of quiet hours', tone: 'open', shape: '<path d="M2-6A6 6 0 1 0 6 3A5 5 0 0 1 2-6Z" class="f"/>' },
  started: { words: 'submission started', tone: 'plain', shape: '<path d="M-5-6L6.5 0L-5 6Z" class="f"/>' },
  taken: { words: 'taken by the provider', tone: 'plain', shape: '<circle r="6" class="h"/><path d="M-3 .2L-.8 2.6L3.2-2.4" class="l"/>' },
  again: { words: 'not processed, tried again', tone: 'open', shape: '<path d="M-5-6L6.5 0L-5 6Z" class="h"/>' },
  unknown: { words: 'outcome unknown', tone: 'open', shape: `${DISC}<path d="M-2-1.6A2 2 0 1 1 .6.5Q0 .8 0 1.8M0 3.6V4.4" class="k"/>` },
  resubmitted: { words: 'submitted again under its key', tone: 'open', shape: '<path d="M-6-5L0 0L-6 5ZM0-5L6 0L0 5Z" class="h"/>' },
  withdrawn: { words: 'not submitted again', tone: 'open', shape: '<path d="M-5-6L6.5 0L-5 6Z" class="h"/><path d="M-6 6L6-6" class="l"/>' },
  adopted: { words: 'found at the provider', tone: 'plain', shape: `<circle cx="-1" cy="-1" r="5" class="f"/><path d="M2.6 2.6L6.5 6.5" class="l"/>` },
  read: { words: 'status read, nothing new', tone: 'soft', shape: RING },
  evidence: { words: 'status read, news', tone: 'plain', shape: '<circle r="5" class="f"/>' },
  read_failed: { words: 'status read failed', tone: 'bad', shape: `${RING}<path d="M-4.5 4.5L4.5-4.5" class="l"/>` },
  look: { words: 'one more look asked for', tone: 'open', shape: '<circle cx="-1" cy="-1" r="4.5" class="h"/><path d="M2.6 2.6L6.5 6.5" class="l"/>' },
  delivered: { words: 'delivered', tone: 'good', shape: `${DISC}<path d="M-3.2 .2L-.9 2.8L3.4-2.6" class="k"/>` },
  failed: { words: 'failed', tone: 'bad', shape: `${DISC}<path d="M-2.8-2.8L2.8 2.8M2.8-2.8L-2.8 2.8" class="k"/>` },
  corrected: { words: 'delivery taken back', tone: 'bad', shape: `<circle r="6" class="h"/><path d="M-3 .2L-.8 2.6L3.2-2.4M-6 6L6-6" class="l"/>` },
  cancelled: { words: 'cancelled, nothing was sent', tone: 'soft', shape: '<circle r="6" class="h"/><path d="M-4.2 4.2L4.2-4.2" class="l"/>' },
  shadowed: { words: 'in shadow: the provider was not called', tone: 'soft', shape: '<path d="M-5-6L6.5 0L-5 6Z" class="h"/><path d="M-6-6L6 6" class="l"/>' },
  skipped: { words: 'skipped', tone: 'soft', shape: '<path d="M-5-4.5L-.5 0L-5 4.5M.5-4.5L5 0L.5 4.5" class="l"/>' },
  expired: { words: 'expired', tone: 'bad', shape: '<path d="M-5-6H5L-5 6H5Z" class="f"/>' },
  dead_letter: { words: 'dead letter: an operator must look', tone: 'bad', shape: '<rect x="-7" y="-5" width="14" height="10" class="f"/><path d="M-6-4L0 1L6-4" class="k"/>' },
  operator: { words: 'retried by an operator', tone: 'open', shape: '<circle cy="-3" r="3" class="f"/><path d="M-6 6.5Q-5 1 0 1Q5 1 6 6.5Z" class="f"/>' },
  claimed: { words: 'claimed as the next channel', tone: 'plain', shape: '<path d="M-6 0H3M0-4L5 0L0 4" class="l"/>' },
  deadline_passed: { words: 'deadline passed, nothing claimed', tone: 'soft', shape: '<path d="M-4-6H4M0-6V6M-4 6H4" class="l"/>' },
  ended: { words: 'heard no more', tone: 'soft', shape: '<path d="M0-6V6M-5 0H0" class="l"/>' },
  asked: { words: 'asked whether still needed', tone: 'soft', shape: '<path d="M-6-5H6V3H0L-3 6.5V3H-6Z" class="h"/>' },
  answered: { words: 'answered whether still needed', tone: 'plain', shape: '<path d="M-6-5H6V3H0L-3 6.5V3H-6Z" class="f"/>' },
  paused: { words: 'paused', tone: 'open', shape: '<path d="M-5-6H-1V6H-5ZM1-6H5V6H1Z" class="f"/>' },
  resumed: { words: 'resumed', tone: 'plain', shape: '<path d="M-6-6H-4V6H-6ZM-2-6L6.5 0L-2 6Z" class="f"/>' },
  closed: { words: 'closed', tone: 'plain', shape: '<rect x="-6" y="-6" width="12" height="12" rx="1.5" class="f"/><path d="M-3-3L3 3M3-3L-3 3" class="k"/>' },
  settled: { words: 'settled', tone: 'plain', shape: '<path d="M-2.5-6.5V6.5M2.5-6.5V6.5" class="l"/>' },
  destroyed: { words: 'payload destroyed', tone: 'soft', shape: '<path d="M-5-4H5L4 6.5H-4ZM-2.5-6.5H2.5" class="h"/>' },
} as const satisfies Record<string, Glyph>;
export type GlyphName = keyof typeof GLYPHS;

/** The sign of each kind of entry: a new kind does not compile without one. A status read that brings news is *evidence*. */
export const GLYPH_OF: Record<TransitionKind, GlyphName> = {
  NotificationAccepted: 'accepted', PolicyRejected: 'refused', StepSkipped: 'skipped', FallbackClaimed: 'claimed', AttemptPlanned: 'planned',
  AttemptRenderFailed: 'failed', AttemptQueued: 'queued', AttemptRequeued: 'requeued', AttemptCancelled: 'cancelled', AttemptExpired: 'expired',
  AttemptShadowed: 'shadowed', AttemptDeadLettered: 'dead_letter', AttemptHeld: 'waiting', AttemptReleased: 'requeued', AttemptPostponed: 'silent', SubmissionStarted: 'started', SubmissionAccepted: 'taken',
  SubmissionDeferred: 'again', SubmissionAbandoned: 'again', SubmissionOutcomeUnknown: 'unknown', ResubmissionPlanned: 'resubmitted',
  ResubmissionWithdrawn: 'withdrawn', AttemptAdopted: 'adopted', StatusObserved: 'read', StatusReadFailed: 'read_failed', LookRequested: 'look',
  AttemptDelivered: 'delivered', AttemptUndelivered: 'failed', AttemptRejected: 'failed', AttemptSuppressed: 'failed', DeliveryCorrected: 'corrected',
  OperatorRetried: 'operator', DeadlinePassed: 'deadline_passed', ReconciliationEnded: 'ended', PreconditionAsked: 'asked', PreconditionAnswered: 'answered',
  PreconditionLapsed: 'asked', NotificationPaused: 'paused', NotificationResumed: 'resumed', NotificationClosed: 'closed', NotificationExpired: 'expired',
  NotificationSettled: 'settled', PayloadDestroyed: 'destroyed',
};
