import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { SANDBOX_ACCOUNT, startSandboxFor } from '../support/sandbox-providers.ts';
import { EVENT, json, setScenario, stoppedClock } from './support.ts';

const KEY = `${EVENT}.sms.1`;
const { sinchPlanId, sinchToken } = SANDBOX_ACCOUNT;

describe('the batches API of the sandbox', () => {
  let sandbox: RunningSandbox;
  let clock: ReturnType<typeof stoppedClock>;
  beforeEach(async () => {
    clock = stoppedClock();
    sandbox = await startSandboxFor({ now: clock.now });
  });
  afterEach(() => sandbox.close());

  const call = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${sandbox.httpUrl}/xms/v1/${sinchPlanId}/${path}`, { ...init, headers: { authorization: `Bearer ${sinchToken}`, 'content-type': 'application/json', ...init.headers } });
  const post = (over: object = {}, init: RequestInit = {}): Promise<Response> => call('batches', {
    method: 'POST', body: JSON.stringify({ from: '+12025550199', to: ['+12025550150'], body: 'Server down', type: 'mt_text', client_reference: KEY, ...over }), ...init,
  });
  const read = async (path: string) => json(await call(path));

  it('answers an accepted batch in the shape of the API, and records it under its reference', async () => {
    const response = await post();
    expect(response.status).toBe(201);
    expect(await json(response)).toMatchObject({
      id: expect.stringMatching(/^01[0-9A-F]{24}$/), to: ['12025550150'], from: '12025550199', body: 'Server down', canceled: false, client_reference: KEY,
      created_at: '2030-01-15T12:00:00.000Z',
    });
    expect(sandbox.messages()).toMatchObject([{ channel: 'sms', to: '+12025550150', attempt_key: KEY, accepted_count: 1, segments: 1 }]);
  });

  it('refuses what the API refuses, and records every refusal', async () => {
    expect((await post({}, { headers: { authorization: 'Bearer other' } })).status).toBe(401);
    expect(await json(await post({ to: ['0150'] }))).toMatchObject({ code: 'syntax_invalid_parameter_format' });
    expect(await json(await post({ to: ['+12025550150', '+12025550151'] }))).toMatchObject({ code: 'syntax_invalid_parameter_format' });
    expect(await json(await post({ body: '' }))).toMatchObject({ code: 'syntax_constraint_violation' });
    expect(await json(await post({}, { body: '{' }))).toMatchObject({ code: 'syntax_invalid_json' });
    expect(sandbox.messages()).toEqual([]);
    expect(sandbox.refused().map(({ behaviour }) => behaviour)).toEqual(['invalid', 'invalid', 'invalid', 'unauthorized']);
    expect((await fetch(`${sandbox.httpUrl}/xms/v1/another-plan/batches`, { headers: { authorization: `Bearer ${sinchToken}` } })).status).toBe(401);
  });

  it('reports a recipient at every stage, and the batch only at the end', async () => {
    const { id } = await json(await post());
    const seen: unknown[] = [];
    for (const ms of [0, 1_000, 1_000]) {
      clock.advance(ms);
      const recipient = await read(`batches/${String(id)}/delivery_report/12025550150`);
      const { statuses } = await read(`batches/${String(id)}/delivery_report?type=full`);
      seen.push([recipient.status, recipient.code, statuses]);
    }
    expect(seen).toEqual([['Queued', 400, []], ['Dispatched', 401, []], ['Delivered', 0, [{ code: 0, status: 'Delivered', count: 1, recipients: ['12025550150'] }]]]);
    expect((await call(`batches/${String(id)}/delivery_report/12025550151`)).status).toBe(404);
    expect((await call(`batches/${String(id).slice(0, 20)}/delivery_report/12025550150`)).status).toBe(404);
  });

  it('says scripted statuses in its own words', async () => {
    const words: unknown[] = [];
    for (const step of [{ status: 'undelivered' }, { status: 'failed' }, { status: 'canceled' }, { status: 'expired' }, { status: 'undelivered', errorCode: 21610 }, { status: 'teleported' }]) {
      await setScenario(sandbox, { to: '+12025550150', script: [step] });
      const { id } = await json(await post());
      words.push((await read(`batches/${String(id)}/delivery_report/12025550150`)).status);
    }
    expect(words).toEqual(['Failed', 'Rejected', 'Cancelled', 'Expired', 'Deleted', 'Teleported']);
  });

  it('lists by reference, newest first, page by page, and only the last day unless told otherwise', async () => {
    await post({ client_reference: 'other' });
    await post();
    const second = await json(await post());
    const listed = async (query: object) => {
      const page = await read(`batches?${new URLSearchParams({ ...query }).toString()}`);
      return [page.count, (page.batches as { id: string }[]).map(({ id }) => id)] as const;
    };
    expect((await listed({}))[0]).toBe(3);
    expect(await listed({ client_reference: KEY, page_size: '1' })).toEqual([2, [second.id]]);
    expect((await listed({ client_reference: KEY, page_size: '1', page: '1' }))[1]).not.toContain(second.id);
    expect(await listed({ client_reference: KEY.slice(0, -1) })).toEqual([0, []]);
    clock.advance(25 * 3_600_000);
    expect((await listed({ client_reference: KEY }))[0]).toBe(0);
    expect((await listed({ client_reference: KEY, start_date: '2030-01-15T00:00:00Z' }))[0]).toBe(2);
  });

  it('can fail a listing, and show a batch in it late', async () => {
    await setScenario(sandbox, { to: '+12025550150', script: [{ submit: 'lose_response' }, { readFails: 1, of: 'listing', httpStatus: 429, retryAfter: 5 }, { listed: true, afterMs: 5_000 }] });
    await expect(post()).rejects.toThrow();
    const first = await call(`batches?client_reference=${KEY}`);
    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '5']);
    expect(await read(`batches?client_reference=${KEY}`)).toMatchObject({ count: 0 });
    clock.advance(5_000);
    expect(await read(`batches?client_reference=${KEY}`)).toMatchObject({ count: 1 });
  });

  it('shares outages with the other SMS provider', async () => {
    await sandbox.setOutage('sms', 'error500');
    expect((await post()).status).toBe(500);
    expect((await call('batches')).status).toBe(500);
    await sandbox.setOutage('sms', 'refuse');
    await expect(post()).rejects.toThrow();
    await sandbox.setOutage('sms', 'off');
    expect((await post()).status).toBe(201);
  });
});
