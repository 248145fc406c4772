import type { AttemptState, NotificationState } from './state.ts';
import type { DetailsOf, Moment } from './explain-words.ts';
import { attemptName, channelName, instant, listed, reasonText } from './explain-words.ts';

/** Which channels run in shadow; empty where none does. */
export const tellShadowSteps = (state: NotificationState): string => {
  const channels = state.steps.filter((step) => step.shadow).map((step) => channelName(step.channel));
  return channels.length === 0 ? '' : `; ${listed(channels)} in shadow: everything but the provider call, and nothing follows from it`;
};

/** Ended where its provider would have been called. */
export const tellShadowed = (d: DetailsOf<'AttemptShadowed'>, { at }: Moment): string =>
  (d.reason === null
    ? `${attemptName(d.attempt)} would have been submitted at ${instant(at)}; it runs in shadow, so its provider was not called and nobody received anything`
    : `${attemptName(d.attempt)}, in shadow, could not have been submitted at ${instant(at)} (${reasonText(d.reason)}); nobody is alarmed by that`);

/** A shadow that waits for its worker. */
export const tellLiveShadow = (attempt: AttemptState): string => `${attemptName(attempt.key)} is ${attempt.state} in shadow: its provider will not be called`;
