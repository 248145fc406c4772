import type { DetailsOf, Moment } from './explain-words.ts';
import { instant } from './explain-words.ts';

/** Asked before a claim or a submission. */
export const tellAsked = (d: DetailsOf<'PreconditionAsked'>, { at }: Moment): string =>
  `before a ${d.wanted} the origin system was asked at ${instant(at)} whether anything still needs to be done; its answer is waited for until ${instant(d.until)}`;

/** Answered, or not. */
export const tellAnswered = (d: DetailsOf<'PreconditionAnswered'>, { at, before }: Moment): string => {
  if (d.answer === 'needed') return `the origin system said at ${instant(at)} that it is still needed; that stands until ${instant(d.valid_until)}`;
  if (d.answer === 'not_needed') return `the origin system said at ${instant(at)} that nothing needs to be done any more`;
  const what = d.lapsed ? 'gave no answer in time' : 'gave no answer that could be understood';
  const then = before.precondition?.onError === 'hold' ? `nothing is claimed or submitted until ${instant(d.valid_until)}` : 'it goes on as if it were needed';
  return `the origin system ${what} (${instant(at)}), and the rule for that is *${before.precondition?.onError ?? 'send'}*: ${then}`;
};
