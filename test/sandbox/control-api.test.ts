import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { EVENT, json, sendMail, sendSms, setOutage, setScenario, start } from './support.ts';

describe('the knobs of the sandbox', () => {
  let sandbox: RunningSandbox;
  beforeEach(async () => {
    sandbox = await start();
  });
  afterEach(() => sandbox.close());

  const get = async (path: string): Promise<Record<string, unknown>> => json(await fetch(`${sandbox.httpUrl}${path}`));
  const remove = (path: string): Promise<Response> => fetch(`${sandbox.httpUrl}${path}`, { method: 'DELETE' });

  it.each([
    ['to', { to: 'nobody', script: [{ submit: 'accept' }] }],
    ['script', { to: '+12025550150' }],
    ['script', { to: '+12025550150', script: [] }],
    ['script.1', { to: '+12025550150', script: [{ submit: 'accept' }, { sbumit: 'accept' }] }],
    ['script.0.submit', { to: '+12025550150', script: [{ submit: 'explode' }] }],
    ['script.0.afterMs', { to: '+12025550150', script: [{ status: 'delivered', afterMs: -1 }] }],
    ['script.0.code', { to: 'ada@example.com', script: [{ submit: 'reject', code: 21211 }] }],
    ['script.0.code', { to: '+12025550150', script: [{ submit: 'reject', code: 550 }] }],
    ['script.0.retryAfter', { to: '+12025550150', script: [{ submit: 'throttle', retryAfter: 'a\r\nb' }] }],
  ])('refuses a scenario that is wrong at %s, naming it', async (field, body) => {
    const response = await setScenario(sandbox, body);
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/problem+json; charset=utf-8']);
    expect(await json(response)).toMatchObject({ code: 'scenario_invalid', field, detail: expect.stringContaining(field) });
  });

  it('refuses a body that is not JSON', async () => {
    const response = await fetch(`${sandbox.httpUrl}/scenarios`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' });
    expect([response.status, (await json(response)).code]).toEqual([400, 'body_unreadable']);
  });

  it('lists scenarios with their use, for one, for the rest, and forgets them', async () => {
    await setScenario(sandbox, { to: 'sms:*', script: [{ submit: 'reject', code: 21614 }] });
    await setScenario(sandbox, { to: '+12025550150', script: [{ submit: 'accept' }] });
    expect((await sendSms(sandbox, { to: '+12025550150' })).status).toBe(201);
    expect((await sendSms(sandbox, { to: '+12025550151' })).status).toBe(400);
    expect(await get('/scenarios')).toMatchObject({ scenarios: [{ to: 'sms:*', submissions: 1 }, { to: '+12025550150', submissions: 1 }] });
    expect((await remove('/scenarios')).status).toBe(204);
    expect((await sendSms(sandbox, { to: '+12025550151' })).status).toBe(201);
  });

  it('shows what was received, duplicates by attempt and by event, and what was refused', async () => {
    await sendSms(sandbox, { to: '+12025550150' });
    await sendSms(sandbox, { to: '+12025550150' });
    await sendSms(sandbox, { to: '+12025550150', key: `${EVENT}.sms.2` });
    await sendSms(sandbox, { to: '+12025550105', key: 'other' });
    await sendMail(sandbox, { to: 'ada@example.com' });
    expect(await get('/messages')).toMatchObject({
      messages: [{ channel: 'email' }, { attempt_key: `${EVENT}.sms.2`, event_channel_count: 3 }, { accepted_count: 2 }, { submission_count: 2 }],
      refused: [{ to: '+12025550105', behaviour: 'reject', error_code: 21211, status: 'refused' }],
      duplicates: [{ attempt_key: `${EVENT}.sms.1`, count: 2 }], duplicate_events: [{ event_id: EVENT, channel: 'sms', count: 3 }],
      counts: { accepted: 4, refused: 1, sms: 3, email: 1, attempt_keys: 3, duplicate_attempt_keys: 1 },
    });
    expect((await get(`/messages?attempt_key=${EVENT}.sms.1`)).messages).toHaveLength(2);
    expect((await get('/messages?to=%2B12025550150&limit=1')).messages).toHaveLength(1);
    expect((await remove('/messages')).status).toBe(204);
    expect(await get('/messages')).toMatchObject({ messages: [], refused: [], counts: { accepted: 0 } });
  });

  it('shows the inbox as a page, with every text escaped and duplicates flagged', async () => {
    await sendSms(sandbox, { to: '+12025550150', body: '<script>alert(1)</script>' });
    await sendSms(sandbox, { to: '+12025550150', body: 'again' });
    const response = await fetch(`${sandbox.httpUrl}/`);
    const page = await response.text();
    expect(page).toContain('&lt;script&gt;alert(1)');
    expect(page.replace('<script src="/inbox.js" defer></script>', '')).not.toContain('<script');
    expect(page).toContain('duplicate: 2 with this attempt key');
    expect(page).toContain('+1 202 555 0107');
    expect(page.indexOf('again')).toBeLessThan(page.indexOf('alert'));
    expect(response.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(await (await fetch(`${sandbox.httpUrl}/?to=%22%3E%3Ci%3Ex&paused=1`)).text()).not.toContain('"><i>x');
    expect((await fetch(`${sandbox.httpUrl}/healthz`)).status).toBe(200);
  });

  it('takes the SMS provider away and back: failing, dropping, hanging', async () => {
    await setOutage(sandbox, { channel: 'sms', kind: 'error500' });
    expect((await sendSms(sandbox, { to: '+12025550150' })).status).toBe(500);
    await setOutage(sandbox, { channel: 'sms', kind: 'refuse' });
    await expect(sendSms(sandbox, { to: '+12025550150' })).rejects.toThrow();
    await setOutage(sandbox, { channel: 'sms', kind: 'hang' });
    const giveUp = new AbortController();
    sandbox.onReceipt(() => giveUp.abort());
    await expect(sendSms(sandbox, { to: '+12025550150', signal: giveUp.signal })).rejects.toThrow('aborted');
    await setOutage(sandbox, { channel: 'sms', kind: 'off' });
    expect((await sendSms(sandbox, { to: '+12025550150' })).status).toBe(201);
    expect(sandbox.messages()).toHaveLength(1);
  });

  it('takes the mail provider away and back', async () => {
    await setOutage(sandbox, { channel: 'email', kind: 'refuse' });
    await expect(sendMail(sandbox, { to: 'ada@example.com' })).rejects.toMatchObject({ responseCode: 421 });
    await setOutage(sandbox, { channel: 'email', kind: 'error500' });
    await expect(sendMail(sandbox, { to: 'ada@example.com' })).rejects.toMatchObject({ responseCode: 451 });
    await setOutage(sandbox, { channel: 'email', kind: 'closed' });
    await expect(sendMail(sandbox, { to: 'ada@example.com' })).rejects.toMatchObject({ code: 'ESOCKET' });
    await setOutage(sandbox, { channel: 'email', kind: 'off' });
    await sendMail(sandbox, { to: 'ada@example.com' });
    expect(sandbox.messages()).toHaveLength(1);
  });

  it('shuts the very port, so that connecting is refused, and opens it again', async () => {
    await sandbox.setOutage('sms', 'closed');
    await expect(sendSms(sandbox, { to: '+12025550150' })).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    await sandbox.setOutage('sms', 'off');
    expect((await sendSms(sandbox, { to: '+12025550150' })).status).toBe(201);
    const refused = await setOutage(sandbox, { channel: 'sms', kind: 'closed' });
    expect([refused.status, (await json(refused)).field]).toEqual([400, 'forMs']);
  });
});
