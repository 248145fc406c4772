import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openThreadedTransports } from '../../shared/transports/threaded/open-threaded.ts';
import type { Asked } from '../../shared/transports/threaded/thread.ts';
import { openCallThread, startWorker } from '../../shared/transports/threaded/thread.ts';
import { systemMs } from '../../shared/transports/threaded/words.ts';
import type { SubmitRequest, Transport } from '../../shared/transports/transport.ts';
import type { TestServer } from './http-server.ts';
import { json, startHttpServer, startTcpServer } from './http-server.ts';
import { submission, THREADED } from './subjects.ts';

const LIMIT_MS = 5_000;
const settingsFor = (httpUrl: string, smtpUrl = 'smtp://127.0.0.1:1') =>
  ({ sms: { name: 'twilio', baseUrl: httpUrl, accountSid: 'AC1', authToken: 't' }, email: { name: 'smtp', url: smtpUrl }, timeoutMs: LIMIT_MS, now: () => 0 }) as const;
const [text01, mail01] = THREADED.map(({ message }) => message('01')) as [SubmitRequest['message'], SubmitRequest['message']];
const accepted = json(201, { sid: 'SM1', status: 'queued', to: '+12025550101', from: '+12025550199', body: 'hello' });

describe('calls in a thread of their own', () => {
  let provider: TestServer;
  const workers: Worker[] = [];
  const starting: typeof startWorker = (told) => {
    const worker = startWorker(told);
    workers.push(worker);
    return worker;
  };
  const openSms = (now = () => 0): Transport => openThreadedTransports(['sms'], { ...settingsFor(provider.url), now }, starting)[0];
  beforeEach(async () => {
    workers.length = 0;
    provider = await startHttpServer(accepted);
  });
  afterEach(() => provider.close());

  it('throw where the thread ends under them, for nothing is known of them, and the next one starts another thread', async () => {
    const sms = openSms();
    const reached = new Promise<void>((resolve) => provider.answerWith(() => resolve()));
    const lost = sms.submit(submission(text01));
    await reached;
    await workers[0]?.terminate();
    await expect(lost).rejects.toMatchObject({ name: 'CallThreadEnded', code: 'EXIT_1' });
    provider.answerWith(accepted);
    expect(await sms.submit(submission(text01))).toMatchObject({ kind: 'accepted', providerMessageId: 'SM1' });
    expect([workers.length, provider.received.length]).toEqual([2, 2]);
    await sms.close();
  });

  it('throw where an answer of the thread cannot be read, and that thread is ended', async () => {
    const sms = openSms();
    const reached = new Promise<void>((resolve) => provider.answerWith(() => resolve()));
    const lost = sms.submit(submission(text01));
    await reached;
    const [worker] = workers as [Worker];
    const ended = once(worker, 'exit');
    worker.emit('messageerror', Object.assign(new Error('not readable'), { code: 'ERR_UNREADABLE' }));
    await expect(lost).rejects.toMatchObject({ name: 'CallThreadEnded', code: 'ERR_UNREADABLE' });
    await ended;
    await sms.close();
  });

  it('tell by a code why their thread could not be started', async () => {
    const { now, ...transports } = settingsFor(provider.url);
    const start: typeof startWorker = () => new Worker(new URL('file:///no-such-thread.js'));
    const thread = openCallThread({ settings: { channels: ['sms'], transports, killAt: null }, aheadMs: now, start });
    await expect(thread.call({ method: 'readStatus', channel: 'sms', request: { attemptKey: 'k', providerMessageId: 'SM1', to: '' } })).rejects.toMatchObject({ name: 'CallThreadEnded', code: 'MODULE_NOT_FOUND' });
  });

  it('are not made once the fence has passed while they waited for the server, by the clock of the machine', async () => {
    const FENCE_MS = 3_000;
    const startsBy = systemMs() + FENCE_MS;
    const seen: string[] = [];
    let leftMs = 0;
    const server = await startTcpServer((socket) => {
      leftMs = startsBy - systemMs();
      setTimeout(() => socket.write('220 hello\r\n'), leftMs + 50);
      socket.on('data', (chunk) => {
        seen.push(chunk.toString('latin1'));
        if (seen.length === 1) socket.write('250 hello\r\n');
      });
    });
    const [email] = openThreadedTransports(['email'], settingsFor(provider.url, `smtp://127.0.0.1:${server.port}`));
    expect(await email.submit(submission(mail01, () => true, startsBy - systemMs()))).toEqual({ kind: 'abandoned', reason: 'start_too_late' });
    expect(leftMs).toBeGreaterThan(0);
    expect(seen.join('')).toMatch(/^EHLO/);
    await email.close();
    expect(seen.join('')).not.toContain('MAIL FROM');
    await server.close();
  });

  it('reckon with the clock of the thread that asks: a date in an answer is measured against it', async () => {
    const now = Date.UTC(2031, 0, 1);
    provider.answerWith(json(429, { code: 20429 }, { 'Retry-After': new Date(now + 60_000).toUTCString() }));
    const sms = openSms(() => now);
    const result = await sms.submit(submission(text01));
    expect(result).toMatchObject({ kind: 'deferred' });
    // the machine's clock went on while the call was under way
    const { retryAfterMs } = result as { retryAfterMs: number };
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(retryAfterMs).toBeGreaterThan(60_000 - LIMIT_MS);
    await sms.close();
  });

  it('that are under way are waited for by closing, and both channels share one thread', async () => {
    const [sms, email] = openThreadedTransports(['sms', 'email'], settingsFor(provider.url), starting);
    let answer: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => provider.answerWith((request, response) => {
      answer = () => accepted(request, response);
      resolve();
    }));
    const call = sms.submit(submission(text01));
    await reached;
    const closing = Promise.all([email.close(), sms.close()]);
    answer();
    expect(await call).toMatchObject({ kind: 'accepted' });
    await closing;
    expect(workers.map(({ threadId }) => threadId)).toEqual([-1]);
  });

  it('that cannot be copied throw, and cost the thread nothing', async () => {
    const { now, ...transports } = settingsFor(provider.url);
    const thread = openCallThread({ settings: { channels: ['sms'], transports, killAt: null }, aheadMs: now, start: starting });
    const status = { attemptKey: 'k', providerMessageId: 'SM1', to: '' };
    await expect(thread.call({ method: 'readStatus', channel: 'sms', request: { ...status, more: () => 1 } } as Asked)).rejects.toThrow('could not be cloned');
    expect(await thread.call({ method: 'readStatus', channel: 'sms', request: status })).toMatchObject({ kind: 'observed' });
    await thread.end();
    await thread.end();
    expect(workers).toHaveLength(1);
  });

  it('keep no process alive that has nothing else to do', async () => {
    const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('./idle-thread-main.ts', import.meta.url)), provider.url], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect([said, code]).toEqual(['observed\n', 0]);
  });
});
