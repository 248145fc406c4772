import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { ACCOUNT, apiUrl, AUTHORIZATION, EVENT, json, readApi, sendSms, setScenario, start, statusOf, stoppedClock } from './support.ts';

describe('the SMS provider of the sandbox', () => {
  let sandbox: RunningSandbox;
  let clock: ReturnType<typeof stoppedClock>;
  beforeEach(async () => {
    clock = stoppedClock();
    sandbox = await start({ now: clock.now });
  });
  afterEach(() => sandbox.close());

  const statusAfter = async (to: string, ...advances: number[]): Promise<unknown[]> => {
    const { sid } = await json(await sendSms(sandbox, { to }));
    const statuses: unknown[] = [];
    for (const ms of advances) {
      clock.advance(ms);
      statuses.push(await statusOf(sandbox, sid));
    }
    return statuses;
  };

  it('answers an accepted message in the shape of the API', async () => {
    const response = await sendSms(sandbox, { to: '+12025550150' });
    expect(response.status).toBe(201);
    expect(await json(response)).toMatchObject({
      sid: expect.stringMatching(/^SM[0-9a-f]{32}$/), account_sid: ACCOUNT.accountSid, status: 'queued', num_segments: '1', error_code: null,
      date_created: 'Tue, 15 Jan 2030 12:00:00 +0000', date_sent: null, direction: 'outbound-api', body: 'Server down', from: '+12025550199',
    });
    expect(sandbox.messages()).toMatchObject([{ channel: 'sms', to: '+12025550150', attempt_key: `${EVENT}.sms.1`, accepted_count: 1 }]);
  });

  it('counts segments by what the text needs', async () => {
    const segments = async (body: string): Promise<unknown> => (await json(await sendSms(sandbox, { to: '+12025550150', body }))).num_segments;
    expect([await segments('a'.repeat(160)), await segments('a'.repeat(161)), await segments('a'.repeat(307))]).toEqual(['1', '2', '3']);
    expect([await segments('€'.repeat(80)), await segments('€'.repeat(81)), await segments('Ж'.repeat(71))]).toEqual(['1', '2', '2']);
  });

  it('refuses what the API refuses, and records every refusal', async () => {
    const wrongToken = await sendSms(sandbox, { to: '+12025550150', authorization: 'Basic eDp5' });
    expect([wrongToken.status, (await json(wrongToken)).code]).toEqual([401, 20003]);
    expect(await json(await sendSms(sandbox, { to: '0150' }))).toMatchObject({ code: 21211, status: 400 });
    expect(await json(await sendSms(sandbox, { to: '+12025550150', body: '' }))).toMatchObject({ code: 21602 });
    expect(await json(await sendSms(sandbox, { to: '+12025550150', body: 'a'.repeat(1601) }))).toMatchObject({ code: 21617 });
    expect(sandbox.messages()).toEqual([]);
    expect(sandbox.refused().map(({ behaviour, error_code: code }) => [behaviour, code]))
      .toEqual([['invalid', 21617], ['invalid', 21602], ['invalid', 21211], ['unauthorized', 20003]]);
  });

  it('takes a content template by its id in place of a text, and shows what was asked for', async () => {
    const id = `HX${'0'.repeat(32)}`;
    const send = async (fields: Record<string, string>) => json(await fetch(apiUrl(sandbox, 'Messages.json'), {
      method: 'POST', headers: { authorization: AUTHORIZATION, 'tocsin-attempt-key': `${EVENT}.sms.1` }, body: new URLSearchParams({ To: '+12025550150', From: '+12025550199', ...fields }) }));
    expect(await send({ ContentSid: id, ContentVariables: '{"1":"A1"}' })).toMatchObject({ status: 'queued', body: `[${id}] {"1":"A1"}` });
    expect(await send({ ContentSid: id, Body: 'both' })).toMatchObject({ code: 35127 });
    expect(await send({ ContentVariables: '{}' })).toMatchObject({ code: 21654 });
  });

  it('delivers 0101, fails 0102, never confirms 0103, and confirms 0104 late', async () => {
    expect(await statusAfter('+12025550101', 0, 1_000, 1_000)).toEqual(['queued', 'sent', 'delivered']);
    expect(await statusAfter('+12025550102', 1_000, 2_000)).toEqual(['sent', 'undelivered']);
    expect(await statusAfter('+12025550103', 1_000, 86_000_000)).toEqual(['sent', 'sent']);
    expect(await statusAfter('+12025550104', 39_000, 1_000)).toEqual(['sent', 'delivered']);
  });

  it('rejects 0105 and throttles the first submission of each attempt to 0106', async () => {
    expect(await json(await sendSms(sandbox, { to: '+12025550105', key: 'another' }))).toMatchObject({ code: 21211, status: 400 });
    const first = await sendSms(sandbox, { to: '+12025550106' });
    expect([first.status, first.headers.get('retry-after'), (await json(first)).code]).toEqual([429, '1', 20429]);
    expect((await sendSms(sandbox, { to: '+12025550106' })).status).toBe(201);
    expect((await sendSms(sandbox, { to: '+12025550106', key: `${EVENT}.sms.2` })).status).toBe(429);
    expect(sandbox.messages()[0]?.submission_count).toBe(2);
  });

  it('accepts at 0107 without saying so; only the listing shows it', async () => {
    await expect(sendSms(sandbox, { to: '+12025550107', body: 'Look ABC123S1' })).rejects.toThrow();
    clock.advance(60_000);
    const page = await json(await readApi(sandbox, 'Messages.json?To=%2B12025550107&From=%2B12025550199&DateSent%3E=2030-01-15&PageSize=20'));
    expect(page).toMatchObject({ page: 0, page_size: 20, next_page_uri: null, messages: [{ status: 'sent', body: 'Look ABC123S1', to: '+12025550107' }] });
  });

  it('lists newest first, page by page, by recipient and by day', async () => {
    for (const body of ['one', 'two', 'three']) await sendSms(sandbox, { to: '+12025550150', body });
    await sendSms(sandbox, { to: '+12025550151', body: 'other' });
    const bodies = async (path: string): Promise<unknown> => ((await json(await readApi(sandbox, path))).messages as { body: string }[]).map(({ body }) => body);
    expect(await bodies('Messages.json')).toEqual(['other', 'three', 'two', 'one']);
    expect(await bodies('Messages.json?To=%2B12025550150&PageSize=2')).toEqual(['three', 'two']);
    expect(await bodies('Messages.json?To=%2B12025550150&PageSize=2&Page=1')).toEqual(['one']);
    expect(await bodies('Messages.json?DateSent=2030-01-14')).toEqual([]);
    expect(await bodies('Messages.json?DateSent%3E=2030-01-16')).toEqual([]);
    expect(await bodies('Messages.json?DateSent%3E=2030-01-15T11:59:58Z&PageSize=1')).toEqual(['other']);
  });

  it('knows a message only by its whole id', async () => {
    const { sid } = await json(await sendSms(sandbox, { to: '+12025550150' }));
    expect((await readApi(sandbox, `Messages/${String(sid).slice(0, 20)}.json`)).status).toBe(404);
    expect(await json(await readApi(sandbox, `Messages/SM${'0'.repeat(32)}.json`))).toMatchObject({ code: 20404, status: 404 });
  });

  it('plays submit steps one per submission and repeats the last', async () => {
    expect((await setScenario(sandbox, { to: '+12025550160', script: [
      { submit: 'throttle', retryAfter: 'Wed, 21 Oct 2015 07:28:00 GMT' }, { submit: 'fail', httpStatus: 503 }, { submit: 'reject', code: 21610 }, { submit: 'accept' },
    ] })).status).toBe(201);
    const answers = [];
    for (let turn = 0; turn < 5; turn += 1) answers.push(await sendSms(sandbox, { to: '+12025550160' }));
    expect(answers.map(({ status }) => status)).toEqual([429, 503, 400, 201, 201]);
    expect(answers[0]?.headers.get('retry-after')).toBe('Wed, 21 Oct 2015 07:28:00 GMT');
    expect(sandbox.duplicates()).toEqual([{ attempt_key: `${EVENT}.sms.1`, count: 2 }]);
  });

  it('can accept and fail, answer nonsense, hang, or drop the line', async () => {
    sandbox.setScenario('+12025550161', [{ submit: 'fail_after_accept', httpStatus: 502 }, { submit: 'nonsense', form: 'json_without_sid', httpStatus: 200 },
      { submit: 'nonsense', form: 'html' }, { submit: 'drop_before_read' }, { submit: 'hang' }]);
    const send = (signal?: AbortSignal) => sendSms(sandbox, { to: '+12025550161', ...(signal ? { signal } : {}) });
    expect((await send()).status).toBe(502);
    expect(await (await send()).json()).toEqual({ status: 'queued' });
    expect((await send()).headers.get('content-type')).toContain('text/html');
    await expect(send()).rejects.toThrow();
    const giveUp = new AbortController();
    const stop = sandbox.onReceipt(() => giveUp.abort());
    await expect(send(giveUp.signal)).rejects.toThrow('aborted');
    stop();
    expect([sandbox.messages().length, sandbox.refused().length]).toEqual([1, 4]);
  });

  it('plays statuses over time, also out of order, unrecognised and malformed', async () => {
    sandbox.setScenario('+12025550162', [{ status: 'sent', afterMs: 1_000 }, { status: 'sending', afterMs: 2_000 }, { status: 'teleported', afterMs: 3_000 },
      { status: 'undelivered', afterMs: 4_000, errorCode: 30003 }]);
    expect(await statusAfter('+12025550162', 0, 1_000, 1_000, 1_000, 1_000)).toEqual(['queued', 'sent', 'sending', 'teleported', 'undelivered']);
    sandbox.setScenario('+12025550162', [{ status: 'malformed' }]);
    const { sid } = await json(await sendSms(sandbox, { to: '+12025550162' }));
    await expect(readApi(sandbox, `Messages/${String(sid)}.json`).then(json)).rejects.toThrow();
  });

  it('can fail status reads, then not know the id, then know it, and hide it from the listing', async () => {
    sandbox.setScenario('+12025550163', [{ notFoundTimes: 2 }, { readFails: 1, httpStatus: 429, retryAfter: 7 }, { listed: false }]);
    const { sid } = await json(await sendSms(sandbox, { to: '+12025550163' }));
    const read = () => readApi(sandbox, `Messages/${String(sid)}.json`);
    const reads = [await read(), await read(), await read(), await read()];
    expect(reads.map(({ status }) => status)).toEqual([429, 404, 404, 200]);
    expect(reads[0]?.headers.get('retry-after')).toBe('7');
    expect((await json(await readApi(sandbox, 'Messages.json?To=%2B12025550163'))).messages).toEqual([]);
  });

  it('can fail the listing and show a message in it late', async () => {
    sandbox.setScenario('+12025550164', [{ readFails: 1, of: 'listing' }, { listed: true, afterMs: 5_000 }]);
    await sendSms(sandbox, { to: '+12025550164' });
    const list = () => readApi(sandbox, 'Messages.json?To=%2B12025550164');
    expect((await list()).status).toBe(500);
    expect((await json(await list())).messages).toEqual([]);
    clock.advance(5_000);
    expect((await json(await list())).messages).toHaveLength(1);
  });
});
