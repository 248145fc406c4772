import type { Instant } from '../../domain/words.ts';
import type { CallOutcome, HttpClient } from './client.ts';
import { createHttpClient } from './client.ts';
import type { StreamedBody } from './exchange.ts';

export interface JsonApiSettings {
  /** Origin of the API, with or without a path before its own. */
  baseUrl: string;
  /** Goes out as `Authorization: Bearer`. */
  token: string;
  /** Limit of each call as a whole: waiting for a connection, connecting, writing and reading. */
  timeoutMs: number;
  maxSockets?: number | undefined;
  /** The clock HTTP dates in answers are measured against. */
  now: () => Instant;
}

export interface PostOptions { headers: Record<string, string>; mayStart: () => boolean; onWritten: () => void; /** Instead of the API's own limit. */ limitMs?: number | undefined }

export interface JsonApi {
  readonly timeoutMs: number;
  now: () => Instant;
  url(path: string): URL;
  /** A streamed body comes with its size. */
  post(url: URL, body: string | { bytes: number; pieces: StreamedBody }, options: PostOptions): Promise<CallOutcome>;
  get(url: URL, limits: { limitMs: number; maxBodyBytes: number }): Promise<CallOutcome>;
  close: HttpClient['close'];
}

/** Answers are cut off before parsing at this size. */
export const MAX_BODY_BYTES = 64 * 1024;
const DEFAULT_MAX_SOCKETS = 50;

/** Calls to an API of JSON bodies and a bearer token. */
export const createJsonApi = (settings: JsonApiSettings): JsonApi => {
  const base = settings.baseUrl.replace(/\/+$/, '');
  // some providers refuse requests without a User-Agent
  const common = { Authorization: `Bearer ${settings.token}`, Accept: 'application/json', 'User-Agent': 'tocsin' };
  const client = createHttpClient(new URL(base).protocol === 'https:', settings.maxSockets ?? DEFAULT_MAX_SOCKETS);
  return {
    timeoutMs: settings.timeoutMs,
    now: settings.now,
    url: (path) => new URL(`${base}${path}`),
    post: (url, body, { headers, mayStart, onWritten, limitMs }) => client.call({
      method: 'POST', url, body: typeof body === 'string' ? body : body.pieces, maxBodyBytes: MAX_BODY_BYTES, mayStart, onWritten,
      headers: { ...common, ...headers, 'Content-Type': 'application/json', 'Content-Length': String(typeof body === 'string' ? Buffer.byteLength(body) : body.bytes) },
    }, limitMs ?? settings.timeoutMs),
    get: (url, { limitMs, maxBodyBytes }) => client.call({ method: 'GET', url, headers: common, maxBodyBytes }, limitMs),
    close: () => client.close(),
  };
};
