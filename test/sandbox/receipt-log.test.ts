import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EVENT, json, sendMail, sendSms, start, statusOf } from './support.ts';

describe('the receipt log of the sandbox', () => {
  let folder: string;
  let receiptLogPath: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sandbox-log-'));
    receiptLogPath = join(folder, 'receipts.jsonl');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const lines = async (): Promise<{ receipt: Record<string, unknown> }[]> =>
    (await readFile(receiptLogPath, 'utf8')).trim().split('\n').map((line) => JSON.parse(line) as { receipt: Record<string, unknown> });

  it('holds every submission, accepted or refused, by the time it is answered', async () => {
    const sandbox = await start({ receiptLogPath });
    await sendSms(sandbox, { to: '+12025550105' });
    expect((await lines()).map(({ receipt }) => receipt.kind)).toEqual(['refused']);
    await sendSms(sandbox, { to: '+12025550107' }).catch(() => undefined);
    await sendMail(sandbox, { to: 'ada@example.com' });
    expect((await lines()).map(({ receipt }) => [receipt.kind, receipt.channel, receipt.attemptKey])).toEqual([
      ['refused', 'sms', `${EVENT}.sms.1`], ['accepted', 'sms', `${EVENT}.sms.1`], ['accepted', 'email', `${EVENT}.email.1`],
    ]);
    await sandbox.close();
  });

  it('holds every one of many that came at once', async () => {
    const sandbox = await start({ receiptLogPath });
    await Promise.all(Array.from({ length: 100 }, (_, index) => sendSms(sandbox, { to: '+12025550150', key: `k.sms.${index}` })));
    expect(new Set((await lines()).map(({ receipt }) => receipt.attemptKey)).size).toBe(100);
    await sandbox.close();
  });

  it('lets a restarted sandbox go on where the old one stopped, scripted fate included', async () => {
    const first = await start({ receiptLogPath });
    first.setScenario('+12025550150', [{ status: 'undelivered', errorCode: 30006 }]);
    const { sid } = await json(await sendSms(first, { to: '+12025550150' }));
    await first.close();
    // as a kill in mid-write leaves it
    await appendFile(receiptLogPath, '{"receipt":{"ki');
    const second = await start({ receiptLogPath });
    expect(await statusOf(second, sid)).toBe('undelivered');
    await sendSms(second, { to: '+12025550151' });
    expect(second.duplicates()).toEqual([{ attempt_key: `${EVENT}.sms.1`, count: 2 }]);
    await second.close();
    expect(await lines()).toHaveLength(2);
  });

  it('keeps cleared messages in the file and out of the inbox', async () => {
    const first = await start({ receiptLogPath });
    await sendSms(first, { to: '+12025550150' });
    await first.clearMessages();
    await first.close();
    const second = await start({ receiptLogPath });
    expect(second.messages()).toEqual([]);
    await second.close();
    expect(await lines()).toHaveLength(2);
  });

  it('refuses to start on a damaged log', async () => {
    await writeFile(receiptLogPath, 'not json\n{"cleared":true}\n');
    await expect(start({ receiptLogPath })).rejects.toThrow('line 1');
  });

  it('runs as a process of its own, says when it is ready, and ends on SIGTERM', async () => {
    const child = spawn(process.execPath, ['--import', 'tsx', 'services/sandbox/main.ts'], {
      env: { ...process.env, NODE_OPTIONS: '', SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: '0', SANDBOX_LOG: receiptLogPath }, stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    try {
      const [chunk] = await once(child.stdout, 'data') as [Buffer];
      const ready = JSON.parse(chunk.toString()) as { ready: boolean; http: string; smtp: string };
      expect(ready).toMatchObject({ ready: true, smtp: expect.stringMatching(/^smtp:/) });
      expect((await fetch(`${ready.http}/healthz`)).status).toBe(200);
    } finally {
      child.kill('SIGTERM');
    }
    expect(await exited).toEqual([0, null]);
  });
});
