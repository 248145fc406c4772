import { describe, expect, it, test } from '@jest/globals';
import { REASONS } from '../../shared/domain/reasons.ts';
import { meaningOfInnerError, meaningOfRefusal, SINCH_ERRORS, SINCH_HTTP_ERRORS } from '../../shared/transports/sinch/error-table.ts';
import { meaningOfStatus, SINCH_STATUSES } from '../../shared/transports/sinch/status-table.ts';

describe('Sinch statuses', () => {
  const rows: [string, object][] = [
    ['Queued', { outcome: 'pending', reason: null }],
    ['Dispatched', { outcome: 'accepted', reason: null }],
    ['Delivered', { outcome: 'delivered', reason: null }],
    ['Aborted', { outcome: 'rejected', reason: 'refused_by_provider' }],
    ['Rejected', { outcome: 'rejected', reason: 'refused_by_provider' }],
    ['Cancelled', { outcome: 'rejected', reason: 'cancelled_at_provider' }],
    ['Failed', { outcome: 'undelivered', reason: 'carrier_failed' }],
    ['Expired', { outcome: 'undelivered', reason: 'message_expired_at_provider' }],
    ['Deleted', { outcome: 'undelivered', reason: 'carrier_failed' }],
    ['Unknown', { outcome: 'unknown', reason: null }],
  ];
  test.each(rows)('%s', (status, meaning) => expect(meaningOfStatus(status)).toEqual(meaning));

  it('has no row without a test', () => expect(Object.keys(SINCH_STATUSES).sort()).toEqual(rows.map(([status]) => status).sort()));

  test.each(['', 'delivered', 'Teleported', 'constructor', '__proto__'])('%j is not recognised', (status) =>
    expect(meaningOfStatus(status)).toEqual({ outcome: 'unknown', reason: 'status_not_recognised' }));
});

describe('Sinch errors', () => {
  const rows: [string, string, string][] = [
    ['syntax_invalid_parameter_format', 'rejected', 'invalid_destination'],
    ['syntax_constraint_violation', 'rejected', 'content_refused'],
    ['syntax_invalid_json', 'rejected', 'content_refused'],
  ];
  test.each(rows)('%s in a 400 and inside a 201', (code, errorClass, reason) => {
    expect(meaningOfRefusal(400, code)).toEqual({ class: errorClass, reason });
    expect(meaningOfInnerError(code)).toEqual({ class: errorClass, reason });
  });

  it('has no row without a test and no reason outside the list', () => {
    expect(Object.keys(SINCH_ERRORS).sort()).toEqual(rows.map(([code]) => code).sort());
    expect(Object.keys(SINCH_HTTP_ERRORS)).toEqual(['402', '403']);
    for (const { reason } of [...Object.values(SINCH_ERRORS), ...Object.values(SINCH_HTTP_ERRORS)]) expect(REASONS).toHaveProperty(reason);
  });

  test.each([
    [400, null, 'rejected', 'refused_by_provider'],
    [400, 'something_new', 'rejected', 'refused_by_provider'],
    [401, null, 'unavailable_auth', 'provider_auth'],
    [402, null, 'deferred', 'quota_exhausted'],
    [403, 'unknown_campaign', 'rejected', 'blocked_region'],
    [404, null, 'rejected', 'refused_by_provider'],
    [408, null, 'unknown', 'provider_error'],
    [429, null, 'deferred', 'rate_limited'],
    [500, 'syntax_invalid_json', 'unknown', 'provider_error'],
    [503, null, 'unknown', 'provider_error'],
    [303, null, 'unknown', 'answer_not_understood'],
    [400, 'constructor', 'rejected', 'refused_by_provider'],
  ])('HTTP %d with code %p is %s', (httpStatus, code, errorClass, reason) =>
    expect(meaningOfRefusal(httpStatus, code)).toEqual({ class: errorClass, reason }));
});
