import { findAttempt } from '../../shared/domain/state.ts';
import type { Transition } from '../../shared/domain/transitions.ts';
import { must } from './broken-invariant.ts';
import type { Entry } from './entry-rules.ts';
import { RECONCILING } from './policies.ts';

type Details<Kind extends Transition['kind']> = Extract<Transition, { kind: Kind }>['details'];

/** What the entries alone say about an attempt whose submissions may have been processed; kept apart from the state under test. */
export interface Fate { firstAt: number; unknown: Set<number>; bookedAt: number; looksThatFoundNone: number; until: number; reads: number; foundMeanwhile: boolean }

const fateOf = (fates: Map<string, Fate>, key: string, at: number): Fate => {
  const fate = fates.get(key) ?? { firstAt: at, unknown: new Set(), bookedAt: at, looksThatFoundNone: 0, until: Number.POSITIVE_INFINITY, reads: 0, foundMeanwhile: false };
  fates.set(key, fate);
  return fate;
};

const planned = (fate: Fate, details: Details<'ResubmissionPlanned'>, { stamped: { at }, from, input, command }: Entry): void => {
  const attempt = findAttempt(from, details.attempt);
  const step = attempt && input.policy.steps[attempt.step];
  if (!attempt || !step) return must(false, 'a resubmission is of a planned attempt', details);
  must(attempt.provider !== 'twilio' && attempt.provider !== 'smtp', 'a provider that neither dedups nor is searched by reference gets no second submission', attempt.provider);
  must(attempt.state === 'submitted_unknown' && attempt.settledAt === null && fate.unknown.size > 0, 'only what is unknown is submitted again', attempt);
  must(!from.closed && !from.paused && !from.expired && at < from.expiresAt && !attempt.superseded, 'nothing is submitted again after close, pause, expiry or claim (inv. 9)');
  const byOperator = command.kind === 'retry';
  must(byOperator || attempt.submissions < step.transportRetry.maxSubmissions, 'resubmissions are bounded', details);
  must(byOperator || step.onUnknown === (details.reason === 'replay' ? 'replay' : 'resubmit_if_absent'), 'a resubmission is what the policy says', step.onUnknown);
  if (details.reason === 'replay') {
    const window = RECONCILING[attempt.channel].capabilities.replayWithinMs ?? 0;
    must(details.until + step.submitLimitMs <= fate.firstAt + window, 'a replay stays inside the provider\'s window', details);
  } else {
    must(fate.looksThatFoundNone >= 2, 'an absence needs two look-ups past the visibility lag', fate);
    must(details.until <= at + Math.max(1, step.maxObservationAgeMs), 'an absence is acted on while it is fresh', details);
  }
  fate.until = details.until;
  fate.looksThatFoundNone = 0;
};

/** Whether that entry ends an attempt as if nothing of it had been processed. */
const deniesIt = (transition: Transition): boolean =>
  transition.kind === 'AttemptCancelled' || transition.kind === 'AttemptExpired' || transition.kind === 'AttemptDeadLettered'
  || ((transition.kind === 'AttemptRejected' || transition.kind === 'AttemptSuppressed') && (transition.details.source === 'submit' || transition.details.source === 'eligibility'));

const denied = (fate: Fate, { command, stamped }: Entry): void => {
  const answered = command.kind === 'record_submission' ? command.submission : 0;
  must([...fate.unknown].every((submission) => submission === answered), 'what may have been sent is never cancelled and never called failed', stamped.transition);
};

const looked = (fate: Fate, details: Details<'StatusObserved'>, { command, from: state }: Entry): void => {
  const before = fate.reads;
  if (details.source === 'poll' || details.source === 'look_up') fate.reads += 1;
  if (command.kind !== 'record_look_up') return;
  const { at, reads } = command.asked;
  const isFresh = reads === before;
  // One answer that is recorded twice, or two to the same moment, prove no more than one.
  if (!details.counts || (details.outcome === 'not_found' && !isFresh)) return;
  const lag = findAttempt(state, details.attempt)?.provider === 'sinch' ? RECONCILING.sms.capabilities.visibleAfterMs ?? 0 : Number.POSITIVE_INFINITY;
  fate.looksThatFoundNone = details.outcome === 'not_found' && at >= fate.bookedAt + lag ? fate.looksThatFoundNone + 1 : 0;
};

/** What was heard of an earlier submission while another one was under way. */
const heardMeanwhile = (fate: Fate, key: string, { command, from }: Entry): boolean =>
  findAttempt(from, key)?.state === 'submitting' && fate.unknown.size > 0
  && ((command.kind === 'record_look_up' && command.result.kind === 'found')
    || (command.kind === 'record_submission' && command.result.kind === 'accepted' && command.submission !== findAttempt(from, key)?.submissions));

/** Checks one entry about an attempt against what its submissions may have come to. Throws BrokenInvariant. */
export const checkFate = (fates: Map<string, Fate>, entry: Entry): void => {
  const { at, transition } = entry.stamped;
  if (!('attempt' in transition.details)) return;
  const fate = fateOf(fates, transition.details.attempt, at);
  if (deniesIt(transition)) denied(fate, entry);
  switch (transition.kind) {
    case 'SubmissionStarted':
      if (transition.details.submission === 1) fate.firstAt = at;
      must(!fate.foundMeanwhile || findAttempt(entry.from, transition.details.attempt)?.provider !== 'sinch', 'what was found is not sent again', transition);
      return must(fate.unknown.size === 0 || at < fate.until, 'a resubmission starts while its basis holds', { at, until: fate.until });
    case 'SubmissionOutcomeUnknown':
      fate.unknown.add(transition.details.submission);
      fate.bookedAt = at;
      fate.looksThatFoundNone = 0;
      return undefined;
    case 'SubmissionDeferred':
    case 'SubmissionAbandoned':
      fate.unknown.delete(transition.details.submission);
      return undefined;
    case 'SubmissionAccepted':
    case 'AttemptAdopted': return fate.unknown.clear();
    case 'StatusObserved':
      fate.foundMeanwhile ||= heardMeanwhile(fate, transition.details.attempt, entry);
      return looked(fate, transition.details, entry);
    case 'ResubmissionWithdrawn':
      fate.looksThatFoundNone = 0;
      return must(fate.unknown.size > 0, 'only what may have been sent is unknown again', transition);
    case 'ResubmissionPlanned': return planned(fate, transition.details, entry);
    default: return undefined;
  }
};
