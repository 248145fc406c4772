import express from 'express';
import type { Request, RequestHandler } from 'express';
import { Problem } from './problem.ts';

const LIMIT_BYTES = 256 * 1024;
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

const malformed = (code: 'malformed_json' | 'malformed_form', detail: string): Problem => new Problem({ status: 400, code, detail });

/** Takes the media type apart; refuses another charset than UTF-8, in which JSON has to be. */
const mediaTypeOf = (request: Request, accepted: readonly string[]): string => {
  const given = request.headers['content-type'] ?? '';
  if (accepted.includes(given)) return given;
  const [type = '', ...parameters] = given.toLowerCase().split(';').map((part) => part.trim());
  const charset = parameters.find((one) => one.startsWith('charset='))?.slice('charset='.length).replaceAll('"', '');
  if (accepted.includes(type) && (charset === undefined || charset === 'utf-8' || charset === 'utf8')) return type;
  throw new Problem({
    status: 415, code: 'unsupported_content_type', detail: `This body is not understood. Send ${accepted.join(' or ')}, in UTF-8.`,
    headers: { Accept: accepted.join(', ') }, members: { accepted },
  });
};

/** No request has that many; whatever reads the fields later then never meets a body that is made of nothing else. */
const MOST_FIELDS = 100;
const MOST_VALUES = 500;
const MOST_DEPTH = 8;

const tooManyFields = (detail: string): Problem => new Problem({ status: 400, code: 'too_many_fields', detail });

/** Refuses a body of too many members, at one place or altogether, or nested too deep. Not recursive: the depth is the sender's. */
const boundShape = (body: unknown): unknown => {
  let level: object[] = typeof body === 'object' && body !== null ? [body] : [];
  let values = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    const inner: object[] = [];
    for (const value of level) {
      if (depth >= MOST_DEPTH) throw tooManyFields(`The body is nested more than ${MOST_DEPTH} levels deep. Send the fields of this request only.`);
      const members: unknown[] = Object.values(value);
      values += members.length;
      if (members.length > MOST_FIELDS || values > MOST_VALUES) {
        throw tooManyFields(`The body has more than ${MOST_FIELDS} fields in one object or list, or more than ${MOST_VALUES} altogether. Send the fields of this request only.`);
      }
      for (const member of members) if (typeof member === 'object' && member !== null) inner.push(member);
    }
    level = inner;
  }
  return body;
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw malformed('malformed_json', text.trim() === '' ? 'The body is empty. Send a JSON object.' : 'The body is not valid JSON. Correct it and send it again.');
  }
};

/** `contact[sms]` and `contact.sms` are the same field of a form. */
const setField = (target: Record<string, unknown>, name: string, value: string): void => {
  const [key = '', member, ...deeper] = name.replace(/\[([^\]]*)\]/g, '.$1').split('.');
  if (deeper.length > 0 || [key, member].includes('__proto__')) throw malformed('malformed_form', 'A field of the form has a name that cannot be. Correct it.');
  if (member === undefined) {
    if (Object.hasOwn(target, key)) throw malformed('malformed_form', 'A field stands twice in the form. Send each once.');
    target[key] = value;
    return;
  }
  const inner = Object.hasOwn(target, key) ? target[key] : (target[key] = {});
  if (typeof inner !== 'object') throw malformed('malformed_form', 'A field stands twice in the form. Send each once.');
  setField(inner as Record<string, unknown>, member, value);
};

/** Not URLSearchParams: that one replaces what is no UTF-8, and a text is kept as it came or refused. */
const parseForm = (text: string): Record<string, unknown> => {
  const fields: Record<string, unknown> = {};
  const pairs = text.split('&').filter((one) => one !== '');
  if (pairs.length > MOST_FIELDS) throw tooManyFields(`The form has more than ${MOST_FIELDS} fields. Send those of this form only.`);
  for (const pair of pairs) {
    const cut = pair.indexOf('=');
    try {
      const [name, value] = [cut < 0 ? pair : pair.slice(0, cut), cut < 0 ? '' : pair.slice(cut + 1)].map((part) => decodeURIComponent(part.replaceAll('+', ' '))) as [string, string];
      // A form sends every field it shows; an empty one was not filled in.
      if (value !== '' || name === 'message') setField(fields, name, value);
    } catch (error) {
      if (error instanceof URIError) throw malformed('malformed_form', 'The form is not properly encoded. Encode it as UTF-8 with percent signs.');
      throw error;
    }
  }
  return fields;
};

const utf8 = new TextDecoder('utf-8', { fatal: true });

const decode = (bytes: unknown): string => {
  if (!Buffer.isBuffer(bytes)) return '';
  try {
    return utf8.decode(bytes);
  } catch {
    throw malformed('malformed_json', 'The body is not UTF-8. Encode it as UTF-8 and send it again.');
  }
};

const parsed = express.raw({ type: () => true, limit: LIMIT_BYTES });

/** A body that comes as it is and says how long it is; the server lets no other length through. */
const isPlain = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] === undefined && headers['content-encoding'] === undefined && Number(headers['content-length']) <= LIMIT_BYTES;

/** Reads the bytes of a body into `request.body`. Nearly all are plain and need no parser, which costs as much as the rest of a route. */
const raw: RequestHandler = (request, response, next) => {
  if (!isPlain(request)) {
    parsed(request, response, next);
    return;
  }
  // The client went away, within its body or before anybody read it.
  const gone = (): void => next({ status: 400 });
  if (request.destroyed) {
    gone();
    return;
  }
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece)).once('aborted', gone).once('end', () => {
    request.off('aborted', gone);
    request.body = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
    next();
  });
};

/** What the body parser refuses. It reads a body that is too long to its end first, so that the client gets the answer. */
const refused = (error: unknown): unknown => {
  const { status, type } = (error ?? {}) as { status?: number; type?: string };
  if (type === 'entity.too.large') return new Problem({ status: 413, code: 'body_too_large', detail: `The body has more than ${LIMIT_BYTES / 1024} KB. Shorten it.`, members: { limit_bytes: LIMIT_BYTES } });
  if (status === 415) return new Problem({ status: 415, code: 'unsupported_encoding', detail: 'This content encoding is not understood. Send the body as it is, or with gzip, deflate or br.', headers: { 'Accept-Encoding': 'gzip, deflate, br' } });
  if (status !== undefined && status >= 400 && status < 500) return malformed('malformed_json', 'The body could not be read. Send it again, whole.');
  return error;
};

const bodyReader = (accepted: readonly string[]): RequestHandler => (request, response, next) => {
  const type = mediaTypeOf(request, accepted);
  raw(request, response, (error?: unknown) => {
    if (error !== undefined) {
      next(refused(error));
      return;
    }
    try {
      const text = decode(request.body);
      request.body = type === FORM_TYPE ? parseForm(text) : boundShape(parseJson(text));
      next();
    } catch (problem) {
      next(problem);
    }
  });
};

/** Reads a JSON body. */
export const jsonBody = bodyReader([JSON_TYPE]);
/** Reads a JSON or a form-encoded body; `contact.sms` and `contact[sms]` become members. */
export const jsonOrFormBody = bodyReader([JSON_TYPE, FORM_TYPE]);

/** Reads a body of whatever type as text, byte for byte a character: for callers whose stated type says nothing. */
export const textBody: RequestHandler = (request, response, next) => {
  raw(request, response, (error?: unknown) => {
    if (error === undefined) request.body = Buffer.isBuffer(request.body) ? request.body.toString('latin1') : '';
    next(error === undefined ? undefined : refused(error));
  });
};
