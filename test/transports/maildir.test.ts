import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readDeliveryReport } from '../../shared/transports/smtp/delivery-report.ts';
import { readNewMail } from '../../shared/transports/smtp/maildir.ts';

test('a folder or a pipe among the new mails holds up none of them', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-maildir-'));
  await Promise.all(['new', 'cur', 'tmp'].map((name) => mkdir(join(folder, name))));
  await mkdir(join(folder, 'new', '1-folder'));
  execFileSync('mkfifo', [join(folder, 'new', '2-pipe')]);
  await Promise.all(['0', '3'].map((name) => writeFile(join(folder, 'new', name), `mail ${name}`)));
  const handled: string[] = [];
  expect(await readNewMail(folder, (raw) => Promise.resolve(void handled.push(raw.toString())))).toBe(2);
  expect([handled, await readdir(join(folder, 'cur')), (await readdir(join(folder, 'new'))).sort()]).toEqual([['mail 0', 'mail 3'], ['0:2,S', '3:2,S'], ['1-folder', '2-pipe']]);
  await rm(folder, { recursive: true });
});

const many = `Content-Type: multipart/report; report-type=delivery-status; boundary="x"\r\n\r\n${'--x\r\nContent-Type: text/plain\r\n\r\na\r\n'.repeat(1_500)}--x--\r\n`;
const long = `From: a@example.com\r\n${`X-A: ${'y'.repeat(900)}\r\n`.repeat(3_000)}\r\nhi`;
test.each([['more parts than the parser takes', many], ['a longer header than it takes', long]])('a mail of %s is no report, and fails nothing', async (_what, mail) => {
  expect(await readDeliveryReport(Buffer.from(mail))).toBeNull();
});
