import type { AttemptKey } from './words.ts';
import type { AttemptState, NotificationState } from './state.ts';
import type { OnUnknown } from './policy.ts';
import type { ContentSnapshot } from './transitions.ts';
import type { DetailsOf, Moment } from './explain-words.ts';
import { isLive, mayBeSent, submissionStart } from './state.ts';
import { tellLiveShadow } from './explain-shadow.ts';
import { unknownRule } from './resubmission.ts';
import { resolvedBy } from './explain-dead-letter.ts';
import type { ExplainedEntry } from './explain.ts';
import { heardOf, tellHeard } from './explain-heard.ts';
import { tellBarred, tellWaitsFor } from './explain-quiet.ts';
import { attemptIn, attemptName, channelName, duration, instant, listed, policyName, reasonText, waitingChannels } from './explain-words.ts';

/** Whether something of an attempt has reached, or may have reached, its recipient. */
const mayHaveArrived = (attempt: AttemptState): boolean =>
  attempt.submittedAt !== null || attempt.state === 'submitting' || attempt.state === 'submitted_unknown';

const ON_UNKNOWN: Record<OnUnknown, string> = {
  hold: 'hold, so it is never sent again on a guess',
  replay: 'replay, so the same attempt key may go again, and only inside the window in which the provider drops duplicates',
  resubmit_if_absent: 'resubmit_if_absent, so it may go again only after repeated look-ups have not found it',
};

const short = (hash: string): string => hash.slice(0, 12);

/** What it says, by its hashes: enough to compare, nothing to read. */
const tellContent = ({ template_owner: owner, locale, variables_hash: variables, text_hash: text, segments, attachments }: ContentSnapshot, render: string): string => {
  const said = text === undefined ? '' : `, its text has the hash ${short(text)} and takes ${segments ?? 1} segment${segments === 1 || segments === undefined ? '' : 's'}`;
  const carried = attachments.length === 0 ? '; nothing is attached' : `; attached is ${listed(attachments.map(({ artifact, sha256 }) => `${artifact} with the checksum ${short(sha256)}`))}`;
  return `. It was rendered in ${locale}, from a template of ${owner} and variables with the hash ${short(variables)}, to a message with the hash ${short(render)}${said}${carried}`;
};

/** A deadline that expiry draws closer than its policy's own: the next channel starts so much sooner. */
const tellDrawnCloser = (d: DetailsOf<'AttemptPlanned'>, { after, policy }: Moment): string => {
  const within = policy.steps[d.step]?.decideWithinMs;
  const has = d.decision_deadline_at - d.starts_at;
  if (within === undefined || has >= within) return '';
  const later = waitingChannels(after).map(channelName);
  const kept = later.length > 0 ? `, before which time is kept for ${listed(later)}` : '';
  return ` (${duration(has)} after its start and not ${duration(within)}, since the notification expires at ${instant(after.expiresAt)}${kept})`;
};

/** Planned, by policy or by an operator. */
export const tellPlanned = (d: DetailsOf<'AttemptPlanned'>, moment: Moment): string => {
  const { at, after } = moment;
  const by = d.origin === 'operator' ? 'by an operator' : `as step ${d.step + 1} of policy ${policyName(after)}`;
  return `${attemptName(d.attempt)} was planned at ${instant(at)} ${by}, with template ${d.template}/${d.template_version} and ${d.shadow ? 'in shadow' : `the decision deadline ${instant(d.decision_deadline_at)}${tellDrawnCloser(d, moment)}`}${tellWaitsFor(after, d, at)}${d.content ? tellContent(d.content, d.render_hash) : ''}`;
};

/** It waits for an operator, or did until something resolved it. */
const deadLetter = (key: AttemptKey, { at, later, letterEnds, end }: Moment): string => {
  const until = resolvedBy({ key, at, later, ends: letterEnds, strategy: end.strategy });
  return until === null ? 'is a dead letter that an operator must look at' : `was a dead letter ${until}`;
};

/** Could not be rendered. */
export const tellRenderFailed = (d: DetailsOf<'AttemptRenderFailed'>, moment: Moment): string => {
  const { at, after } = moment;
  return `${attemptName(d.attempt)}, step ${d.step + 1} of policy ${policyName(after)}, could not be rendered at ${instant(at)} (${reasonText(d.reason)}): ${d.shadow ? 'it runs in shadow, so nobody is alarmed by that' : `it was never sent and ${deadLetter(d.attempt, moment)}`}`;
};

/** Accepted by the provider. */
export const tellAccepted = (d: DetailsOf<'SubmissionAccepted'>, { at, before }: Moment): string => {
  const attempt = attemptIn(before, d.attempt);
  const started = submissionStart(attempt) ?? at;
  const more = d.final ? '; this transport says nothing more, so *sent* is all that can be known of it' : '';
  return `${attemptName(d.attempt)} was submitted to ${attempt.provider} at ${instant(started)} (submission ${d.submission}) and taken there at ${instant(d.answered_at ?? at)}${more}${d.answered_at === undefined ? '' : ` (recorded at ${instant(at)})`}`;
};

/** Not processed, tried again. */
export const tellDeferred = (d: DetailsOf<'SubmissionDeferred'>, { at }: Moment): string =>
  `submission ${d.submission} of ${attemptName(d.attempt)} was definitely not processed at ${instant(at)} (${reasonText(d.reason)}), so it is tried again under the same attempt key, not before ${instant(d.retry_at)}`;

/** Recorded, but the call was not made. */
export const tellAbandoned = (d: DetailsOf<'SubmissionAbandoned'>, { at }: Moment): string =>
  `submission ${d.submission} of ${attemptName(d.attempt)} was recorded, but its call was not made, since too long had passed in between (${d.reason}, ${instant(at)}); nothing was sent by it, and it is tried again`;

/** Sent or not? */
export const tellUnknown = (d: DetailsOf<'SubmissionOutcomeUnknown'>, { at, before, policy }: Moment): string => {
  const attempt = attemptIn(before, d.attempt);
  const step = policy.steps[attempt.step];
  const choice = step?.onUnknown ?? 'hold';
  const held = step && unknownRule(step, attempt) !== choice ? '; this provider does not permit that, so it is held all the same' : '';
  const search = attempt.canLookUp ? 'the provider is searched for it by its reference' : 'this provider cannot be searched for it';
  return `whether submission ${d.submission} of ${attemptName(d.attempt)} was sent is unknown since ${instant(at)} (${reasonText(d.reason)}). `
    + `Policy ${policyName(before)} says on_unknown: ${ON_UNKNOWN[choice]}${held}; ${search} until ${instant(before.reconcileUntil)}`;
};

/** Submitted again under the same key. */
export const tellResubmission = (d: DetailsOf<'ResubmissionPlanned'>, { at }: Moment): string => {
  const why = d.reason === 'replay'
    ? `the provider drops duplicates of a key that it first saw at ${instant(d.first_submission_at)}, so the same bytes go to it again`
    : `${d.look_ups} look-ups past the provider's visibility lag had not found it, so the same bytes go to it again`;
  return `${attemptName(d.attempt)} was taken back to its queue at ${instant(at)} (${d.reason}): ${why} under the same attempt key, not after ${instant(d.until)}`;
};

/** A resubmission that is off. */
export const tellWithdrawn = (d: DetailsOf<'ResubmissionWithdrawn'>, { at }: Moment): string =>
  `${attemptName(d.attempt)} was not submitted again at ${instant(at)} (${reasonText(d.reason)}); ${d.reason === 'found_meanwhile' ? 'an earlier submission of it was heard of meanwhile, and is looked for' : 'whether an earlier submission was sent is as unknown as before'}${d.hold ? ', and it is held' : ''}`;

/** A delivery that was taken back. */
export const tellCorrected = (d: DetailsOf<'DeliveryCorrected'>, { at }: Moment): string =>
  `at ${instant(at)} a later bounce corrected ${attemptName(d.attempt)} from *delivered* to *undelivered* (${reasonText(d.reason)}); nothing else was started for that`;

/** Found at the provider by our own reference. */
export const tellAdopted = (d: DetailsOf<'AttemptAdopted'>, { at }: Moment): string =>
  `a look-up by its reference found ${attemptName(d.attempt)} at the provider at ${instant(at)}, as *${d.outcome}*: it was adopted, and nothing was sent again`;

/** Confirmed, in time or late. */
export const tellDelivered = (d: DetailsOf<'AttemptDelivered'>, { at, before, end }: Moment): string => {
  const attempt = attemptIn(before, d.attempt);
  const confirmed = `${attemptName(d.attempt)} was confirmed *delivered* at ${instant(at)} (heard by ${d.source})`;
  if (attempt.superseded) {
    const others = end.attempts.filter((other) => other.step > attempt.step && mayHaveArrived(other)).map((other) => channelName(other.channel));
    if (others.length === 0) return `${confirmed}, after a later channel had been claimed`;
    return `${confirmed}, late: ${listed(others)} had been claimed before. Both stand and nothing is retracted; this is a double contact`;
  }
  const spared = waitingChannels(before).map(channelName);
  return spared.length > 0 ? `${confirmed}, so ${listed(spared)} was not needed` : confirmed;
};

const NOTHING_MORE = '; its destination is on the suppression list from then on';

/** Taken from its queue because its channel was barred by then. */
const tellTakenOut = (d: { attempt: string; reason: DetailsOf<'AttemptUndelivered'>['reason']; opens_at?: number | null }, moment: Moment): string => {
  const { at, before } = moment;
  const { channel, step, submissions } = attemptIn(before, d.attempt);
  const tries = submissions > 0 ? `, whose ${submissions} submission(s) were definitely not processed,` : '';
  const why = tellBarred({ step, channel, reason: d.reason, opensAt: d.opens_at }, moment);
  return `${attemptName(d.attempt)}${tries} was not submitted at ${instant(at)} (${reasonText(d.reason)})${why ? `: ${why}` : ''}. Nothing of it was sent`;
};

/** Ended in a definite failure. */
export const tellFailed = (d: { attempt: string; reason: DetailsOf<'AttemptUndelivered'>['reason']; source: string; opens_at?: number | null }, moment: Moment): string => {
  if (d.source === 'eligibility') return tellTakenOut(d, moment);
  const { at, before, after } = moment;
  const attempt = attemptIn(after, d.attempt);
  const late = attemptIn(before, d.attempt).superseded ? ', after a later channel had been claimed' : '';
  return `${attemptName(d.attempt)} ended as *${attempt.state}* at ${instant(at)} (${reasonText(d.reason)}; heard by ${d.source})${late}${attempt.state === 'suppressed' ? NOTHING_MORE : ''}`;
};

/** Stopped, waits for an operator. */
export const tellDeadLettered = (d: DetailsOf<'AttemptDeadLettered'>, moment: Moment): string => {
  const { at, before } = moment;
  const { submissions } = attemptIn(before, d.attempt);
  return `${attemptName(d.attempt)} stopped at ${instant(at)} after ${submissions} submission(s) (${reasonText(d.reason)}); it ${deadLetter(d.attempt, moment)}`;
};

const CANCELLED: Partial<Record<string, string>> = {
  superseded: 'nothing of it was at the provider when the later channel was claimed, so it can no longer reach anyone',
  closed: 'the notification was closed before anything of it was at the provider',
};

/** Cancelled before anything was sent. */
export const tellCancelled = (d: DetailsOf<'AttemptCancelled'>, { at }: Moment): string =>
  `${attemptName(d.attempt)} was cancelled at ${instant(at)} (${d.reason})${CANCELLED[d.reason] ? `: ${CANCELLED[d.reason]}` : ''}`;

/** An observation is told only where it came too late to count. */
export const tellObserved = (d: DetailsOf<'StatusObserved'>, { at }: Moment): string | null => {
  if (d.outcome === 'several') return `a look-up at ${instant(at)} found several messages that could be ${attemptName(d.attempt)}, so none was adopted and it stays unknown`;
  if (d.counts || d.outcome === 'not_found' || d.outcome === 'unknown') return null;
  if (d.found_meanwhile) return `at ${instant(at)} the provider told of an earlier submission of ${attemptName(d.attempt)}, as *${d.outcome}* (${d.source}), while it was being submitted again`;
  return `at ${instant(at)} the provider still said *${d.outcome}* about ${attemptName(d.attempt)} (${d.source}); it came too late to count, is kept, and changed nothing`;
};

/** What is awaited of an attempt that is still live; null once it is not. */
export const tellLive = (attempt: AttemptState, state: NotificationState, entries: readonly ExplainedEntry[]): string | null => {
  const name = attemptName(attempt.key);
  if (attempt.shadow && isLive(attempt)) return tellLiveShadow(attempt);
  if (attempt.state === 'submitting') return `a submission of ${name} was started at ${instant(attempt.submissionStartedAt ?? attempt.plannedAt)}; its answer is awaited until ${instant(attempt.outcomeDueAt ?? attempt.plannedAt)}, and is unknown after that`;
  if (attempt.providerWaitAt !== null) return `${name} waits in its queue since ${instant(attempt.providerWaitAt)} until ${attempt.provider} takes us again, or it expires`;
  if (attempt.state === 'queued' && mayBeSent(attempt)) return `${name} waits in its queue to be submitted again under the same attempt key; whether an earlier submission was sent is unknown`;
  if (attempt.state === 'planned') return `${name} waits for the end of its quiet hours, at ${instant(attempt.startsAt)}, and nothing of it is at the provider yet`;
  if (attempt.state === 'queued') return `${name} is ${attempt.state}, and nothing of it is at the provider yet`;
  if (attempt.settledAt !== null || (attempt.state !== 'submitted' && attempt.state !== 'submitted_unknown')) return null;
  const next = attempt.nextPollAt === null ? `it can be corrected until ${instant(state.reconcileUntil)}` : `it is asked again at ${instant(attempt.nextPollAt)}`;
  return `${tellHeard(heardOf(attempt, entries), name)}; ${next}`;
};
