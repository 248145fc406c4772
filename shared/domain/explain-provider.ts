import type { DetailsOf, Moment } from './explain-words.ts';
import { attemptIn, attemptName, instant, reasonText } from './explain-words.ts';

/** Held, since its provider refuses our account. */
export const tellHeld = (d: DetailsOf<'AttemptHeld'>, { at }: Moment): string =>
  `${attemptName(d.attempt)} waits since ${instant(at)}: ${d.provider} refuses our account (${reasonText(d.reason)}), so nothing is submitted there but one probe at a time`;

/** Set free, or let through as the probe. */
export const tellReleased = (d: DetailsOf<'AttemptReleased'>, { at, before }: Moment): string => {
  const { provider, providerWaitAt } = attemptIn(before, d.attempt);
  const since = providerWaitAt === null ? '' : `, after waiting since ${instant(providerWaitAt)}`;
  if (d.reason === 'probe') return `${attemptName(d.attempt)} was let through to ${provider} at ${instant(at)} as the one probe of whether it takes us again${since}`;
  return `${provider} takes us again, so ${attemptName(d.attempt)} was put into its queue at ${instant(at)}${since}`;
};
