import type { AttemptState } from './state.ts';
import { wasBarred } from './eligibility.ts';
import { isUnsubmitted } from './state.ts';
import type { DetailsOf, Moment } from './explain-words.ts';
import { answeredWith, heardOf, tellHeard } from './explain-heard.ts';
import { attemptIn, attemptName, channelName, duration, escalationRule, instant, listed, policyName, reasonText, waitingChannels } from './explain-words.ts';

type Claim = DetailsOf<'FallbackClaimed'>;

/** What was known of an attempt when its deadline asked. */
const standing = (attempt: AttemptState, { earlier }: Moment): string => {
  const name = attemptName(attempt.key);
  if (isUnsubmitted(attempt)) {
    const tries = attempt.submissions > 0 ? `, after ${attempt.submissions} submission(s) that were definitely not processed,` : '';
    return `nothing of ${name} was at the provider${tries} and it was still ${attempt.state}`;
  }
  if (attempt.state === 'submitting') return `a submission of ${name} was under way and its answer was not there`;
  const submitted = `${name} was submitted at ${instant(attempt.submissionStartedAt ?? attempt.plannedAt)}`;
  if (attempt.state === 'submitted_unknown') return `${submitted}, and whether it was sent was unknown (${reasonText(attempt.reason)})`;
  return `${submitted}; ${tellHeard(heardOf(attempt, earlier), null)}`;
};

/** What the look at the deadline brought, which was not news of that age. */
const broughtBy = (from: AttemptState, { earlier }: Moment): string => {
  const asked = earlier.findLastIndex(({ kind, details }) => kind === 'LookRequested' && details['attempt'] === from.key);
  const { said, since } = heardOf(from, earlier.slice(asked + 1));
  if (since) return `answered ${answeredWith(since)}`;
  if (said) return `answered at ${instant(said.at)}, too long before the claim could be made`;
  const failed = earlier.slice(asked + 1).findLast(({ kind, details }) => kind === 'StatusReadFailed' && details['attempt'] === from.key);
  return failed ? `failed, at ${instant(failed.at)}` : 'brought nothing in time';
};

const staleness = (from: AttemptState, stale: boolean, moment: Moment): string => {
  if (!stale) return '';
  const allowed = moment.policy.steps[from.step]?.maxObservationAgeMs;
  const than = allowed === undefined ? 'the policy allows' : `the ${duration(allowed)} that the policy allows`;
  const rests = from.evidence === null ? 'no observation at all' : `an observation older than ${than}`;
  return ` (one more look was asked for and ${broughtBy(from, moment)}, so the claim rests on ${rests})`;
};

/** Why a later channel was claimed: cause, observation, rule. */
export const tellClaim = (details: Claim, moment: Moment): string => {
  const channel = channelName(details.channel);
  const step = moment.policy.steps[details.from_step];
  const rule = escalationRule(moment.before, step);
  const rests = details.rests_on;
  if (rests === null) return `${channel} was claimed at ${instant(moment.at)} under policy ${policyName(moment.before)} (${details.cause})`;
  const from = attemptIn(moment.before, rests.attempt);
  if (wasBarred(from)) return `${channelName(from.channel)} could not be used any more, which counts as a step that was skipped: so ${channel} was claimed at once, at ${instant(moment.at)}`;
  if (details.cause === 'attempt_failed') {
    return `${attemptName(from.key)} had ended as *${from.state}*, a definite failure, and ${rule}: so ${channel} was claimed at once, at ${instant(moment.at)}`;
  }
  if (details.cause === 'provider_unavailable') {
    return `${standing(from, moment)}; ${from.provider} refuses our account, and ${rule}: so ${channel} was claimed at once, at ${instant(moment.at)} (provider_unavailable)`;
  }
  const judged = rests.class === 'accepted' || rests.class === 'pending' ? 'this did not count as delivered' : `this counted as *${rests.class}*`;
  return `${standing(from, moment)}; at the decision deadline ${instant(from.decisionDeadlineAt)} ${judged}, and ${rule}: so ${channel} was claimed at ${instant(moment.at)}`
    + staleness(from, rests.stale, moment);
};

/** Why a deadline passed without a claim. */
export const tellDeadline = (details: DetailsOf<'DeadlinePassed'>, moment: Moment): string => {
  const attempt = attemptIn(moment.before, details.attempt);
  const passed = `the decision deadline of ${attemptName(attempt.key)}, ${instant(attempt.decisionDeadlineAt)}, passed with *${details.class}*`;
  const waiting = waitingChannels(moment.before).map(channelName);
  const ended = moment.before.closed ? 'closed' : 'expired';
  const dropped = moment.before.steps.filter(({ phase, reason }, index) => index > attempt.step && phase === 'dropped' && reason === ended).map(({ channel }) => channelName(channel));
  if (dropped.length > 0) return `${passed}; the notification had ${ended === 'closed' ? 'been closed' : 'expired'} by then, so ${listed(dropped)} was not claimed`;
  if (waiting.length === 0) return `${passed}; no later channel was left to claim`;
  return `${passed}, and ${escalationRule(moment.before, moment.policy.steps[attempt.step])} only: so ${waiting.join(', ')} was not claimed`;
};

/** One more look before a claim. */
export const tellLook = (details: DetailsOf<'LookRequested'>, moment: Moment): string => {
  const attempt = attemptIn(moment.before, details.attempt);
  const allowed = moment.policy.steps[attempt.step]?.maxObservationAgeMs;
  const age = attempt.evidence ? `the newest observation of ${attemptName(attempt.key)}, of ${instant(attempt.evidence.at)},` : `what was known of ${attemptName(attempt.key)}`;
  return `at the decision deadline ${instant(attempt.decisionDeadlineAt)} ${age} was older than ${allowed === undefined ? 'the policy allows' : duration(allowed)}, `
    + `so one more look was asked for, until ${instant(details.until)}`;
};
