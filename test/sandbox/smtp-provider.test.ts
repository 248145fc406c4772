import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { EVENT, sendMail, start } from './support.ts';

describe('the mail provider of the sandbox', () => {
  let sandbox: RunningSandbox;
  beforeEach(async () => {
    sandbox = await start();
  });
  afterEach(() => sandbox.close());

  it('accepts a message and reads the attempt key from its Message-ID', async () => {
    expect(await sendMail(sandbox, { to: 'ada@example.com' })).toMatch(/^250 .*EM[0-9a-f]{32}/);
    expect(sandbox.messages()).toMatchObject([{
      channel: 'email', to: 'ada@example.com', from: 'tocsin@example.com', subject: 'Server <down>', text: expect.stringContaining('Please look'),
      html: expect.stringContaining('<p>'), attempt_key: `${EVENT}.email.1`, status: 'accepted', headers: { 'message-id': `<${EVENT}.email.1@example.com>` },
    }]);
  });

  it('refuses +05 at RCPT, naming the attempt where the envelope carries it', async () => {
    await expect(sendMail(sandbox, { to: 'ada+05@example.com', envid: `${EVENT}.email.1` })).rejects.toMatchObject({ responseCode: 550, response: expect.stringContaining('5.1.1'), command: 'RCPT TO' });
    expect(sandbox.refused()).toMatchObject([{ to: 'ada+05@example.com', attempt_key: `${EVENT}.email.1`, error_code: 550 }]);
  });

  it('puts +06 off once, then accepts', async () => {
    await expect(sendMail(sandbox, { to: 'ada+06@example.com' })).rejects.toMatchObject({ responseCode: 451 });
    await sendMail(sandbox, { to: 'ada+06@example.com' });
    expect(sandbox.messages()).toMatchObject([{ submission_count: 2, accepted_count: 1 }]);
    expect(sandbox.messages()[0]?.status).toBe('accepted');
  });

  it('keeps the message of +07 and drops the line before the answer', async () => {
    const lost = await sendMail(sandbox, { to: 'ada+07@example.com' }).catch((error: { responseCode?: number }) => error);
    expect(lost).toBeInstanceOf(Error);
    expect((lost as { responseCode?: number }).responseCode).toBeUndefined();
    expect(sandbox.messages()).toHaveLength(1);
  });

  it('drops the line before the data where the script says so', async () => {
    sandbox.setScenario('ada@example.com', [{ submit: 'drop_before_read' }, { submit: 'accept' }]);
    await expect(sendMail(sandbox, { to: 'Ada@Example.com' })).rejects.toThrow();
    expect([sandbox.messages().length, sandbox.refused().length]).toEqual([0, 1]);
    await sendMail(sandbox, { to: 'ada@example.com' });
    expect(sandbox.messages()).toHaveLength(1);
  });

  it('answers a scripted code at RCPT or after the data, accepts and fails, or talks nonsense', async () => {
    sandbox.setScenario('ada@example.com', [{ submit: 'reject', code: 554, enhanced: '5.7.1', at: 'data' }, { submit: 'throttle', code: 452, at: 'rcpt' },
      { submit: 'fail_after_accept', code: 451 }, { submit: 'nonsense', accepted: true }]);
    await expect(sendMail(sandbox, { to: 'ada@example.com' })).rejects.toMatchObject({ responseCode: 554, command: 'DATA' });
    await expect(sendMail(sandbox, { to: 'ada@example.com' })).rejects.toMatchObject({ responseCode: 452, command: 'RCPT TO' });
    await expect(sendMail(sandbox, { to: 'ada@example.com' })).rejects.toMatchObject({ responseCode: 451 });
    await expect(sendMail(sandbox, { to: 'ada@example.com' })).rejects.toThrow();
    expect([sandbox.messages().length, sandbox.refused().length]).toEqual([2, 2]);
  });

  it('can hang after the data until the client gives up', async () => {
    sandbox.setScenario('ada@example.com', [{ submit: 'hang', accepted: true }]);
    await expect(sendMail(sandbox, { to: 'ada@example.com', socketTimeout: 300 })).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(sandbox.messages()).toHaveLength(1);
  });

  it('keeps the good recipient of two when the other is refused at RCPT', async () => {
    await sendMail(sandbox, { to: ['ada+05@example.com', 'bob@example.com'] });
    expect(sandbox.messages().map(({ to }) => to)).toEqual(['bob@example.com']);
  });

  it('gives two submissions the same fingerprint exactly when their bytes agree', async () => {
    const raw = `Message-ID: <${EVENT}.email.1@example.com>\r\nSubject: Down\r\n\r\nPlease look\r\n`;
    await expect(sendMail(sandbox, { to: 'ada+06@example.com', raw })).rejects.toMatchObject({ responseCode: 451 });
    await sendMail(sandbox, { to: 'ada+06@example.com', raw });
    await sendMail(sandbox, { to: 'ada+06@example.com', raw: raw.replace('look', 'Look') });
    const [drifted, retried] = sandbox.messages();
    expect(retried?.content_sha256).toBe(sandbox.refused()[0]?.content_sha256);
    expect(drifted?.content_sha256).not.toBe(retried?.content_sha256);
  });
});
