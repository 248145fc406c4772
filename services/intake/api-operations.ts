import type { Roster } from '../../shared/content/roster.ts';
import { knownCategories } from '../../shared/content/roster.ts';
import { EVENT_ID } from '../../shared/domain/words.ts';
import { artifactOperations } from './api-artifact-operations.ts';
import { unsubscribeOperations } from './api-unsubscribe-operations.ts';
import * as answers from './api-answers.ts';
import type { Operation, Parameter } from './api-operation.ts';
import * as example from './api-examples.ts';
import { closeByKeySchema, closeSchema, REASON_CURES } from './closing.ts';
import { FEED_CURES, feedSchema } from './feed-routes.ts';
import { NOTIFICATION_CURES, notificationSchema } from './notification-fields.ts';
import { PAUSE_CURES, pauseSchema } from './pausing.ts';
import { TICKET_CURES, ticketSchema } from './ticket-fields.ts';

const eventId: Parameter = { name: 'event_id', in: 'path', required: true, description: 'As the receipt names it.', example: example.EVENT_ID, pattern: EVENT_ID.source };
const idempotencyKey = (required: boolean): Parameter => ({
  name: 'Idempotency-Key', in: 'header', required, description: '1 to 200 visible ASCII characters, such as a UUID. Send the same one when you try again.', example: '6f1d3b1e-58a4-4f6e-9c9c-1b8f6b9f8a10',
  pattern: '^[!-~]([ -~]{0,198}[!-~])?$',
});
const BODY = { 400: ['malformed_json', 'too_many_fields', 'unknown_field', 'invalid_field'], 413: ['body_too_large'], 415: ['unsupported_content_type', 'unsupported_encoding'] };

const tickets = (roster: Roster, demo: boolean): Operation[] => [{
  method: 'post', path: '/tickets', id: 'takeTicket', group: 'Tickets', summary: 'Take a support ticket in',
  description: 'Category and region choose the support queue, the urgency and the one on-call who is told. Anonymous. A browser (`Accept: text/html`) is led to the receipt page with 303.',
  parameters: [idempotencyKey(false)],
  body: { schema: ticketSchema(roster, demo), cures: { ...TICKET_CURES, category: `use one of ${knownCategories(roster).join(', ')}` }, example: example.TICKET_BODY, form: true },
  answers: {
    202: { description: 'Taken in.', schema: answers.ticketReceipt, example: example.TICKET_RECEIPT },
    200: { description: 'The same ticket came before under this key.', schema: answers.ticketReceipt, example: { ...example.TICKET_RECEIPT, replayed: true } },
    303: { description: 'To the receipt page, for a browser.', headers: { Location: 'The receipt page.' } },
  },
  problems: { ...BODY, 400: [...BODY[400], 'malformed_form', 'idempotency_key_invalid'], 409: ['idempotency_key_reused'], 429: ['too_many_requests'] },
}, {
  method: 'get', path: '/receipts/:token', id: 'getReceipt', group: 'Tickets', summary: 'The receipt of a ticket', description: 'Behind a token of its own; a page for a browser, JSON for everyone else.',
  parameters: [{ name: 'token', in: 'path', required: true, description: 'From `status_url`.', example: 'k3Zt0m9yQ1c8w7v6u5t4s3r2q1p0o9n8m7l6k5j4h3g' }],
  answers: { 200: { description: 'How it stands.', schema: answers.ticketReceipt, example: example.TICKET_RECEIPT } }, problems: { 404: ['not_found'] },
}];

const forEvent = { group: 'Notifications', needsKey: true, scope: 'notifications:read', parameters: [eventId], problems: { 400: ['unknown_field'], 404: ['not_found'] } } as const;
const acting = { ...forEvent, scope: 'notifications:act' as const, parameters: [eventId], problems: { ...BODY, 404: ['not_found'], 409: ['not_open'] } };
const REASON_EXAMPLE = { reason: 'taken', actor: 'jane.d' };

const notifications = (): Operation[] => [{
  method: 'post', path: '/notifications', id: 'sendNotification', group: 'Notifications', needsKey: true, scope: 'notifications:write', summary: 'Hand over a notification',
  description: 'Written to the ledger before the answer. No provider is called meanwhile; the channels of the purpose\'s policy are tried one by one. Where the policy asks the origin system whether a notice is still needed, `precondition_url` says where.',
  parameters: [idempotencyKey(true)], body: { schema: notificationSchema, cures: NOTIFICATION_CURES, example: example.NOTIFICATION_BODY },
  answers: {
    202: { description: 'Accepted.', schema: answers.receipt, example: example.RECEIPT },
    200: { description: 'The same request came before under this key.', schema: answers.receipt, example: { ...example.RECEIPT, replayed: true } },
  },
  problems: {
    ...BODY, 400: [...BODY[400], 'idempotency_key_required', 'idempotency_key_invalid', 'no_address'], 409: ['idempotency_key_reused'],
    422: ['unknown_purpose', 'unknown_variable', 'invalid_variable', 'link_not_allowed', 'variables_contradict', 'not_renderable', 'expiry_too_short', 'expiry_too_long', 'public_url_not_https', 'artifacts_not_carried', 'artifact_required', 'artifact_unknown', 'artifact_expires_too_soon', 'report_unreachable', 'precondition_not_supported', 'precondition_url_not_allowed'],
  },
}, {
  method: 'get', path: '/notifications', id: 'readFeed', group: 'Notifications', needsKey: true, scope: 'feed:read', summary: 'The change feed',
  description: 'Every change of the public view of your notifications, oldest first; nothing is skipped and nothing comes twice. The same cursor always gives the same items.',
  query: { schema: feedSchema, cures: FEED_CURES, examples: { limit: '50' } },
  answers: { 200: { description: 'A page of changes.', schema: answers.feedPage, example: { items: [{ ...example.NOTIFICATION, version: 5, changed_at: example.NOTIFICATION.updated_at }], next_cursor: 'fc1.eyJwIjpbMSwyXX0.c2ln', has_more: false } } },
  problems: { 400: ['invalid_field', 'unknown_field', 'cursor_invalid'], 409: ['cursor_diverged'] },
}, {
  ...forEvent, method: 'get', path: '/notifications/:event_id', id: 'getNotification', summary: 'A notification as it is now', parameters: [eventId],
  answers: { 200: { description: 'The public view, neutral of providers.', schema: answers.notification, example: example.NOTIFICATION } },
}, {
  ...forEvent, method: 'get', path: '/notifications/:event_id/history', id: 'getHistory', summary: 'Every entry of its ledger', parameters: [eventId],
  answers: { 200: { description: 'Oldest first; text and hashes let anyone check the chain.', schema: answers.history, example: example.HISTORY } },
}, {
  ...forEvent, method: 'get', path: '/notifications/:event_id/explanation', id: 'getExplanation', summary: 'Why each channel was or was not used', parameters: [eventId],
  answers: { 200: { description: 'In words.', schema: answers.explanation, example: example.EXPLANATION } },
}, {
  ...acting, method: 'post', path: '/notifications/:event_id/close', id: 'closeNotification', summary: 'Close a notification', description: 'Nothing is submitted any more. Idempotent: the first reason stands.',
  body: { schema: closeSchema, cures: REASON_CURES, example: REASON_EXAMPLE }, answers: { 200: { description: 'Closed.', schema: answers.closed, example: example.CLOSED } },
}, {
  method: 'post', path: '/notifications/close', id: 'closeByKey', group: 'Notifications', needsKey: true, scope: 'notifications:act', summary: 'Close by idempotency key', description: 'For who kept the key and not the event id.',
  body: { schema: closeByKeySchema, cures: REASON_CURES, example: { ...REASON_EXAMPLE, idempotency_key: '6f1d3b1e-58a4-4f6e-9c9c-1b8f6b9f8a10' } },
  answers: { 200: { description: 'Closed.', schema: answers.closed, example: example.CLOSED } }, problems: acting.problems,
}, {
  ...acting, method: 'post', path: '/notifications/:event_id/pause', id: 'pauseNotification', summary: 'Pause a notification', description: 'Nothing is started until it is resumed; status reads and expiry go on.',
  body: { schema: pauseSchema, cures: PAUSE_CURES, example: { reason: 'maintenance' } }, answers: { 200: { description: 'Paused.', schema: answers.paused, example: example.PAUSED } },
}, {
  ...acting, method: 'post', path: '/notifications/:event_id/resume', id: 'resumeNotification', summary: 'Resume a notification', description: 'What fell due meanwhile is decided at once.',
  body: { schema: pauseSchema, cures: PAUSE_CURES, example: { reason: 'maintenance' } }, answers: { 200: { description: 'Resumed.', schema: answers.resumed, example: example.RESUMED } },
}];

const operations = (): Operation[] => {
  const engine = { status: 'ok', oldest_due: { decision_ms: 0, poll_ms: 12, outbox_ms: 0 } };
  const page = (path: string, id: string, told: { summary: string; mediaType: string; group?: Operation['group'] }): Operation =>
    ({ method: 'get', path, id, group: told.group ?? 'Pages', summary: told.summary, answers: { 200: { description: told.summary, mediaType: told.mediaType } }, problems: {} });
  return [
    { method: 'get', path: '/healthz', id: 'getHealth', group: 'Operations', summary: 'Whether the process is alive', answers: { 200: { description: 'Alive.', schema: answers.alive, example: { status: 'alive' } } }, problems: {} },
    { method: 'get', path: '/readyz', id: 'getReadiness', group: 'Operations', summary: 'Whether the database is reachable and migrated', answers: { 200: { description: 'Ready.', schema: answers.ready, example: { status: 'ready' } } }, problems: { 503: ['not_migrated', 'database_slow'] } },
    { method: 'get', path: '/healthz/engine', id: 'getEngineHealth', group: 'Operations', summary: 'Whether the engine keeps up', description: 'By the age of the oldest due row.', answers: { 200: { description: 'It does.', schema: answers.engine, example: engine } }, problems: { 503: ['engine_behind', 'database_slow'] } },
    page('/metrics', 'getMetrics', { summary: 'Metrics, for Prometheus', mediaType: 'text/plain', group: 'Operations' }),
    page('/openapi.json', 'getOpenApi', { summary: 'This document', mediaType: 'application/json', group: 'Operations' }),
    page('/docs', 'getDocs', { summary: 'This document, to read', mediaType: 'text/html' }),
    page('/docs.css', 'getDocsStyle', { summary: 'Its style', mediaType: 'text/css' }),
    page('/', 'getForm', { summary: 'The support form', mediaType: 'text/html' }),
    page('/pages.css', 'getStyle', { summary: 'The style of the pages', mediaType: 'text/css' }),
  ];
};

/** Every call that intake answers. A test walks its routes and finds each here, and none beside them. */
export const apiOperations = (roster: Roster, demo: boolean): Operation[] => [...tickets(roster, demo), ...notifications(), ...artifactOperations(), ...unsubscribeOperations(), ...operations()];
