/** A composed message as the fields a JSON API wants. The same message gives the same fields, in the same order. */
export interface MailFields {
  from: string;
  subject: string;
  text: string;
  html: string;
  /** What the message says beside that, under the names it uses. */
  headers: Record<string, string>;
  /** The files attached, in the message's order; their bytes are not in the text. */
  files?: { name: string; type: string }[];
}

type Header = [name: string, value: string];
interface Entity { headers: Header[]; body: string }

/** Said by other fields, by the body's form, or written by the provider itself. */
const NOT_PASSED_ON = new Set(['from', 'to', 'subject', 'date', 'message-id', 'mime-version', 'content-type', 'content-transfer-encoding']);

const entityOf = (text: string): Entity | null => {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const lines = text.slice(0, end).replace(/\r\n(?=[ \t])/g, '').split('\r\n');
  const headers = lines.map((line): Header | null => {
    const colon = line.indexOf(':');
    return colon > 0 ? [line.slice(0, colon), line.slice(colon + 1).trim()] : null;
  });
  return headers.includes(null) ? null : { headers: headers as Header[], body: text.slice(end + 4) };
};

const valueOf = (entity: Entity, name: string): string | null => entity.headers.find(([given]) => given.toLowerCase() === name)?.[1] ?? null;

/** Words of RFC 2047 in base64 and UTF-8, the only ones composed here; white space between two of them is none of the text. */
const decodedWords = (value: string): string =>
  value.replace(/(\?=)\s+(?==\?)/g, '$1').replace(/=\?utf-8\?b\?([A-Za-z0-9+/=]*)\?=/gi, (_word, base64: string) => Buffer.from(base64, 'base64').toString('utf8'));

/** `Name <address>` with the name as people read it, quoted where it would not stand as it is. */
const mailboxOf = (value: string): string | null => {
  const match = /^(.*?)\s*<([^<>\s]+@[^<>\s]+)>$/.exec(value);
  if (!match) return /^[^<>\s"]+@[^<>\s"]+$/.test(value) ? value : null;
  const [, given = '', address = ''] = match;
  const quoted = /^"(.*)"$/.exec(given)?.[1];
  const name = quoted === undefined ? decodedWords(given) : quoted.replace(/\\(.)/g, '$1');
  if (name === '') return address;
  return /^[\p{L}\p{N} _-]+$/u.test(name) ? `${name} <${address}>` : `"${name.replace(/["\\]/g, '\\$&')}" <${address}>`;
};

/** Quoted-printable back to the bytes it was made of, as UTF-8; null where it is not well formed. */
const decodedQuotedPrintable = (text: string): string | null => {
  const joined = text.replace(/=\r\n/g, '');
  // what follows an `=` is a byte in hex; every other character is ASCII and stands for itself
  if (/=(?![0-9A-F]{2})|[^\x00-\x7f]/.test(joined)) return null;
  return Buffer.from(joined.replace(/=([0-9A-F]{2})/g, (_code, hex: string) => String.fromCharCode(parseInt(hex, 16))), 'latin1').toString('utf8');
};

const bodyOf = (part: string, type: string): string | null => {
  const entity = entityOf(part);
  if (!entity || valueOf(entity, 'content-type') !== `${type}; charset=utf-8`) return null;
  return valueOf(entity, 'content-transfer-encoding') === 'quoted-printable' ? decodedQuotedPrintable(entity.body) : null;
};

/** The parts of a multipart; the line end before a boundary belongs to the boundary. */
const partsOf = (entity: Entity, kind: 'alternative' | 'mixed' = 'alternative'): string[] | null => {
  const [, found, boundary] = /^multipart\/(\w+);\s*boundary="([^"]+)"$/.exec(valueOf(entity, 'content-type') ?? '') ?? [];
  if (found !== kind) return null;
  if (boundary === undefined) return null;
  const [preamble, ...pieces] = `\r\n${entity.body}`.split(`\r\n--${boundary}`);
  if (preamble !== '' || pieces.pop() !== '--\r\n') return null;
  return pieces.every((piece) => piece.startsWith('\r\n')) ? pieces.map((piece) => piece.slice(2)) : null;
};

/** The file that a part attaches; null where it is none. */
const fileOf = (part: string): { name: string; type: string } | null => {
  const entity = entityOf(part);
  const [, type, name] = /^([\w.+/-]+);\s*name="([^"]+)"$/.exec((entity && valueOf(entity, 'content-type')) ?? '') ?? [];
  return type !== undefined && name !== undefined && entity?.body === '' && valueOf(entity, 'content-transfer-encoding') === 'base64' ? { name, type } : null;
};

/** The text and HTML of a message, and what is attached to it. */
const contentOf = (message: Entity): { parts: string[]; files: NonNullable<MailFields['files']> } | null => {
  const mixed = partsOf(message, 'mixed');
  const alternative = mixed ? entityOf(mixed[0] ?? '') : message;
  const parts = alternative && partsOf(alternative);
  const files = (mixed ?? []).slice(1).map(fileOf);
  return parts?.length === 2 && !files.includes(null) ? { parts, files: files as NonNullable<MailFields['files']> } : null;
};

/**
 * Reads a message as `shared/content/mime.ts` composes it: one text and one HTML part, quoted-printable, UTF-8, and the places of attachments. Written for
 * exactly that form, and not with a mail parser, whose next release could change a byte between two submissions of an attempt.
 *
 * @returns null for a message of any other form
 */
export const mailFieldsOf = (mime: string): MailFields | null => {
  const message = entityOf(mime);
  const content = message && contentOf(message);
  if (!message || !content) return null;
  const { parts, files } = content;
  const from = mailboxOf(valueOf(message, 'from') ?? '');
  const subject = valueOf(message, 'subject');
  const text = bodyOf(parts[0] as string, 'text/plain');
  const html = bodyOf(parts[1] as string, 'text/html');
  if (from === null || subject === null || text === null || html === null) return null;
  const headers = message.headers.filter(([name]) => !NOT_PASSED_ON.has(name.toLowerCase())).map(([name, value]) => [name, decodedWords(value)]);
  return { from, subject: decodedWords(subject), text, html, headers: Object.fromEntries(headers) as Record<string, string>, ...(files.length > 0 ? { files } : {}) };
};
