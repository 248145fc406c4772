import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { simpleParser } from 'mailparser';
import { composeMime } from '../../shared/content/mime.ts';
import fc from 'fast-check';
import { encodeQuotedPrintable } from '../../shared/content/quoted-printable.ts';
import { EVENT_ID } from './render-support.ts';

const base = {
  from: { name: 'Tocsin', address: 'notices@example.com' }, to: 'oncall-03@example.com', subject: 's', text: 't', html: '<p>h</p>',
  attemptKey: `${EVENT_ID}.email.1`, plannedAt: Date.UTC(2026, 10, 29, 10, 0, 0),
};

/** A reader of its own for the bodies: mailparser turns CRLF into LF, and here every byte counts. */
const bodiesOf = (mime: string): string[] => {
  const boundary = /boundary="([^"]+)"/.exec(mime)?.[1] as string;
  return mime.split(`\r\n--${boundary}`).slice(1, -1).map((part) => {
    const body = part.slice(part.indexOf('\r\n\r\n') + 4);
    const bytes = body.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_code, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    return Buffer.from(bytes, 'latin1').toString('utf8');
  });
};

const isValid = (text: string): boolean => !/\p{Surrogate}|\0/u.test(text);
const fromTickets = readFileSync(join(import.meta.dirname, '../cases/tickets.jsonl'), 'utf8').trim().split('\n')
  .map((line) => (JSON.parse(line) as { form: { message: string } }).form.message).filter(isValid);
const special = [
  '😀👩‍👩‍👧‍👦'.repeat(40), 'حسابي مسروق، الرجاء المساعدة '.repeat(20), 'x'.repeat(5_000), `${'word '.repeat(400)}`, 'no\u00a0break\u202e \u200b',
  'lone\rCR\r\rand\nLF\n\nand\r\nCRLF\r\n\r\n', 'tail \t', ' \r\n \r\n', '.\r\n..\r\n.', 'From me\r\nFrom you', `=_${EVENT_ID}.email.1`, `--=_${EVENT_ID}.email.1--`,
  '=3D =\r\n=', '\u0001\u0007\u001b[31m\u007f\u0085\u2028', `${'y'.repeat(75)}.z`, `${'y'.repeat(75)}From z`, '\ufeffbom', 'é'.repeat(300), '', 'a\n', '\n',
];

describe('a composed message', () => {
  it.each([...fromTickets, ...special])('carries the text %j byte for byte in both parts', async (text) => {
    const mime = composeMime({ ...base, text, html: text });
    expect(bodiesOf(mime)).toEqual([text, text]);
    // And a parser that is not ours reads the same, up to its own wish for LF (and for a line in an empty part).
    const parsed = await simpleParser(mime, { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true });
    if (text !== '') expect((parsed.text ?? '').replace(/\r\n/g, '\n')).toBe(text.replace(/\r\n/g, '\n'));
  });

  it('is pure ASCII in CRLF lines of at most 78 characters', () => {
    for (const text of [...fromTickets, ...special]) {
      const mime = composeMime({ ...base, text, html: text, subject: `S ${text.slice(0, 150)}` });
      expect(mime).toMatch(/^[\x20-\x7e\r\n\t]*$/);
      expect(mime.replace(/\r\n/g, '')).not.toMatch(/[\r\n]/);
      for (const line of mime.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
    }
  });

  it.each([
    'plain', 'Straße, Größe, „Anführung“', '課金したのにアイテムが届きません 😭😭😭 '.repeat(3).trim(), 'حسابي مسروق', 'looks =?utf-8?Q?encoded?= but is not',
    'a long but plain subject that has to be folded somewhere, because it is longer than one line may be in a header', 'w'.repeat(190),
    '=?UTF-8?B?DQpCY2M6IHhAZXhhbXBsZS5jb20=?=', 'one  two',
  ])('gives the subject %j back', async (subject) => {
    expect((await simpleParser(composeMime({ ...base, subject }))).subject).toBe(subject.replace(/ +/g, ' '));
  });

  it('cannot be given a header through a subject or a name', async () => {
    for (const evil of ['Re: crash\r\nBcc: everyone@example.com', 'x\nBcc: y@example.com', 'x\rBcc: y@example.com', 'x\u2028Bcc: y@example.com', 'x\u0085Bcc: y', '\r\n\r\nbody']) {
      const mime = composeMime({ ...base, subject: evil, from: { name: evil, address: 'notices@example.com' } });
      const parsed = await simpleParser(mime);
      expect([...parsed.headers.keys()].sort()).toEqual(['auto-submitted', 'content-type', 'date', 'from', 'message-id', 'mime-version', 'subject', 'to', 'tocsin-attempt-key']);
      expect(parsed.from?.value[0]?.address).toBe('notices@example.com');
      expect(parsed.text).toBe('t');
    }
  });

  it('names sender, receiver, attempt and instant', async () => {
    const parsed = await simpleParser(composeMime({ ...base, from: { name: 'Tocsin "Wächter"', address: 'notices@example.com' } }));
    expect(parsed.from?.value).toEqual([{ name: 'Tocsin "Wächter"', address: 'notices@example.com' }]);
    expect(parsed.messageId).toBe(`<${EVENT_ID}.email.1@example.com>`);
    expect(parsed.date?.getTime()).toBe(base.plannedAt);
    expect(parsed.headers.get('tocsin-attempt-key')).toBe(`${EVENT_ID}.email.1`);
    expect(parsed.headers.get('auto-submitted')).toBe('auto-generated');
  });
});

describe('quoted-printable', () => {
  it('keeps CRLF as a line break and codes what would not survive', () => {
    expect(encodeQuotedPrintable('a \r\n.b=\nc\rd\t')).toBe('a=20\r\n=2Eb=3D=0Ac=0Dd=09');
  });

  it('gives back every byte in lines of at most 76 characters, whether a line stands for itself or not', () => {
    const decode = (text: string): string => Buffer.from(text.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16))), 'latin1').toString('utf8');
    const line = fc.oneof(fc.string({ unit: 'binary', maxLength: 120 }), fc.string({ unit: 'grapheme-ascii', minLength: 70, maxLength: 80 }), fc.constantFrom('.', 'From x', 'x ', '=', ''));
    fc.assert(fc.property(fc.array(line, { maxLength: 5 }), (lines) => {
      const text = lines.join('\r\n');
      const encoded = encodeQuotedPrintable(text);
      expect(decode(encoded)).toBe(text);
      for (const one of encoded.split('\r\n')) expect(one).toMatch(/^(?![.F])[\x20-\x7e\t]{0,75}([^ \t])?$/);
    }), { numRuns: 1_000 });
  });
});
