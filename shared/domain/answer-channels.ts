import { causeOfDisuse } from './answer-disuse.ts';
import { causeOfUse } from './answer-use.ts';
import type { Told } from './answer-use.ts';
import { reachedProvider, standingOf } from './answer-words.ts';
import type { LetterEnd } from './explain-dead-letter.ts';
import type { ExplainedEntry } from './explain.ts';
import { attemptName, channelName, sentence } from './explain-words.ts';
import type { Policy } from './policy.ts';
import type { NotificationState } from './state.ts';
import type { Channel } from './words.ts';

/** Why one channel of a policy was used, or was not: one sentence with the policy version, the cause, and what was observed. */
export interface ChannelAnswer { step: number; channel: Channel; used: boolean; /** A code; docs/explanation.md lists them. */ cause: string; text: string }

const answerOf = (told: Told, index: number): ChannelAnswer => {
  const { state, policy, entries } = told;
  const channel = policy.steps[index]?.channel ?? 'sms';
  const about = `${channelName(channel)}, step ${index + 1} of policy ${policy.purpose}/${policy.version},`;
  const reached = state.attempts.filter((attempt) => attempt.step === index && !attempt.shadow && reachedProvider(attempt));
  if (reached.length === 0) {
    const { cause, because, observed, open } = causeOfDisuse(told, index);
    return { step: index + 1, channel, used: false, cause, text: sentence(`${about} was not used${open ? ' so far' : ''} because ${because}; ${observed}`) };
  }
  const { cause, because } = causeOfUse(told, index, reached.every(({ origin }) => origin === 'operator'));
  const observed = reached.map((attempt) => standingOf(attempt.sequence === 1 ? 'it' : attemptName(attempt.key), attempt, entries)).join('; ');
  return { step: index + 1, channel, used: true, cause, text: sentence(`${about} was used because ${because}; ${observed}`) };
};

/**
 * Answers for each step of the policy, in its order and exactly once, why its channel was used or was not. *Used* means that something of it
 * was, or may have been, at its provider, or was refused there. Pure; codes and instants (UTC) alone, never an address or a text. `state` must be
 * the fold of `entries`; `letterEnds` is how its dead letters ended, where any did.
 */
export const answerChannels = (state: NotificationState, entries: readonly ExplainedEntry[], policy: Policy, letterEnds: readonly LetterEnd[] = []): ChannelAnswer[] =>
  (state.version === 0 ? [] : policy.steps.map((_, index) => answerOf({ state, entries, policy, letterEnds }, index)));
