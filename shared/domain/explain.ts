import type { Instant } from './words.ts';
import type { Policy } from './policy.ts';
import type { NotificationState } from './state.ts';
import { emptyState } from './state.ts';
import type { Transition } from './transitions.ts';
import { attemptOf } from './transitions.ts';
import { evolve } from './evolve.ts';
import { tellClaim, tellDeadline, tellLook } from './explain-claim.ts';
import type { LetterEnd } from './explain-dead-letter.ts';
import {
  tellAbandoned, tellAccepted, tellAdopted, tellCancelled, tellDeadLettered, tellDeferred, tellDelivered, tellFailed, tellLive, tellObserved,
  tellCorrected, tellPlanned, tellRenderFailed, tellResubmission, tellUnknown, tellWithdrawn,
} from './explain-attempt.ts';
import { tellAnswered, tellAsked } from './explain-precondition.ts';
import { tellWaiting } from './explain-open.ts';
import { tellHeld, tellReleased } from './explain-provider.ts';
import { tellBarred, tellExempt, tellPostponed } from './explain-quiet.ts';
import { tellPaused, tellResumed, tellRetried } from './explain-operator.ts';
import { tellDestroyed } from './explain-payload.ts';
import { tellShadowed, tellShadowSteps } from './explain-shadow.ts';
import type { Moment } from './explain-words.ts';
import { attemptName, channelName, instant, listed, policyName, reasonText, sentence, waitingChannels } from './explain-words.ts';

/** An entry of the ledger as it is read back. */
export interface ExplainedEntry { at: Instant; kind: string; details: Record<string, unknown> }

const tellStart = (t: Extract<Transition, { kind: 'NotificationAccepted' }>, { at, after }: Moment): string => {
  const channels = after.steps.filter((step) => !step.shadow).map((step) => channelName(step.channel));
  const order = t.details.strategy === 'all' ? `${listed(channels)} at once` : channels.join(', then ');
  return `the notification was accepted at ${instant(at)} under policy ${policyName(after)} (strategy ${t.details.strategy}${channels.length > 0 ? `: ${order}` : ''}); it expires at ${instant(t.details.expires_at)}${tellShadowSteps(after)}${tellExempt(after)}`;
};

const tellClosed = (t: Extract<Transition, { kind: 'NotificationClosed' }>, { at, before }: Moment): string => {
  const spared = waitingChannels(before).map(channelName);
  return `the notification was closed at ${instant(at)} (${t.details.reason}): nothing is submitted any more${spared.length > 0 ? `, and ${listed(spared)} was not used` : ''}`
    + (t.details.in_flight ? '. One call was in flight at that instant and may still arrive' : '');
};

const tellExpired = ({ at, before }: Moment): string => {
  const spared = waitingChannels(before).map(channelName);
  return `the notification expired at ${instant(at)}: nothing is started any more${spared.length > 0 ? `, and ${listed(spared)} was not used` : ''}`;
};

/** The sentence of one entry; null for entries that explain nothing by themselves. */
const tell = (t: Transition, moment: Moment): string | null => {
  const { at, after } = moment;
  switch (t.kind) {
    case 'NotificationAccepted': return tellStart(t, moment);
    case 'PolicyRejected': return `the notification was refused at ${instant(at)} (${t.details.reason}): policy ${policyName(after)} does not cover the recipient's region, so no channel was used`;
    case 'StepSkipped': {
      const why = tellBarred({ ...t.details, opensAt: t.details.opens_at }, moment);
      return `${channelName(t.details.channel)}, step ${t.details.step + 1} of policy ${policyName(after)}, was skipped at ${instant(at)} (${t.details.reason})${why ? `: ${why}` : ''}`;
    }
    case 'FallbackClaimed': return tellClaim(t.details, moment);
    case 'AttemptPlanned': return tellPlanned(t.details, moment);
    case 'AttemptRenderFailed': return tellRenderFailed(t.details, moment);
    case 'AttemptCancelled': return tellCancelled(t.details, moment);
    case 'AttemptExpired': return `${attemptName(t.details.attempt)} expired at ${instant(at)} before anything of it was at the provider`;
    case 'AttemptDeadLettered': return tellDeadLettered(t.details, moment);
    case 'AttemptShadowed': return tellShadowed(t.details, moment);
    case 'AttemptPostponed': return tellPostponed(t.details, moment);
    case 'AttemptHeld': return tellHeld(t.details, moment);
    case 'AttemptReleased': return tellReleased(t.details, moment);
    case 'SubmissionAccepted': return tellAccepted(t.details, moment);
    case 'SubmissionDeferred': return tellDeferred(t.details, moment);
    case 'SubmissionAbandoned': return tellAbandoned(t.details, moment);
    case 'SubmissionOutcomeUnknown': return tellUnknown(t.details, moment);
    case 'ResubmissionPlanned': return tellResubmission(t.details, moment);
    case 'ResubmissionWithdrawn': return tellWithdrawn(t.details, moment);
    case 'AttemptAdopted': return tellAdopted(t.details, moment);
    case 'StatusObserved': return tellObserved(t.details, moment);
    case 'LookRequested': return tellLook(t.details, moment);
    case 'AttemptDelivered': return tellDelivered(t.details, moment);
    case 'AttemptUndelivered':
    case 'AttemptRejected':
    case 'AttemptSuppressed': return tellFailed(t.details, moment);
    case 'DeliveryCorrected': return tellCorrected(t.details, moment);
    case 'OperatorRetried': return tellRetried(t.details, moment);
    case 'DeadlinePassed': return tellDeadline(t.details, moment);
    case 'ReconciliationEnded': return `the grace for hearing more of ${attemptName(t.details.attempt)} ended at ${instant(at)}; it stays *${moment.before.attempts.find((one) => one.key === t.details.attempt)?.state}* for good`;
    case 'PreconditionAsked': return tellAsked(t.details, moment);
    case 'PreconditionAnswered': return tellAnswered(t.details, moment);
    case 'NotificationPaused': return tellPaused(t.details, moment);
    case 'NotificationResumed': return tellResumed(t.details, moment);
    case 'NotificationClosed': return tellClosed(t, moment);
    case 'NotificationExpired': return tellExpired(moment);
    case 'NotificationSettled': return `the notification settled at ${instant(at)} as *${t.details.status}*`;
    case 'PayloadDestroyed': return tellDestroyed(t.details, moment);
    case 'PreconditionLapsed':
    case 'AttemptQueued':
    case 'AttemptRequeued':
    case 'SubmissionStarted':
    case 'StatusReadFailed': return null;
  }
};

/** Enqueued anew because the origin system answered, and not for want of a worker. */
const isSetFree = ({ kind, at }: ExplainedEntry, all: readonly ExplainedEntry[]): boolean =>
  kind === 'AttemptRequeued' && all.some((entry) => entry.kind === 'PreconditionAnswered' && entry.at === at);

/** Entries that matter by their number: told once, where the first of them stands. */
const tellCounted = (t: Transition, all: readonly ExplainedEntry[], told: Set<string>): string | null => {
  const key = attemptOf(t);
  if ((t.kind !== 'AttemptRequeued' && t.kind !== 'StatusReadFailed') || key === null || told.has(`${t.kind} ${key}`)) return null;
  told.add(`${t.kind} ${key}`);
  const same = all.filter((entry) => entry.kind === t.kind && entry.details['attempt'] === key && !isSetFree(entry, all));
  if (same.length === 0) return null;
  const last = instant(same.at(-1)?.at ?? 0);
  if (t.kind === 'AttemptRequeued') return `${attemptName(key)} was put into its queue again ${same.length} time(s), since no worker had started it (last at ${last})`;
  return `${same.length} status read(s) of ${attemptName(key)} failed (last at ${last}; ${reasonText(t.details.reason)}); a failed read is no evidence and claims nothing`;
};

/** What stands open: live attempts, and channels that may yet be claimed. */
const tellOpen = (state: NotificationState, policy: Policy, entries: readonly ExplainedEntry[]): string[] => {
  if (state.settledAt !== null || state.rejected) return [];
  const live = state.attempts.flatMap((attempt) => tellLive(attempt, state, entries) ?? []);
  return [...live, ...waitingChannels(state).map((channel) => tellWaiting(channel, state, policy))];
};

/**
 * Says in words why each channel was or was not used: policy version, cause and observation of every decision, in the order
 * of the ledger, and what is still open at the end. Pure; names codes and instants (UTC) only, never an address or a text.
 * `state` must be the fold of `entries`; `letterEnds` is how its dead letters ended, where any did. Throws where the entries contradict themselves.
 */
export const explain = (state: NotificationState, entries: readonly ExplainedEntry[], policy: Policy, letterEnds: readonly LetterEnd[] = []): string[] => {
  let before = emptyState(state.eventId);
  const told = new Set<string>();
  const sentences: string[] = [];
  for (const [index, { at, kind, details }] of entries.entries()) {
    const transition = { kind, details } as unknown as Transition;
    const after = evolve(before, { at, transition });
    // Few sentences look around them, and those that do ask for it.
    const moment: Moment = { at, before, after, end: state, policy, letterEnds, get earlier() { return entries.slice(0, index); }, get later() { return entries.slice(index + 1); } };
    const text = tell(transition, moment) ?? tellCounted(transition, entries, told);
    if (text !== null) sentences.push(sentence(text));
    before = after;
  }
  return [...sentences, ...tellOpen(state, policy, entries).map(sentence)];
};
