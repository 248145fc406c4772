import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { startSandbox } from '../../services/sandbox/sandbox.ts';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { ArtifactError } from '../../shared/content/artifacts/artifact-store.ts';
import { composeMail, composeMime } from '../../shared/content/mime.ts';
import { mailPieces, mailSize } from '../../shared/transports/mail-body.ts';
import type { EmailMessage } from '../../shared/transports/mail-body.ts';
import type { OpenArtifact } from '../../shared/transports/transport.ts';
import { SANDBOX_ACCOUNT } from '../support/sandbox-providers.ts';
import { EVERY_SUBJECT } from './subjects.ts';

const KEY = 'evt_01KB7Y0000ABCDEFGHJKMNPQRS.email.1';
const input = (to: string) => ({ from: { name: 'Tocsin', address: 'b@example.com' }, to, subject: 'report', text: 'hello\n', html: '<p>"content":""</p>', attemptKey: KEY, plannedAt: 0 });
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const messageWith = (bytes: Buffer, to: string): EmailMessage => {
  const { mime, places } = composeMail({ ...input(to), attachments: [{ fileName: 'report.pdf', type: 'application/pdf' }] });
  return { channel: 'email', to, from: 'b@example.com', mime, attachments: [{ artifact: 'art_1', sha256: sha256(bytes), bytes: bytes.length, at: places[0] as number }] };
};
/** In pieces that fit no line. */
const from = (bytes: Buffer, failAt = Infinity): OpenArtifact => async function* () {
  for (let at = 0; at < bytes.length; at += 10_007) {
    if (at >= failAt) throw new ArtifactError('artifact_damaged', 'chunk');
    yield bytes.subarray(at, at + 10_007);
  }
};
const whole = async (message: EmailMessage, open: OpenArtifact): Promise<Buffer> => {
  const pieces: Buffer[] = [];
  for await (const piece of mailPieces(message, open)) pieces.push(piece);
  return Buffer.concat(pieces);
};

describe('a message with an attachment', () => {
  test.each([0, 1, 56, 57, 58, 113, 114, 45_600, 45_601, 200_003])('is exactly as long as was said beforehand, with %d bytes attached, in lines of 76', async (size) => {
    const bytes = randomBytes(size);
    const message = messageWith(bytes, 'a@example.com');
    const text = await whole(message, from(bytes));
    expect(text.length).toBe(mailSize(message));
    const body = /filename="report\.pdf"\r\n\r\n([^]*?)\r\n--=_mixed_/.exec(text.toString('latin1'))?.[1] as string;
    expect(Buffer.from(body, 'base64').equals(bytes)).toBe(true);
    expect(body.split('\r\n').slice(0, -1).every((line) => line.length === 76)).toBe(true);
  });

  it('is the same without attachments as it always was', () => {
    expect(composeMail(input('a@example.com'))).toEqual({ mime: composeMime(input('a@example.com')), places: [] });
    expect(composeMime(input('a@example.com'))).not.toContain('mixed');
  });
});

describe.each(EVERY_SUBJECT.filter(({ channel }) => channel === 'email').map((subject) => [subject.title, subject] as const))('an attachment by %s', (_name, subject) => {
  let sandbox: RunningSandbox;
  let count = 0;
  beforeAll(async () => { sandbox = await startSandbox({ httpPort: 0, smtpPort: 0, ...SANDBOX_ACCOUNT }); });
  afterAll(() => sandbox.close());
  const received = async (to: string) => ((await (await fetch(`${sandbox.httpUrl}/messages?to=${encodeURIComponent(to)}`)).json()) as { messages: { attachments?: object[]; content_sha256: string; text: string }[]; counts: { accepted: number; refused: number } });

  it('arrives with the checksum it was stored with, and the same bytes on every retry', async () => {
    const transport = subject.inSandbox(sandbox, 20_000);
    const bytes = randomBytes(3_000_001);
    const submit = (to: string) => transport.submit({ attemptKey: KEY, message: messageWith(bytes, to), mayStart: () => true, openArtifact: from(bytes) });
    expect(await submit('twice@example.com')).toMatchObject({ kind: 'accepted' });
    expect(await submit('twice@example.com')).toMatchObject({ kind: 'accepted' });
    const { messages } = await received('twice@example.com');
    expect(messages[0]?.attachments).toEqual([{ name: 'report.pdf', type: 'application/pdf', bytes: bytes.length, sha256: sha256(bytes) }]);
    expect(messages[0]?.text).toMatch(/^hello/);
    if (subject.name === 'smtp') expect(new Set(messages.map((one) => one.content_sha256)).size).toBe(1);
    // A key that comes again with another body would have been refused.
    else expect(messages).toHaveLength(1);
    await transport.close();
  });

  test.each<[string, (bytes: Buffer) => OpenArtifact | undefined, string]>([
    ['damaged in its middle', (bytes) => from(bytes, 1_000_000), 'artifact_damaged'],
    ['damaged at its beginning', (bytes) => from(bytes, 0), 'artifact_damaged'],
    ['shorter than was planned', (bytes) => from(bytes.subarray(0, -1)), 'artifact_damaged'],
    ['longer than was planned', (bytes) => from(Buffer.concat([bytes, bytes])), 'artifact_damaged'],
    ['not there', () => () => { throw new ArtifactError('artifact_missing', 'gone'); }, 'artifact_missing'],
    ['to be had from nowhere', () => undefined, 'artifact_missing'],
  ])('that is %s is broken off: the provider has nothing of it, and the next message passes', async (what, open, reason) => {
    const transport = subject.inSandbox(sandbox, 20_000);
    const to = `${what.replaceAll(' ', '-')}@example.com`;
    const bytes = randomBytes(2_000_000);
    count += 1;
    const before = (await received(to)).counts;
    const openArtifact = open(bytes);
    expect(await transport.submit({ attemptKey: KEY.replace('01KB7Y', '01KB7Z'), message: messageWith(bytes, to), mayStart: () => true, ...(openArtifact ? { openArtifact } : {}) })).toEqual({ kind: 'unsendable', reason });
    expect(await transport.submit({ attemptKey: `evt_${String(count).padStart(26, '0')}.email.1`, message: { ...messageWith(bytes, `next-${to}`) }, mayStart: () => true, openArtifact: from(bytes) })).toMatchObject({ kind: 'accepted' });
    const after = await received(to);
    expect(after.messages).toEqual([]);
    expect([after.counts.accepted - before.accepted, after.counts.refused - before.refused]).toEqual([1, 0]);
    await transport.close();
  });

  it('takes its own limit where the request brings one, and no longer', async () => {
    const transport = subject.inSandbox(sandbox, 20_000);
    const stuck: OpenArtifact = async function* () {
      yield randomBytes(1_000);
      await new Promise(() => undefined);
    };
    const result = await transport.submit({ attemptKey: KEY, message: messageWith(randomBytes(5_000), 'slow@example.com'), mayStart: () => true, openArtifact: stuck, limitMs: 1_000 });
    // Its end never left, so the provider has nothing whole.
    expect(result).toMatchObject({ kind: 'deferred', reason: 'reset_before_write' });
    await transport.close();
  });
});
