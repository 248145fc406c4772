import { wasBarred } from './eligibility.ts';
import type { LetterEnd } from './explain-dead-letter.ts';
import type { ExplainedEntry } from './explain.ts';
import { attemptName, channelName, escalationRule, instant, listed, reasonText } from './explain-words.ts';
import type { Policy } from './policy.ts';
import type { NotificationState } from './state.ts';
import { findAttempt, hasFailed } from './state.ts';
import type { DetailsOf } from './explain-words.ts';

export type UseCause = 'first_step' | 'earlier_skipped' | 'all_at_once' | 'deadline' | 'attempt_failed' | 'earlier_barred' | 'provider_unavailable' | 'operator';

export interface Told { state: NotificationState; entries: readonly ExplainedEntry[]; policy: Policy; letterEnds: readonly LetterEnd[] }
export interface Cause<Code extends string = string> { cause: Code; because: string }

/** Why a step was claimed: by what stood there when it was, and by the rule. */
const claimed = ({ state, policy }: Told, { at, details }: ExplainedEntry): Cause<UseCause> => {
  const { cause, rests_on: rests } = details as unknown as DetailsOf<'FallbackClaimed'>;
  const from = rests && findAttempt(state, rests.attempt);
  if (!rests || !from) return { cause, because: `it was claimed at ${instant(at)} (${cause})` };
  const rule = escalationRule(state, policy.steps[from.step]);
  if (wasBarred(from)) return { cause: 'earlier_barred', because: `${channelName(from.channel)} could not be used any more at ${instant(at)} (${reasonText(from.reason)}), which counts as a step that was skipped` };
  if (cause === 'attempt_failed') return { cause, because: `${attemptName(from.key)} had ended in a definite failure by ${instant(at)}${hasFailed(from) ? ` (${reasonText(from.reason)})` : ''}, and ${rule}` };
  if (cause === 'provider_unavailable') return { cause, because: `${from.provider} refused our account with nothing of ${attemptName(from.key)} at it, at ${instant(at)}, and ${rule}` };
  const seen = rests.observed_at === null ? 'and nothing had been heard of it' : `as last observed at ${instant(rests.observed_at)}`;
  return { cause, because: `at the decision deadline ${instant(from.decisionDeadlineAt)} ${attemptName(from.key)} stood as *${rests.class}*, ${seen}, and ${rule}` };
};

const byPolicy = (told: Told, step: number): Cause<UseCause> => {
  const { state, entries, policy } = told;
  const claim = entries.findLast((entry) => entry.kind === 'FallbackClaimed' && entry.details['to_step'] === step);
  if (claim) return claimed(told, claim);
  const at = instant(state.attempts.find((attempt) => attempt.step === step)?.plannedAt ?? state.requestedAt);
  if (state.strategy === 'all') return { cause: 'all_at_once', because: `its policy uses all of its channels at once, from the acceptance at ${at}` };
  const skipped = state.steps.slice(0, step).flatMap(({ phase, reason, channel }) => (phase === 'skipped' ? [`${channelName(channel)}: ${reason ?? 'no reason given'}`] : []));
  if (skipped.length > 0) return { cause: 'earlier_skipped', because: `what comes before it could not be used (${listed(skipped)}), so it started with the acceptance at ${at}` };
  const beside = policy.steps.slice(0, step).some(({ shadow }) => shadow) ? 'the first that does not run in shadow' : 'the first one';
  return { cause: 'first_step', because: `it is ${beside}, which starts with the acceptance, at ${at}` };
};

/** Why a step was used: what let it start, and what an operator decided after that. `operator` where only that brought anything to its provider. */
export const causeOfUse = (told: Told, step: number, onlyByOperator: boolean): Cause<UseCause> => {
  const policy = byPolicy(told, step);
  const retries = told.entries.flatMap(({ kind, at, details }) => (kind === 'OperatorRetried' && findAttempt(told.state, String(details['attempt']))?.step === step ? [`an operator retried it at ${instant(at)} (${String(details['reason'])})`] : []));
  return { cause: onlyByOperator ? 'operator' : policy.cause, because: [policy.because, ...retries].join('; and ') };
};
