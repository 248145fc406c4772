import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { SANDBOX_ACCOUNT, startSandboxFor } from '../support/sandbox-providers.ts';
import { EVENT, json, setScenario, stoppedClock } from './support.ts';

const KEY = `${EVENT}.email.1`;

describe('the emails API of the sandbox', () => {
  let sandbox: RunningSandbox;
  let clock: ReturnType<typeof stoppedClock>;
  beforeEach(async () => {
    clock = stoppedClock();
    sandbox = await startSandboxFor({ now: clock.now });
  });
  afterEach(() => sandbox.close());

  const authorization = `Bearer ${SANDBOX_ACCOUNT.resendApiKey}`;
  const post = (over: object = {}, { key = KEY, ...init }: RequestInit & { key?: string } = {}): Promise<Response> => fetch(`${sandbox.httpUrl}/emails`, {
    method: 'POST', headers: { authorization, 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({ from: 'Tocsin <b@example.com>', to: ['a@example.com'], subject: 'Down', text: 'Look', html: '<p>Look</p>', headers: { 'Auto-Submitted': 'auto-generated' }, ...over }),
    ...init,
  });
  const idOf = async (response: Promise<Response>): Promise<string> => String((await json(await response)).id);
  const eventOf = async (id: string): Promise<unknown> => (await json(await fetch(`${sandbox.httpUrl}/emails/${id}`, { headers: { authorization } }))).last_event;

  it('takes an email, records it under its key and tells what becomes of it', async () => {
    const id = await idOf(post());
    expect(sandbox.messages()).toMatchObject([{
      id, channel: 'email', to: 'a@example.com', subject: 'Down', text: 'Look', html: '<p>Look</p>', headers: { 'auto-submitted': 'auto-generated' }, attempt_key: KEY, accepted_count: 1,
    }]);
    const events = [];
    for (const ms of [0, 1_000, 1_000]) {
      clock.advance(ms);
      events.push(await eventOf(id));
    }
    expect(events).toEqual(['queued', 'sent', 'delivered']);
  });

  it('tells of memorable addresses what their digits say', async () => {
    const last = async (address: string) => {
      const id = await idOf(post({ to: [address] }, { key: address }));
      clock.advance(10_000);
      return eventOf(id);
    };
    expect([await last('a+01@example.com'), await last('a+02@example.com'), await last('a+03@example.com'), await last('a+04@example.com')])
      .toEqual(['delivered', 'bounced', 'sent', 'sent']);
    const refused = await post({ to: ['a+05@example.com'] }, { key: '5' });
    expect([refused.status, (await json(refused)).name]).toEqual([422, 'validation_error']);
    const throttled = await post({ to: ['a+06@example.com'] }, { key: '6' });
    expect([throttled.status, throttled.headers.get('retry-after'), (await json(throttled)).name]).toEqual([429, '1', 'rate_limit_exceeded']);
    expect((await post({ to: ['a+06@example.com'] }, { key: '6' })).status).toBe(200);
    await expect(post({ to: ['a+07@example.com'] }, { key: '7' })).rejects.toThrow();
  });

  it('answers the same request again with the first id and sends nothing more', async () => {
    const first = await idOf(post());
    expect(await idOf(post())).toBe(first);
    expect(sandbox.messages()).toHaveLength(1);
    expect(sandbox.messages()[0]?.submission_count).toBe(2);
    expect(sandbox.refused()).toMatchObject([{ behaviour: 'replayed' }]);
    expect(sandbox.duplicates()).toEqual([]);
  });

  it('answers also where the first answer was lost', async () => {
    await setScenario(sandbox, { to: 'a@example.com', script: [{ submit: 'lose_response' }] });
    await expect(post()).rejects.toThrow();
    expect(await idOf(post())).toBe(sandbox.messages()[0]?.id);
    expect(sandbox.messages()).toHaveLength(1);
  });

  it('refuses a key for another body, and one whose first request is not over', async () => {
    await post();
    const other = await post({ subject: 'Up' });
    expect([other.status, (await json(other)).name]).toEqual([409, 'invalid_idempotent_request']);
    await setScenario(sandbox, { to: 'a@example.com', script: [{ submit: 'hang', accepted: true }] });
    const giveUp = new AbortController();
    const taken = new Promise<void>((resolve) => { sandbox.onReceipt((receipt) => { if (receipt.behaviour === 'hang') resolve(); }); });
    const hanging = post({}, { key: 'slow', signal: giveUp.signal }).catch(() => null);
    await taken;
    const meanwhile = await post({}, { key: 'slow' });
    expect([meanwhile.status, (await json(meanwhile)).name]).toEqual([409, 'concurrent_idempotent_requests']);
    giveUp.abort();
    await hanging;
  });

  it('keeps no key of what it did not take, and a key no longer than 24 hours', async () => {
    await setScenario(sandbox, { to: 'a@example.com', script: [{ submit: 'throttle' }, { submit: 'accept' }] });
    expect((await post()).status).toBe(429);
    const first = await idOf(post());
    clock.advance(24 * 3_600_000 - 1);
    expect(await idOf(post())).toBe(first);
    clock.advance(1);
    expect(await idOf(post())).not.toBe(first);
    expect(sandbox.duplicates()).toEqual([{ attempt_key: KEY, count: 2 }]);
  });

  it('remembers its keys after a restart on its log', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
    try {
      const receiptLogPath = join(folder, 'receipts.jsonl');
      await sandbox.close();
      sandbox = await startSandboxFor({ now: clock.now, receiptLogPath });
      const first = await idOf(post());
      await sandbox.close();
      sandbox = await startSandboxFor({ now: clock.now, receiptLogPath });
      expect(await idOf(post())).toBe(first);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('refuses what the API refuses', async () => {
    expect((await post({}, { headers: { authorization: 'Bearer other', 'content-type': 'application/json' } })).status).toBe(403);
    expect(await json(await post({ to: ['nobody'] }))).toMatchObject({ statusCode: 422, name: 'validation_error' });
    expect((await post({}, { body: '{' })).status).toBe(422);
    expect((await json(await post({}, { key: 'k'.repeat(257) }))).name).toBe('invalid_idempotency_key');
    expect((await fetch(`${sandbox.httpUrl}/emails/${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}`, { headers: { authorization } })).status).toBe(404);
    expect(sandbox.messages()).toEqual([]);
  });

  it('shares outages with the mail server', async () => {
    await sandbox.setOutage('email', 'error500');
    expect((await post()).status).toBe(500);
    for (const kind of ['refuse', 'closed'] as const) {
      await sandbox.setOutage('email', kind);
      await expect(post()).rejects.toThrow();
    }
    await sandbox.setOutage('email', 'off');
    expect((await post()).status).toBe(200);
    expect(sandbox.messages()).toHaveLength(1);
  });
});
