import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { json, readApi, sendSms, start } from './support.ts';

const PERSON = '+12025550103';

describe('texting back in the sandbox', () => {
  let sandbox: RunningSandbox;
  beforeEach(async () => { sandbox = await start(); });
  afterEach(() => sandbox.close());
  const post = (body: unknown): Promise<Response> => fetch(`${sandbox.httpUrl}/inbound`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const page = async (query = ''): Promise<string> => (await fetch(`${sandbox.httpUrl}/${query}`)).text();

  it('answers the newest message to that number, and shows the text to both APIs and on the page', async () => {
    expect((await sendSms(sandbox, { to: PERSON })).status).toBe(201);
    const answer = await post({ from: PERSON, text: 'STOP' });
    expect([answer.status, await json(answer)]).toEqual([201, expect.objectContaining({ from: PERSON, to: '+12025550199', text: 'STOP' })]);
    const { messages } = await json(await readApi(sandbox, `Messages.json?${new URLSearchParams({ To: '+12025550199', 'DateSent>': '2020-01-01' }).toString()}`)) as { messages: Record<string, unknown>[] };
    expect(messages).toEqual([expect.objectContaining({ direction: 'inbound', from: PERSON, to: '+12025550199', body: 'STOP', status: 'received' })]);
    expect(await page()).toContain(`<strong>${PERSON}</strong> STOP`);
    expect((await json(await fetch(`${sandbox.httpUrl}/inbound`))).inbound).toHaveLength(1);
    await fetch(`${sandbox.httpUrl}/messages`, { method: 'DELETE' });
    expect((await json(await fetch(`${sandbox.httpUrl}/inbound`))).inbound).toEqual([]);
  });

  it('is a form on the page of one number, which needs no script and leads back to it', async () => {
    await sendSms(sandbox, { to: PERSON });
    expect(await page()).not.toContain('action="/inbound"');
    const shown = await page(`?to=${encodeURIComponent(PERSON)}`);
    expect(shown).toContain(`<form method="post" action="/inbound"><input type="hidden" name="from" value="${PERSON}">`);
    const answer = await fetch(`${sandbox.httpUrl}/inbound`, { method: 'POST', body: new URLSearchParams({ from: PERSON, text: '<b>' }), redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `/?to=${encodeURIComponent(PERSON)}`]);
    expect(await page(`?to=${encodeURIComponent(PERSON)}`)).toContain('&lt;b&gt;');
    expect(await page('?to=%2B12025550104')).not.toContain('&lt;b&gt;');
  });

  it.each([['from', { text: 'x' }], ['from', { from: 'Ada', text: 'x' }], ['text', { from: PERSON, text: '' }], ['to', { from: PERSON, text: 'x' }]])('refuses a text that is wrong at %s', async (field, body) => {
    const answer = await post(body);
    expect([answer.status, await json(answer)]).toEqual([400, expect.objectContaining({ code: 'inbound_invalid', field })]);
  });
});
