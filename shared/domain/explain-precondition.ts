import type { DetailsOf, Moment } from './explain-words.ts';
import type { PreconditionFault } from './reasons.ts';
import { instant } from './explain-words.ts';

const FAULTS: Record<PreconditionFault, string> = {
  url_not_allowed: 'was not asked, since its origin is not allowed any more',
  url_lost: 'was not asked, since its sealed URL cannot be opened any more',
  address_not_allowed: 'was not asked, since its name resolves to an address that is not public',
  not_connected: 'could not be reached',
  certificate: 'could not be trusted: its certificate is not one that we believe',
  timeout: 'gave no answer within two seconds',
  connection_lost: 'was asked, and the connection was lost before its answer',
  redirected: 'answered with a redirect, which is not followed',
  http_status: 'answered with a status other than 200',
  answer_too_long: 'answered with more than we read',
  answer_not_understood: 'gave no answer that could be understood',
};

/** Asked before a claim or a submission. */
export const tellAsked = (d: DetailsOf<'PreconditionAsked'>, { at }: Moment): string =>
  `before a ${d.wanted} the origin system was asked at ${instant(at)} whether anything still needs to be done; its answer is waited for until ${instant(d.until)}`;

/** Answered, or not. */
export const tellAnswered = (d: DetailsOf<'PreconditionAnswered'>, { at, before }: Moment): string => {
  if (d.answer === 'needed') return `the origin system said at ${instant(at)} that it is still needed; that stands until ${instant(d.valid_until)}`;
  if (d.answer === 'not_needed') return `the origin system said at ${instant(at)} that nothing needs to be done any more`;
  const what = d.lapsed ? 'gave no answer in time' : FAULTS[d.reason ?? 'answer_not_understood'];
  const then = before.precondition?.onError === 'hold' ? `nothing is claimed or submitted until ${instant(d.valid_until)}` : 'it goes on as if it were needed';
  return `the origin system ${what} (${instant(at)}), and the rule for that is *${before.precondition?.onError ?? 'send'}*: ${then}`;
};
