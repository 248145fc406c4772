import type { AttemptKey, Channel, ErasedPerson, Instant, Outcome, PayloadPart, PublicStatus } from './words.ts';
import type { Capabilities, ProviderName } from './provider-answers.ts';
import type { PreconditionFault, ReasonCode } from './reasons.ts';
import type { OnUnknown, PayloadTerms } from './policy.ts';
import type { QuietHoursBound } from './quiet-hours.ts';

type Of<Kind extends string, Details> = { kind: Kind; details: Details };
type About<Kind extends string, Details = unknown> = Of<Kind, { attempt: AttemptKey } & Details>;

/** On which evidence a claim rests. `stale` where a look was asked for and brought nothing in time. */
export interface RestsOn { attempt: AttemptKey; class: 'pending' | 'accepted' | 'unknown' | 'failed'; observed_at: Instant | null; source: string; stale: boolean }

/** By what an operator's retry goes: a new attempt after a definite failure; replay or look-up of one whose fate is unknown. */
export type RetryMeans = 'new_attempt' | 'replay' | 'look_up';

/**
 * What was planned to be said, by hashes, for a notification that carries reports: the template's owner and the locale it was rendered in, its
 * variables, the text of an SMS with its segments, and what is attached. The hashes of variables and text are salted with what is destroyed with
 * the payload, so that nobody finds a name or a number again by trying.
 */
export interface ContentSnapshot {
  template_owner: string; locale: string; variables_hash: string; text_hash?: string; segments?: number; attachments: { artifact: string; sha256: string }[];
}

/** Which parts were sealed, and how long each is kept; absent in entries from before parts had a lifetime: nothing of those is destroyed by time. */
export interface PayloadBound {
  parts: PayloadPart[]; variables: PayloadTerms['variables']; addresses: PayloadTerms['addresses']; retry_window_ms: number; retention_until: Instant;
  after_settling?: 'nothing';
}

/**
 * The ledger's entries, past tense, with the details exactly as they are stored: codes, ids and instants, never an address, a
 * text or a secret. `evolve` needs nothing beside them, so every instant that a later decision rests on stands here.
 */
export type Transition =
  | Of<'NotificationAccepted', {
    purpose: string; policy_version: number; strategy: 'escalate' | 'all'; urgency: string; region: string;
    requested_at: Instant; expires_at: Instant; reconcile_until: Instant; steps: Channel[]; recipient_commitment: string; payload?: PayloadBound;
    /** What an unanswered precondition means; absent where there is none. */
    on_precondition_error?: 'send' | 'hold';
    /** The steps before which the origin system is asked; absent where it is before every one, or there is nothing to ask. */
    precondition_steps?: number[];
    /** The steps that run in shadow; absent where none does. */
    shadow_steps?: number[];
    /** When its channels stay silent for this recipient; absent where none does. */
    quiet_hours?: QuietHoursBound;
  }>
  | Of<'PolicyRejected', { reason: ReasonCode; purpose: string; policy_version: number; requested_at: Instant; expires_at: Instant; recipient_commitment: string; payload?: PayloadBound }>
  /** `opens_at` where it was skipped for its quiet hours: when they would have ended, null where no end was in sight. */
  | Of<'StepSkipped', { step: number; channel: Channel; reason: ReasonCode; opens_at?: Instant | null }>
  | Of<'FallbackClaimed', { from_step: number; to_step: number; channel: Channel; cause: 'deadline' | 'attempt_failed' | 'provider_unavailable'; rests_on: RestsOn | null }>
  | About<'AttemptPlanned', {
    step: number; channel: Channel; sequence: number; origin: 'policy' | 'operator'; provider: ProviderName; status_by_poll: boolean;
    can_look_up: boolean; template: string; template_version: number; render_hash: string; starts_at: Instant; decision_deadline_at: Instant;
    /** It runs in shadow: it is never submitted. */
    shadow?: true;
    content?: ContentSnapshot; reconcile?: Capabilities['reconcile']; replay_within_ms?: number | null; visible_after_ms?: number | null;
    /** Absent where no report can come by mail. */
    reports_by_mail?: true;
  }>
  | About<'AttemptRenderFailed', {
    step: number; channel: Channel; sequence: number; origin: 'policy' | 'operator'; provider: ProviderName; template: string;
    template_version: number; decision_deadline_at: Instant; reason: ReasonCode; shadow?: true;
  }>
  | About<'AttemptQueued', { generation: number; requeue_at: Instant }>
  /** Taken out of its queue, or not put into it, until its channel may be used again. */
  | About<'AttemptPostponed', { reason: 'quiet_hours'; starts_at: Instant }>
  | About<'AttemptRequeued', { generation: number; requeue_at: Instant }>
  | About<'AttemptCancelled', { reason: ReasonCode }>
  | About<'AttemptExpired', { reason: ReasonCode }>
  | About<'AttemptDeadLettered', { reason: ReasonCode }>
  /** In shadow, where a provider call would have been made; a reason says why none could have been. */
  | About<'AttemptShadowed', { reason: ReasonCode | null }>
  /** Its provider refuses our account; it waits in its queue. */
  | About<'AttemptHeld', { provider: ProviderName; reason: 'provider_auth' | 'provider_account' }>
  | About<'AttemptReleased', { reason: ReasonCode; generation: number; requeue_at: Instant }>
  /** `probe` where it tries whether a provider that refused us works again. */
  | About<'SubmissionStarted', { submission: number; outcome_due_at: Instant; probe?: true }>
  /** `answered_at` where it is recorded long after the answer. */
  | About<'SubmissionAccepted', { submission: number; provider_message_id: string; outcome: 'pending' | 'accepted'; next_poll_at: Instant | null; final: boolean; answered_at?: Instant }>
  | About<'SubmissionDeferred', { submission: number; reason: ReasonCode; retry_at: Instant; generation: number; requeue_at: Instant }>
  | About<'SubmissionAbandoned', { submission: number; reason: ReasonCode; retry_at: Instant; generation: number; requeue_at: Instant }>
  /** `on_unknown` is what is done about it: the policy's choice, or *hold* where the provider does not permit that. */
  | About<'SubmissionOutcomeUnknown', { submission: number; reason: ReasonCode; next_poll_at: Instant | null; on_unknown?: OnUnknown; resubmit_at?: Instant | null }>
  | About<'ResubmissionPlanned', {
    reason: 'replay' | 'absent'; first_submission_at: Instant; look_ups: number; until: Instant; generation: number; requeue_at: Instant;
  }>
  /** `hold` where nothing is submitted again by policy. */
  | About<'ResubmissionWithdrawn', { reason: ReasonCode; hold: boolean; next_poll_at: Instant | null }>
  /** `asked_at` where it matters: what an answer tells was so when it was asked for, and it may be recorded long after. */
  | About<'AttemptAdopted', { provider_message_id: string; outcome: Outcome; next_poll_at: Instant | null; asked_at?: Instant }>
  | About<'StatusObserved', {
    source: 'submit' | 'poll' | 'look_up' | 'mailbox'; outcome: Outcome | 'not_found' | 'several'; reason: ReasonCode | null; counts: boolean; next_poll_at: Instant | null;
    asked_at?: Instant; /** Tells of an earlier submission while another one is under way. */ found_meanwhile?: true;
  }>
  | About<'StatusReadFailed', { source: 'poll' | 'look_up'; reason: ReasonCode; next_poll_at: Instant | null }>
  | About<'LookRequested', { until: Instant }>
  | About<'AttemptDelivered', { source: 'submit' | 'poll' | 'look_up' | 'mailbox'; reason: ReasonCode | null }>
  | About<'AttemptUndelivered', { source: 'submit' | 'poll' | 'look_up' | 'mailbox'; reason: ReasonCode }>
  | About<'AttemptRejected', { source: 'submit' | 'poll' | 'look_up' | 'mailbox'; reason: ReasonCode }>
  /** `eligibility`: nobody was asked; its channel was barred before anything of it was sent. */
  | About<'AttemptSuppressed', { source: 'submit' | 'poll' | 'look_up' | 'mailbox' | 'eligibility'; reason: ReasonCode; opens_at?: Instant | null }>
  | About<'DeliveryCorrected', { source: 'poll' | 'look_up' | 'mailbox'; reason: ReasonCode }>
  | About<'OperatorRetried', { means: RetryMeans; reason: string; even_if_delivered: boolean; accept_duplicate: boolean }>
  | About<'DeadlinePassed', { class: 'pending' | 'accepted' | 'unknown' | 'failed' }>
  | About<'ReconciliationEnded', { reason: ReasonCode }>
  /** The origin system is asked whether anything still needs to be done. */
  | Of<'PreconditionAsked', { wanted: 'claim' | 'submission'; until: Instant }>
  /** `lapsed` where no answer came in time. */
  | Of<'PreconditionAnswered', { answer: 'needed' | 'not_needed' | 'error'; valid_until: Instant; lapsed: boolean; reason?: PreconditionFault }>
  | Of<'PreconditionLapsed', { errors: number }>
  | Of<'NotificationPaused', { reason: string; in_flight: boolean }>
  | Of<'NotificationResumed', { reason: string }>
  | Of<'NotificationClosed', { reason: string; in_flight: boolean }>
  | Of<'NotificationExpired', { reason: ReasonCode }>
  | Of<'NotificationSettled', { status: PublicStatus }>
  /** Written with the append that destroys the boxes of these parts: they can be read no more, and nothing can be rendered from them. */
  | Of<'PayloadDestroyed', { parts: PayloadPart[]; /** Where a person was erased, and not by time: whom, and why. */ erasure?: { of: ErasedPerson; reason: string } }>;

export type TransitionKind = Transition['kind'];

/** The attempt a transition is about; null where it is about the notification. */
export const attemptOf = (transition: Transition): AttemptKey | null =>
  'attempt' in transition.details ? transition.details.attempt : null;

/** One transition with the instant it was decided at, as `evolve` folds it. */
export interface Stamped { at: Instant; transition: Transition }
