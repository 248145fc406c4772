import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { composeMime } from '../../shared/content/mime.ts';
import { mailFieldsOf } from '../../shared/transports/resend/mail-fields.ts';

const KEY = 'evt_01KB7Y0000ABCDEFGHJKMNPQRS.email.1';
const mimeOf = (over: Partial<Parameters<typeof composeMime>[0]> = {}) => composeMime({
  from: { name: 'Tocsin', address: 'tocsin@example.com' }, to: 'a@example.com', subject: 'Login locked', text: 'Hello\r\nthere\r\n', html: '<p>Hello</p>',
  attemptKey: KEY, plannedAt: Date.UTC(2026, 10, 29), ...over,
});

describe('the fields of a composed message', () => {
  it('are sender, subject, both texts, and the headers that are no part of the form', () => {
    expect(mailFieldsOf(mimeOf())).toEqual({
      from: 'Tocsin <tocsin@example.com>', subject: 'Login locked', text: 'Hello\r\nthere\r\n', html: '<p>Hello</p>',
      headers: { 'Tocsin-Attempt-Key': KEY, 'Auto-Submitted': 'auto-generated' },
    });
  });

  it('give back whatever was composed, character for character', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 300 });
    fc.assert(fc.property(text, text, text, (subject, plain, html) => {
      const fields = mailFieldsOf(mimeOf({ subject: `s${subject}`, text: plain, html }));
      expect([fields?.text, fields?.html]).toEqual([plain, html]);
      // a header is one line: what would end it became a space when it was composed
      expect(fields?.subject).toBe(`s${subject}`.replace(/[\u0000-\u0020\u007f-\u009f\u2028\u2029]+/g, ' ').trim());
    }), { numRuns: 200 });
  });

  test.each([
    ['', 'tocsin@example.com'],
    ['Tocsin', 'Tocsin <tocsin@example.com>'],
    ['Tocsin, Inc. "T"', '"Tocsin, Inc. \\"T\\"" <tocsin@example.com>'],
    ['Störungsmeldung', 'Störungsmeldung <tocsin@example.com>'],
    ['Störung & Meldung: ein sehr langer Name, der über mehrere Wörter geht 😀', '"Störung & Meldung: ein sehr langer Name, der über mehrere Wörter geht 😀" <tocsin@example.com>'],
  ])('name the sender %j as people read it', (name, from) =>
    expect(mailFieldsOf(mimeOf({ from: { name, address: 'tocsin@example.com' } }))?.from).toBe(from));

  it('keep a header that was added, unfolded', () => {
    const mime = mimeOf().replace('MIME-Version', 'List-Unsubscribe:\r\n <https://example.com/unsubscribe/x>\r\nMIME-Version');
    expect(mailFieldsOf(mime)?.headers).toMatchObject({ 'List-Unsubscribe': '<https://example.com/unsubscribe/x>' });
  });

  test.each([
    ['no header end', 'Subject: x'],
    ['a plain body', 'From: a@example.com\r\nSubject: x\r\nContent-Type: text/plain\r\n\r\nhi\r\n'],
    ['a part missing', mimeOf().replace(/--=_[^\r]*\r\nContent-Type: text\/html[^]*?(?=--=_)/, '')],
    ['another encoding', mimeOf().replace('quoted-printable', 'base64')],
    ['a broken code', mimeOf({ text: 'a=b' }).replace('=3D', '=3')],
    ['raw 8-bit text', mimeOf().replace('Hello', 'Héllo')],
    ['an end that is not there', mimeOf().replace(/--\r\n$/, '')],
    ['a header that is none', mimeOf().replace('MIME-Version: 1.0', 'MIME-Version 1.0')],
    ['no sender', mimeOf().replace(/^From:.*\r\n .*\r\n/, '')],
  ])('are not guessed from a message with %s', (_name, mime) => expect(mailFieldsOf(mime)).toBeNull());
});
