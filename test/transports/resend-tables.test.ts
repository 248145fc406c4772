import { describe, expect, it, test } from '@jest/globals';
import { REASONS } from '../../shared/domain/reasons.ts';
import { meaningOfInnerError, meaningOfRefusal, RESEND_ERRORS, RESEND_HTTP_ERRORS } from '../../shared/transports/resend/error-table.ts';
import { meaningOfEvent, RESEND_EVENTS } from '../../shared/transports/resend/status-table.ts';

describe('Resend events', () => {
  const rows: [string, object][] = [
    ['queued', { outcome: 'pending', reason: null }],
    ['scheduled', { outcome: 'pending', reason: null }],
    ['sent', { outcome: 'accepted', reason: null }],
    ['delivery_delayed', { outcome: 'accepted', reason: null }],
    ['delivered', { outcome: 'delivered', reason: null }],
    ['opened', { outcome: 'delivered', reason: null }],
    ['clicked', { outcome: 'delivered', reason: null }],
    ['complained', { outcome: 'delivered', reason: 'opted_out' }],
    ['bounced', { outcome: 'undelivered', reason: 'carrier_failed' }],
    ['failed', { outcome: 'rejected', reason: 'refused_by_provider' }],
    ['canceled', { outcome: 'rejected', reason: 'cancelled_at_provider' }],
    ['suppressed', { outcome: 'suppressed', reason: 'opted_out' }],
  ];
  test.each(rows)('%s', (event, meaning) => expect(meaningOfEvent(event)).toEqual(meaning));

  it('has no row without a test', () => expect(Object.keys(RESEND_EVENTS).sort()).toEqual(rows.map(([event]) => event).sort()));

  test.each(['', 'Delivered', 'teleported', 'constructor', '__proto__'])('%j is not recognised', (event) =>
    expect(meaningOfEvent(event)).toEqual({ outcome: 'unknown', reason: 'status_not_recognised' }));
});

describe('Resend errors', () => {
  const rows: [number, string, string, string][] = [
    [400, 'validation_error', 'rejected', 'invalid_destination'],
    [422, 'validation_error', 'rejected', 'invalid_destination'],
    [401, 'validation_error', 'unavailable_auth', 'provider_auth'],
    [403, 'validation_error', 'unavailable_account', 'provider_account'],
    [401, 'missing_api_key', 'unavailable_auth', 'provider_auth'],
    [401, 'restricted_api_key', 'unavailable_auth', 'provider_auth'],
    [403, 'invalid_api_key', 'unavailable_auth', 'provider_auth'],
    [422, 'invalid_from_address', 'unavailable_account', 'provider_account'],
    [429, 'rate_limit_exceeded', 'deferred', 'rate_limited'],
    [429, 'daily_quota_exceeded', 'deferred', 'quota_exhausted'],
    [429, 'monthly_quota_exceeded', 'deferred', 'quota_exhausted'],
    [422, 'invalid_attachment', 'rejected', 'content_refused'],
    [409, 'concurrent_idempotent_requests', 'deferred', 'provider_temporary'],
    [409, 'invalid_idempotent_request', 'rejected', 'idempotency_conflict'],
  ];
  test.each(rows)('%d %s, as status line and inside a 200', (httpStatus, name, errorClass, reason) => {
    expect(meaningOfRefusal(httpStatus, name)).toEqual({ class: errorClass, reason });
    expect(meaningOfInnerError(httpStatus, name)).toEqual({ class: errorClass, reason });
  });

  it('has no row without a test and no reason outside the list', () => {
    const keys = rows.map(([httpStatus, name]) => (name === 'validation_error' ? `${httpStatus} ${name}` : name));
    expect(Object.keys(RESEND_ERRORS).sort()).toEqual(keys.sort());
    expect(Object.keys(RESEND_HTTP_ERRORS)).toEqual(['403']);
    for (const { reason } of [...Object.values(RESEND_ERRORS), ...Object.values(RESEND_HTTP_ERRORS)]) expect(REASONS).toHaveProperty(reason);
  });

  test.each([
    [400, 'invalid_idempotency_key', 'rejected', 'refused_by_provider'],
    [401, null, 'unavailable_auth', 'provider_auth'],
    [403, null, 'unavailable_account', 'provider_account'],
    [404, 'not_found', 'rejected', 'refused_by_provider'],
    [408, null, 'unknown', 'provider_error'],
    [409, 'something_new', 'rejected', 'refused_by_provider'],
    [422, 'missing_required_field', 'rejected', 'refused_by_provider'],
    [429, null, 'deferred', 'rate_limited'],
    [500, 'validation_error', 'unknown', 'provider_error'],
    [503, null, 'unknown', 'provider_error'],
    [302, null, 'unknown', 'answer_not_understood'],
  ])('HTTP %d with name %p is %s', (httpStatus, name, errorClass, reason) =>
    expect(meaningOfRefusal(httpStatus, name)).toEqual({ class: errorClass, reason }));
});
