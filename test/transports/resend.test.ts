import { afterEach, beforeEach, describe, expect, it, test } from '@jest/globals';
import { composeMime } from '../../shared/content/mime.ts';
import { createResendTransport } from '../../shared/transports/resend/client.ts';
import type { TestServer } from './http-server.ts';
import { json, startHttpServer } from './http-server.ts';
import { UNUSABLE_IDS } from './unusable-ids.ts';

const NOW = Date.UTC(2026, 10, 29, 12, 0, 0);
const KEY = 'evt_01KB7Y0000ABCDEFGHJKMNPQRS.email.1';
const mime = composeMime({
  from: { name: 'Tocsin', address: 'tocsin@example.com' }, to: 'a@example.com', subject: 'Störung – bitte ansehen', text: 'Ünlocked?\n', html: '<p>=ja</p>',
  attemptKey: KEY, plannedAt: NOW,
});
const MESSAGE = { channel: 'email', to: 'a@example.com', from: 'tocsin@example.com', mime } as const;
const submission = { attemptKey: KEY, message: MESSAGE, mayStart: () => true };

let server: TestServer;
let resend: ReturnType<typeof createResendTransport>;
beforeEach(async () => {
  server = await startHttpServer(json(200, { id: 'E1' }));
  resend = createResendTransport({ baseUrl: server.url, token: 're_secret', timeoutMs: 2_000, now: () => NOW });
});
afterEach(async () => {
  await resend.close();
  await server.close();
});

describe('submitting to Resend', () => {
  it('posts the message as fields under the attempt key as idempotency key, and is accepted under its id', async () => {
    expect(await resend.submit(submission)).toMatchObject({ kind: 'accepted', providerMessageId: 'E1', raw: { httpStatus: 200 } });
    const [post] = server.received;
    expect(post).toMatchObject({ method: 'POST', url: '/emails' });
    expect(post?.headers).toMatchObject({ authorization: 'Bearer re_secret', 'idempotency-key': KEY, 'tocsin-attempt-key': KEY, 'user-agent': 'tocsin' });
    expect(JSON.parse(post?.body ?? '')).toEqual({
      from: 'Tocsin <tocsin@example.com>', to: ['a@example.com'], subject: 'Störung – bitte ansehen', text: 'Ünlocked?\n', html: '<p>=ja</p>',
      headers: { 'Tocsin-Attempt-Key': KEY, 'Auto-Submitted': 'auto-generated' },
    });
  });

  it('posts the same bytes each time the attempt is submitted', async () => {
    await resend.submit(submission);
    await resend.submit(submission);
    const [first, second] = server.received;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['idempotency-key']).toBe(first?.headers['idempotency-key']);
  });

  it('sends nothing where the message is not one that was composed here, and says so', async () => {
    const other = { ...MESSAGE, mime: 'Subject: x\r\n\r\nhi\r\n' };
    expect(await resend.submit({ ...submission, message: other })).toEqual({ kind: 'rejected', outcome: 'rejected', reason: 'render_error' });
    expect(server.received).toHaveLength(0);
  });

  const error = (httpStatus: number, name: string, headers = {}) => json(httpStatus, { statusCode: httpStatus, name, message: 'no' }, headers);
  test.each([
    ['a bad address', error(422, 'validation_error'), { kind: 'rejected', outcome: 'rejected', reason: 'invalid_destination', raw: { code: 'validation_error' } }],
    ['a domain that is not verified', error(403, 'validation_error'), { kind: 'provider_unavailable', reason: 'provider_account' }],
    ['a bad key', error(403, 'invalid_api_key'), { kind: 'provider_unavailable', reason: 'provider_auth' }],
    ['429 with a wish', error(429, 'rate_limit_exceeded', { 'Retry-After': '7' }), { kind: 'deferred', reason: 'rate_limited', retryAfterMs: 7_000 }],
    ['a used-up quota', error(429, 'daily_quota_exceeded'), { kind: 'deferred', reason: 'quota_exhausted', retryAfterMs: null }],
    ['the key in use at this moment', error(409, 'concurrent_idempotent_requests'), { kind: 'deferred', reason: 'provider_temporary' }],
    ['the key used for another body', error(409, 'invalid_idempotent_request'), { kind: 'rejected', outcome: 'rejected', reason: 'idempotency_conflict' }],
    ['an unknown 4xx', error(418, 'teapot'), { kind: 'rejected', reason: 'refused_by_provider', raw: { code: 'teapot' } }],
    ['500', error(500, 'application_error'), { kind: 'unknown', reason: 'provider_error' }],
    ['200 without an id', json(200, {}), { kind: 'unknown', reason: 'answer_without_id' }],
    ['200 with an error of a server that failed', json(200, { statusCode: 500, name: 'validation_error' }), { kind: 'unknown', reason: 'provider_error' }],
    ['200 with an unknown 4xx inside', json(200, { statusCode: 418, name: 'teapot' }), { kind: 'rejected', reason: 'refused_by_provider' }],
    ['200 with an error that nobody knows', json(200, { name: 'teapot' }), { kind: 'rejected', reason: 'refused_by_provider', raw: { code: 'teapot' } }],
    ['200 with an error that nobody knows, and an email', json(200, { id: 'E1', name: 'teapot' }), { kind: 'unknown', reason: 'answer_not_understood' }],
    ['200 with an error that denies its email', json(200, { id: 'E1', statusCode: 422, name: 'validation_error' }), { kind: 'rejected', reason: 'invalid_destination' }],
    ['200 with a limit and an email: its key drops a duplicate', json(200, { id: 'E1', statusCode: 429, name: 'rate_limit_exceeded' }), { kind: 'deferred', reason: 'rate_limited' }],
    ['200 with an error inside', json(200, { statusCode: 422, name: 'validation_error', message: 'no' }), { kind: 'rejected', reason: 'invalid_destination' }],
    ['a redirect', json(307, {}, { Location: '/elsewhere' }), { kind: 'unknown', reason: 'answer_not_understood' }],
    ['a JSON list', json(200, []), { kind: 'unknown', reason: 'answer_not_understood' }],
  ])('%s', async (_name, answer, result) => {
    server.answerWith(answer);
    expect(await resend.submit(submission)).toMatchObject(result);
    expect(server.received).toHaveLength(1);
  });

  test.each(UNUSABLE_IDS)('a success under the id %j is one without an id: nothing of it is kept as it is', async (id) => {
    server.answerWith(json(200, { id }));
    const result = await resend.submit(submission);
    expect(result).toMatchObject({ kind: 'unknown', reason: 'answer_without_id' });
    expect(result).not.toHaveProperty('providerMessageId');
  });
});

describe('reading a status from Resend', () => {
  const request = { attemptKey: KEY, providerMessageId: 'E1', to: MESSAGE.to };
  const email = (over: object = {}) => json(200, { object: 'email', id: 'E1', html: 'x'.repeat(100_000), last_event: 'delivered', ...over });
  test.each([
    ['delivered', email(), { kind: 'observed', outcome: 'delivered', reason: null, raw: { httpStatus: 200, code: 'delivered' } }],
    ['delayed', email({ last_event: 'delivery_delayed' }), { kind: 'observed', outcome: 'accepted' }],
    ['complained', email({ last_event: 'complained' }), { kind: 'observed', outcome: 'delivered', reason: 'opted_out' }],
    ['bounced, which also corrects a delivery', email({ last_event: 'bounced' }), { kind: 'observed', outcome: 'undelivered', laterBounce: true }],
    ['suppressed', email({ last_event: 'suppressed' }), { kind: 'observed', outcome: 'suppressed', reason: 'opted_out' }],
    ['a new word', email({ last_event: 'teleported' }), { kind: 'observed', outcome: 'unknown', reason: 'status_not_recognised', raw: { code: 'teleported' } }],
    ['another email', email({ id: 'E12' }), { kind: 'read_failed', reason: 'answer_not_understood' }],
    ['no event', email({ last_event: null }), { kind: 'read_failed', reason: 'answer_not_understood' }],
    ['404', json(404, { name: 'not_found' }), { kind: 'not_found' }],
    ['429', json(429, {}, { 'Retry-After': '2' }), { kind: 'read_failed', reason: 'rate_limited', retryAfterMs: 2_000 }],
    ['a key that may only send', json(401, { name: 'restricted_api_key' }), { kind: 'read_failed', reason: 'provider_auth' }],
    ['422', json(422, { name: 'validation_error' }), { kind: 'read_failed', reason: 'read_failed' }],
    ['503', json(503, {}), { kind: 'read_failed', reason: 'provider_error' }],
  ])('%s', async (_name, answer, reading) => {
    server.answerWith(answer);
    expect(await resend.readStatus(request)).toMatchObject(reading);
    expect(server.received[0]).toMatchObject({ method: 'GET', url: '/emails/E1' });
  });

  it('keeps nothing of the message beside its event', async () => {
    server.answerWith(email());
    expect(JSON.stringify(await resend.readStatus(request))).not.toContain('xxx');
  });
});
