import { afterEach, beforeEach, describe, expect, it, test } from '@jest/globals';
import { createSinchTransport } from '../../shared/transports/sinch/client.ts';
import type { TestServer } from './http-server.ts';
import { json, startHttpServer } from './http-server.ts';
import { UNUSABLE_IDS } from './unusable-ids.ts';

const NOW = Date.UTC(2026, 10, 29, 12, 0, 0);
const KEY = 'evt_01KB7Y0000ABCDEFGHJKMNPQRS.sms.1';
const MESSAGE = { channel: 'sms', to: '+12025550101', from: '+12025550199', text: 'Server down & "out"' } as const;
const submission = { attemptKey: KEY, message: MESSAGE, mayStart: () => true };

let server: TestServer;
let sinch: ReturnType<typeof createSinchTransport>;
beforeEach(async () => {
  server = await startHttpServer(json(201, { id: 'B1', canceled: false }));
  sinch = createSinchTransport({ baseUrl: `${server.url}/`, planId: 'plan 1', token: 'secret', timeoutMs: 2_000, now: () => NOW });
});
afterEach(async () => {
  await sinch.close();
  await server.close();
});

describe('submitting to Sinch', () => {
  it('posts one batch for one recipient with the attempt key as its reference, and is accepted under its id', async () => {
    expect(await sinch.submit(submission)).toMatchObject({ kind: 'accepted', providerMessageId: 'B1', raw: { httpStatus: 201 } });
    const [post] = server.received;
    expect(server.received).toHaveLength(1);
    expect(post).toMatchObject({ method: 'POST', url: '/xms/v1/plan%201/batches' });
    expect(post?.headers).toMatchObject({ authorization: 'Bearer secret', 'content-type': 'application/json', 'tocsin-attempt-key': KEY });
    expect(JSON.parse(post?.body ?? '')).toEqual({
      from: MESSAGE.from, to: [MESSAGE.to], body: MESSAGE.text, type: 'mt_text', delivery_report: 'full', client_reference: KEY,
    });
  });

  test.each([
    ['a bad number', json(400, { code: 'syntax_invalid_parameter_format', text: 'no' }), { kind: 'rejected', outcome: 'rejected', reason: 'invalid_destination', raw: { code: 'syntax_invalid_parameter_format' } }],
    ['a region that is not enabled', json(403, { code: 'forbidden' }), { kind: 'rejected', reason: 'blocked_region' }],
    ['an unknown 4xx', json(418, { code: 'teapot' }), { kind: 'rejected', reason: 'refused_by_provider', raw: { code: 'teapot' } }],
    ['429 with a wish', json(429, {}, { 'Retry-After': '7' }), { kind: 'deferred', reason: 'rate_limited', retryAfterMs: 7_000 }],
    ['429 with a date', json(429, {}, { 'Retry-After': 'Sun, 29 Nov 2026 12:00:09 GMT' }), { kind: 'deferred', retryAfterMs: 9_000 }],
    ['402', json(402, {}), { kind: 'deferred', reason: 'quota_exhausted', retryAfterMs: null }],
    ['401', json(401, {}), { kind: 'provider_unavailable', reason: 'provider_auth' }],
    ['500', json(500, {}), { kind: 'unknown', reason: 'provider_error' }],
    ['201 without an id', json(201, { canceled: false }), { kind: 'unknown', reason: 'answer_without_id' }],
    ['201 with an error inside', json(201, { code: 'syntax_constraint_violation' }), { kind: 'rejected', reason: 'content_refused' }],
    ['201 with an error that denies its batch', json(201, { id: 'B1', code: 'syntax_constraint_violation' }), { kind: 'rejected', reason: 'content_refused' }],
    ['201 with an error that nobody knows', json(201, { code: 'a_new_one' }), { kind: 'rejected', reason: 'refused_by_provider', raw: { code: 'a_new_one' } }],
    ['201 with an error that nobody knows, and a batch', json(201, { id: 'B1', code: 'a_new_one' }), { kind: 'unknown', reason: 'answer_not_understood', raw: { code: 'a_new_one' } }],
    ['201 with an error that nobody knows, and a batch whose id cannot be kept', json(201, { id: '+12025550101', code: 'a_new_one' }), { kind: 'unknown', reason: 'answer_not_understood' }],
    ['201 that is cancelled already, of which some may be under way', json(201, { id: 'B1', canceled: true }), { kind: 'accepted', providerMessageId: 'B1' }],
    ['201 that is cancelled already and has no id', json(201, { canceled: true }), { kind: 'unknown', reason: 'answer_without_id' }],
    ['a redirect', json(307, {}, { Location: '/elsewhere' }), { kind: 'unknown', reason: 'answer_not_understood' }],
    ['a JSON list', json(201, []), { kind: 'unknown', reason: 'answer_not_understood' }],
    ['a body that is too long', json(201, { id: 'B1', x: 'x'.repeat(70_000) }), { kind: 'unknown', reason: 'answer_not_understood' }],
  ])('%s', async (_name, answer, result) => {
    server.answerWith(answer);
    expect(await sinch.submit(submission)).toMatchObject(result);
    expect(server.received).toHaveLength(1);
  });

  test.each(UNUSABLE_IDS)('a success under the id %j is one without an id: nothing of it is kept as it is', async (id) => {
    server.answerWith(json(201, { id }));
    const result = await sinch.submit(submission);
    expect(result).toMatchObject({ kind: 'unknown', reason: 'answer_without_id' });
    expect(result).not.toHaveProperty('providerMessageId');
  });
});

describe('reading a status from Sinch', () => {
  const request = { attemptKey: KEY, providerMessageId: 'B1', to: MESSAGE.to };
  const report = (over: object = {}) => json(200, { batch_id: 'B1', recipient: '12025550101', code: 0, status: 'Delivered', ...over });
  test.each([
    ['delivered', report(), { kind: 'observed', outcome: 'delivered', reason: null, raw: { code: 'Delivered' } }],
    ['dispatched', report({ status: 'Dispatched' }), { kind: 'observed', outcome: 'accepted' }],
    ['a new word', report({ status: 'Teleported' }), { kind: 'observed', outcome: 'unknown', reason: 'status_not_recognised' }],
    ['a number with its plus', report({ recipient: '+12025550101' }), { kind: 'observed', outcome: 'delivered' }],
    ['another batch', report({ batch_id: 'B12' }), { kind: 'read_failed', reason: 'answer_not_understood' }],
    ['another recipient', report({ recipient: '120255501012' }), { kind: 'read_failed', reason: 'answer_not_understood' }],
    ['no status', report({ status: null }), { kind: 'read_failed', reason: 'answer_not_understood' }],
    ['404', json(404, {}), { kind: 'not_found' }],
    ['429', json(429, {}, { 'Retry-After': '2' }), { kind: 'read_failed', reason: 'rate_limited', retryAfterMs: 2_000 }],
    ['401', json(401, {}), { kind: 'read_failed', reason: 'provider_auth' }],
    ['403', json(403, {}), { kind: 'read_failed', reason: 'read_failed' }],
    ['503', json(503, {}), { kind: 'read_failed', reason: 'provider_error' }],
  ])('%s', async (_name, answer, reading) => {
    server.answerWith(answer);
    expect(await sinch.readStatus(request)).toMatchObject(reading);
    expect(server.received[0]).toMatchObject({ method: 'GET', url: '/xms/v1/plan%201/batches/B1/delivery_report/12025550101' });
  });

  test.each([
    ['a final status', { statuses: [{ status: 'Failed', count: 1 }] }, { kind: 'observed', outcome: 'undelivered' }],
    ['no final status yet', { statuses: [] }, { kind: 'observed', outcome: 'pending' }],
    ['more than one', { statuses: [{ status: 'Failed' }, { status: 'Delivered' }] }, { kind: 'read_failed', reason: 'answer_not_understood' }],
    ['none at all', {}, { kind: 'read_failed', reason: 'answer_not_understood' }],
  ])('of the batch where the number has been erased: %s', async (_name, body, reading) => {
    server.answerWith(json(200, { batch_id: 'B1', ...body }));
    expect(await sinch.readStatus({ ...request, to: '' })).toMatchObject(reading);
    expect(server.received[0]?.url).toBe('/xms/v1/plan%201/batches/B1/delivery_report?type=full');
  });
});

describe('looking a message up at Sinch', () => {
  const request = { attemptKey: KEY, reference: 'NPQRSS1', to: MESSAGE.to, from: MESSAGE.from, submissionStartedAt: NOW };
  const batch = (over: object = {}) => ({ id: 'B1', client_reference: KEY, canceled: false, ...over });
  const page = (batches: object[], count = batches.length) => json(200, { count, page: 0, page_size: batches.length, batches });

  it('asks by the reference, further back than the default day, and finds the one batch', async () => {
    server.answerWith(page([batch()]));
    expect(await sinch.lookUp(request)).toEqual({ kind: 'found', providerMessageId: 'B1', outcome: 'pending', reason: null, raw: { httpStatus: 200 } });
    const query = Object.fromEntries(new URL(server.received[0]?.url ?? '', server.url).searchParams);
    expect(query).toEqual({ client_reference: KEY, start_date: '2026-11-28T12:00:00.000Z', page: '0', page_size: '30' });
  });

  test.each([
    ['a longer reference', { client_reference: `${KEY}1` }], ['another case', { client_reference: KEY.toLowerCase() }], ['no reference', { client_reference: undefined }],
  ])('does not take a batch with %s for ours', async (_name, over) => {
    server.answerWith(page([batch(over)]));
    expect(await sinch.lookUp(request)).toEqual({ kind: 'none' });
  });

  test.each([...UNUSABLE_IDS.map((id) => batch({ id })), batch({ id: undefined }), null, 'B1'])('does not call ours absent because it is listed as %j: what may be ours and cannot be named claims nothing', async (listed) => {
    server.answerWith(page([listed as object]));
    expect(await sinch.lookUp(request)).toMatchObject({ kind: 'read_failed', reason: 'answer_not_understood' });
  });

  it('counts several, but one batch listed twice once', async () => {
    server.answerWith(page([batch(), batch({ id: 'B2' }), batch()]));
    expect(await sinch.lookUp(request)).toEqual({ kind: 'several', matches: 2 });
  });

  it('claims nothing of a cancelled batch: what was under way may still arrive, and its report tells', async () => {
    server.answerWith(page([batch({ canceled: true })]));
    expect(await sinch.lookUp(request)).toMatchObject({ kind: 'found', providerMessageId: 'B1', outcome: 'pending', reason: null });
  });

  it('reads on over pages', async () => {
    server.answerWith((seen, response) => (seen.url.includes('page=1') ? page([batch()], 31) : page(Array.from({ length: 30 }, (_none, at) => batch({ id: `X${at}`, client_reference: 'other' })), 31))(seen, response));
    expect(await sinch.lookUp(request)).toMatchObject({ kind: 'found', providerMessageId: 'B1' });
    expect(server.received).toHaveLength(2);
  });

  test.each([
    ['a listing without end', page([batch()], 1_000_000), 'read_failed'],
    ['fewer than announced', page([], 3), 'answer_not_understood'],
    ['no count', json(200, { batches: [] }), 'answer_not_understood'],
    ['no list', json(200, { count: 0, batches: 'none' }), 'answer_not_understood'],
    ['404', json(404, {}), 'not_found'],
    ['500', json(500, {}), 'provider_error'],
  ])('claims nothing from %s', async (_name, answer, reason) => {
    server.answerWith(answer);
    expect(await sinch.lookUp(request)).toMatchObject({ kind: 'read_failed', reason });
  });
});
