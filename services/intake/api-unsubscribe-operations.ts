import { z } from 'zod';
import type { Operation } from './api-operation.ts';
import { ONE_CLICK } from './one-click.ts';

const token = { name: 'token', in: 'path' as const, required: true, description: 'From the message, where it stands in `List-Unsubscribe` too.', example: 'q7mS0f3N0Yb1s9cVb2dGvJ4kWc8Zt5Rx6Lh1Pe0Ua_w' };
const problems = { 404: ['link_not_valid'], 429: ['too_many_requests'] };

/** The calls behind a link to unsubscribe. */
export const unsubscribeOperations = (): Operation[] => [{
  method: 'get', path: '/unsubscribe/:token', id: 'showUnsubscribe', group: 'Pages', summary: 'The page behind a link to unsubscribe', description: 'One button. Changes nothing.', parameters: [token],
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } }, problems,
}, {
  method: 'post', path: '/unsubscribe/:token', id: 'unsubscribe', group: 'Pages', summary: 'Unsubscribe with one click', parameters: [token],
  description: 'RFC 8058, as mail programs do it: the body is a form, urlencoded or multipart. Idempotent; from the answer on no such mail is started. A link that never was, was changed or is too old is answered alike.',
  body: { schema: z.looseObject({ [ONE_CLICK.name]: z.literal(ONE_CLICK.value) }), cures: {}, example: { [ONE_CLICK.name]: ONE_CLICK.value }, form: 'only' },
  answers: { 200: { description: 'Unsubscribed.', schema: z.strictObject({ status: z.literal('unsubscribed') }), example: { status: 'unsubscribed' } } },
  problems: { ...problems, 400: ['one_click_missing'], 413: ['body_too_large'], 415: ['unsupported_encoding'], 503: ['database_away'] },
}];
