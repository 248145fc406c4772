import { describe, expect, it, test } from '@jest/globals';
import { REASONS } from '../../shared/domain/reasons.ts';
import { TWILIO_ERRORS, meaningOfInnerError, meaningOfRefusal } from '../../shared/transports/twilio/error-table.ts';
import { messageOf } from '../../shared/transports/twilio/message-resource.ts';
import { TWILIO_STATUSES, meaningOfMessage } from '../../shared/transports/twilio/status-table.ts';

const NOW = Date.UTC(2026, 0, 10);
const meaningOf = (resource: object) => {
  const message = messageOf(resource);
  if (!message) throw new Error('not a resource');
  return meaningOfMessage(message, NOW);
};

describe('Twilio statuses', () => {
  const rows: [string, object | null][] = [
    ['accepted', { outcome: 'pending', reason: null }],
    ['scheduled', { outcome: 'pending', reason: null }],
    ['queued', { outcome: 'pending', reason: null }],
    ['sending', { outcome: 'pending', reason: null }],
    ['sent', { outcome: 'accepted', reason: null }],
    ['delivered', { outcome: 'delivered', reason: null }],
    ['read', { outcome: 'delivered', reason: null }],
    ['undelivered', { outcome: 'undelivered', reason: 'carrier_failed' }],
    ['failed', { outcome: 'rejected', reason: 'refused_by_provider' }],
    ['canceled', { outcome: 'rejected', reason: 'cancelled_at_provider' }],
    ['partially_delivered', { outcome: 'unknown', reason: null }],
    ['receiving', null],
    ['received', null],
  ];
  test.each(rows)('%s', (status, meaning) => expect(meaningOf({ status })).toEqual(meaning));

  it('has no row without a test', () => expect(Object.keys(TWILIO_STATUSES).sort()).toEqual(rows.map(([status]) => status).sort()));

  test.each(rows)('%s with error 21610 is suppressed', (status) =>
    expect(meaningOf({ status, error_code: 21610 })).toEqual({ outcome: 'suppressed', reason: 'opted_out' }));

  test.each(['', 'teleported', 'Delivered', 'constructor', '__proto__'])('%j is not recognised', (status) =>
    expect(meaningOf({ status })).toEqual({ outcome: 'unknown', reason: 'status_not_recognised' }));

  it('gives the reason of the error code to a failure, and of an unknown code the general one', () => {
    expect(meaningOf({ status: 'failed', error_code: 30006 })).toEqual({ outcome: 'rejected', reason: 'invalid_destination' });
    expect(meaningOf({ status: 'undelivered', error_code: '30007' })).toEqual({ outcome: 'undelivered', reason: 'content_refused' });
    expect(meaningOf({ status: 'undelivered', error_code: 30099 })).toEqual({ outcome: 'undelivered', reason: 'carrier_failed' });
  });

  it('says of a message sent more than 72 hours ago that no more news is likely', () => {
    expect(meaningOf({ status: 'sent', date_sent: 'Tue, 06 Jan 2026 23:59:59 +0000' })).toEqual({ outcome: 'accepted', reason: 'no_longer_updated' });
    expect(meaningOf({ status: 'sent', date_sent: 'Thu, 08 Jan 2026 00:00:00 +0000' })).toEqual({ outcome: 'accepted', reason: null });
  });
});

describe('Twilio errors', () => {
  const rows: [number, string, string][] = [
    [21211, 'rejected', 'invalid_destination'],
    [21614, 'rejected', 'invalid_destination'],
    [30005, 'rejected', 'invalid_destination'],
    [30006, 'rejected', 'invalid_destination'],
    [21610, 'suppressed', 'opted_out'],
    [21408, 'rejected', 'blocked_region'],
    [20429, 'deferred', 'rate_limited'],
    [30001, 'deferred', 'quota_exhausted'],
    [20003, 'unavailable_auth', 'provider_auth'],
    [30002, 'unavailable_account', 'provider_account'],
    [30007, 'rejected', 'content_refused'],
    [30034, 'rejected', 'content_refused'],
    [21602, 'rejected', 'content_refused'],
    [21617, 'rejected', 'content_refused'],
    [30036, 'rejected', 'message_expired_at_provider'],
    [20500, 'unknown', 'provider_error'],
  ];
  test.each(rows)('%d in a 400 and inside a 200', (code, errorClass, reason) => {
    expect(meaningOfRefusal(400, code)).toEqual({ class: errorClass, reason });
    expect(meaningOfInnerError(null, code)).toEqual({ class: errorClass, reason });
    expect(meaningOfInnerError(400, code)).toEqual({ class: errorClass, reason });
  });

  it('has no row without a test and no reason outside the list', () => {
    expect(Object.keys(TWILIO_ERRORS)).toEqual(rows.map(([code]) => String(code)).sort());
    for (const { reason } of Object.values(TWILIO_ERRORS)) expect(REASONS).toHaveProperty(reason);
  });

  test.each([
    [400, null, 'rejected', 'refused_by_provider'],
    [400, 99999, 'rejected', 'refused_by_provider'],
    [401, null, 'unavailable_auth', 'provider_auth'],
    [403, null, 'rejected', 'refused_by_provider'],
    [404, 20404, 'rejected', 'refused_by_provider'],
    [408, null, 'unknown', 'provider_error'],
    [429, null, 'deferred', 'rate_limited'],
    [429, 30001, 'deferred', 'quota_exhausted'],
    [500, 21211, 'unknown', 'provider_error'],
    [503, null, 'unknown', 'provider_error'],
    [301, null, 'unknown', 'answer_not_understood'],
    [307, 21211, 'unknown', 'answer_not_understood'],
  ])('HTTP %d with code %p is %s', (httpStatus, code, errorClass, reason) =>
    expect(meaningOfRefusal(httpStatus, code)).toEqual({ class: errorClass, reason }));
});
