import type { DetailsOf, Moment } from './explain-words.ts';
import { attemptName, instant } from './explain-words.ts';

const MEANS: Record<DetailsOf<'OperatorRetried'>['means'], string> = {
  new_attempt: 'as a new attempt with a key of its own',
  replay: 'by replay under the same attempt key, which the provider recognises',
  look_up: 'by looking for it at the provider; nothing is sent for that',
};

/** Paused by somebody. */
export const tellPaused = (d: DetailsOf<'NotificationPaused'>, { at }: Moment): string =>
  `the notification was paused at ${instant(at)} (${d.reason}): nothing is queued, claimed or started until it is resumed, while status reads and expiry go on`
  + (d.in_flight ? '. One call was in flight at that instant and may still arrive' : '');

/** Resumed by somebody. */
export const tellResumed = (d: DetailsOf<'NotificationResumed'>, { at, before }: Moment): string =>
  `the notification was resumed at ${instant(at)} (${d.reason})${before.paused ? `, after a pause since ${instant(before.paused.at)}` : ''}; what had fallen due meanwhile is decided from then on`;

/** Retried by an operator's decision. */
export const tellRetried = (d: DetailsOf<'OperatorRetried'>, { at }: Moment): string => {
  const accepted = [...(d.even_if_delivered ? ['even if delivered elsewhere'] : []), ...(d.accept_duplicate ? ['accepting a duplicate'] : [])];
  return `an operator retried ${attemptName(d.attempt)} at ${instant(at)} (${d.reason}), ${MEANS[d.means]}${accepted.length > 0 ? `; ${accepted.join(' and ')}` : ''}`;
};
