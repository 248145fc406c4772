import { domainToASCII } from 'node:url';
import { encodeQuotedPrintable } from './quoted-printable.ts';

/** A mailbox: the name people see, and the bare address. */
export interface Mailbox { name: string; address: string }

export interface MimeInput {
  from: Mailbox;
  to: string;
  subject: string;
  text: string;
  html: string;
  /** Goes into Message-ID, boundary and `Tocsin-Attempt-Key`. */
  attemptKey: string;
  /** Becomes the Date. */
  plannedAt: number;
  /** What is before the `@` of the message that this one answers as far as a mail program can see: of those with the same it makes one conversation. */
  thread?: string;
  /** An https link for `List-Unsubscribe` with one click (RFC 8058). */
  unsubscribeUrl?: string;
  /** Attached in this order; only their names and types are written here. */
  attachments?: readonly { fileName: string; type: string }[];
}

/** A message, and where in it the base64 of each attachment belongs. */
export interface ComposedMail { mime: string; places: number[] }

const LINE = 76;
/** Bytes per encoded word: 39 make 52 characters of base64, and `Subject: =?UTF-8?B?…?=` stays within one line. */
const WORD_BYTES = 39;

/** Control characters and line separators end a header where nobody meant it to end; each run becomes one space. */
const oneLine = (text: string): string => text.replace(/[\u0000-\u0020\u007f-\u009f\u2028\u2029]+/g, ' ').trim();

/** RFC 2047 words of whole characters (a word may not split one), each on a line of its own. */
const encodedWords = (text: string): string => {
  const words: string[] = [];
  let word = '';
  for (const character of text) {
    if (Buffer.byteLength(word + character) > WORD_BYTES) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  return [...words, word].map((one) => `=?UTF-8?B?${Buffer.from(one, 'utf8').toString('base64')}?=`).join('\r\n ');
};

/** Folds at spaces; `start` is what the field's name takes of the first line. */
const folded = (text: string, start: number): string => {
  let used = start;
  return text.split(' ').reduce((lines, word, index) => {
    const breaks = index > 0 && used + 1 + word.length > LINE;
    used = breaks ? 1 + word.length : used + word.length + (index > 0 ? 1 : 0);
    return index === 0 ? word : `${lines}${breaks ? '\r\n ' : ' '}${word}`;
  }, '');
};

/** An unstructured value: as it is where it is plain ASCII that folds and cannot be mistaken for an encoded word. */
const unstructured = (text: string, start: number): string => {
  const line = oneLine(text);
  const isPlain = /^[\x20-\x7e]*$/.test(line) && !line.includes('=?') && line.split(' ').every((word) => word.length < LINE - start);
  return isPlain ? folded(line, start) : encodedWords(line);
};

const mailbox = ({ name, address }: Mailbox): string => {
  const line = oneLine(name);
  if (line === '') return address;
  const shown = /^[\x20-\x7e]{1,60}$/.test(line) && !line.includes('=?') ? `"${line.replace(/["\\]/g, '\\$&')}"` : encodedWords(line);
  return `${shown}\r\n <${address}>`;
};

/** The Date of RFC 5322, in UTC. */
const dateOf = (at: number): string => new Date(at).toUTCString().replace('GMT', '+0000');

const part = (type: string, body: string): string =>
  `Content-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${encodeQuotedPrintable(body)}\r\n`;

/**
 * Composes a whole message (RFC 5322, multipart/alternative, UTF-8, CRLF) out of its input alone: no clock, no randomness, so
 * the same attempt gives the same bytes whenever and wherever it is rendered. Composed here and not by a mail library, whose
 * next release could change a byte between the plan and the send of an attempt. `from.address`, `to` and `attemptKey` must be
 * checked before; subject and texts may hold anything.
 */
export const composeMime = (input: MimeInput): string => composeMail(input).mime;

const joined = (lines: readonly string[]): string => lines.join('\r\n');

/** The alternative inside of a multipart/mixed, and behind it the attachments with nothing in them yet. */
const withAttachments = (alternative: string, boundary: string, attachments: NonNullable<MimeInput['attachments']>): ComposedMail => {
  const places: number[] = [];
  let mime = joined([`Content-Type: multipart/mixed;\r\n boundary="${boundary}"`, '', `--${boundary}`, alternative, '']);
  for (const { fileName, type } of attachments) {
    mime += joined([`--${boundary}`, `Content-Type: ${type}; name="${fileName}"`, 'Content-Transfer-Encoding: base64', `Content-Disposition: attachment; filename="${fileName}"`, '', '']);
    places.push(mime.length);
    mime += '\r\n';
  }
  return { mime: `${mime}--${boundary}--\r\n`, places };
};

/** As `composeMime`, with places for attachments, whose bytes are put in as the message is sent. */
export const composeMail = ({ from, to, subject, text, html, attemptKey, plannedAt, thread, unsubscribeUrl, attachments = [] }: MimeInput): ComposedMail => {
  // Quoted-printable writes every `=` as `=3D`, so a boundary with `=_` can stand in no body.
  const boundary = `=_${attemptKey}`;
  const domain = domainToASCII(from.address.slice(from.address.lastIndexOf('@') + 1)) || 'localhost';
  const head = joined([
    `From: ${mailbox(from)}`,
    `To: ${to}`,
    `Subject: ${unstructured(subject, 'Subject: '.length)}`,
    `Message-ID: <${attemptKey}@${domain}>`,
    ...(thread === undefined ? [] : [`In-Reply-To: <${thread}@${domain}>`, `References: <${thread}@${domain}>`]),
    `Date: ${dateOf(plannedAt)}`,
    `Tocsin-Attempt-Key: ${attemptKey}`,
    'Auto-Submitted: auto-generated',
    ...(unsubscribeUrl === undefined ? [] : [`List-Unsubscribe: <${unsubscribeUrl}>`, 'List-Unsubscribe-Post: List-Unsubscribe=One-Click']),
    'MIME-Version: 1.0',
    '',
  ]);
  const alternative = joined([
    `Content-Type: multipart/alternative;\r\n boundary="${boundary}"`,
    '',
    `--${boundary}`,
    `${part('text/plain', text)}--${boundary}`,
    `${part('text/html', html)}--${boundary}--`,
    '',
  ]);
  if (attachments.length === 0) return { mime: head + alternative, places: [] };
  // Another beginning, not another end: a boundary that begins with the inner one would end it for a careless reader.
  const { mime, places } = withAttachments(alternative, `=_mixed_${attemptKey}`, attachments);
  return { mime: head + mime, places: places.map((at) => head.length + at) };
};
