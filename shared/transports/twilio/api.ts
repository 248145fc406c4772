import type { Instant } from '../../domain/words.ts';
import type { CallOutcome, HttpClient } from '../http/client.ts';
import { createHttpClient } from '../http/client.ts';
import type { HttpAddress } from '../http/exchange.ts';
import { addressOf } from '../http/exchange.ts';

export interface TwilioSettings {
  /** Origin of the API, with or without a path before `/2010-04-01`. */
  baseUrl: string;
  accountSid: string;
  authToken: string;
  /** Limit of each call as a whole: waiting for a connection, connecting, writing and reading. */
  timeoutMs: number;
  maxSockets?: number;
  /** The clock HTTP dates in answers are measured against. */
  now: () => Instant;
}

/** Answers are cut off before parsing at this size. */
export const MAX_BODY_BYTES = 64 * 1024;
const DEFAULT_MAX_SOCKETS = 50;

export interface TwilioApi {
  readonly timeoutMs: number;
  now: () => Instant;
  post(form: URLSearchParams, options: { headers: Record<string, string>; mayStart: () => boolean; onWritten: () => void }): Promise<CallOutcome>;
  get(url: URL | HttpAddress, limits: { limitMs: number; maxBodyBytes: number }): Promise<CallOutcome>;
  messageAddress(sid: string): HttpAddress;
  listUrl(filter: { to: string; from: string; sentSince: string; pageSize: number }): URL;
  inboundUrl(filter: { to: string; sentSince: string; pageSize: number }): URL;
  /** The address of a further page; null where it leads elsewhere, for the credentials go with it. */
  nextPageUrl(uri: string): URL | null;
  close: HttpClient['close'];
}

/** Addresses, credentials and calls of the Twilio REST API, version 2010-04-01. */
export const createTwilioApi = (settings: TwilioSettings): TwilioApi => {
  const base = settings.baseUrl.replace(/\/+$/, '');
  const { origin, pathname, protocol } = new URL(base);
  const prefix = pathname.replace(/\/+$/, '');
  const account = `${base}/2010-04-01/Accounts/${encodeURIComponent(settings.accountSid)}`;
  const common = {
    Authorization: `Basic ${Buffer.from(`${settings.accountSid}:${settings.authToken}`).toString('base64')}`,
    Accept: 'application/json',
  };
  const client = createHttpClient(protocol === 'https:', settings.maxSockets ?? DEFAULT_MAX_SOCKETS);
  const messages = addressOf(new URL(`${account}/Messages.json`));
  const ofOne = messages.path.replace(/\.json$/, '');
  const listing = (ends: { To: string; From?: string }, { sentSince, pageSize }: { sentSince: string; pageSize: number }): URL => {
    const url = new URL(`${account}/Messages.json`);
    // A listing cannot be filtered by messaging service.
    for (const [name, end] of Object.entries(ends)) if (!end.startsWith('MG')) url.searchParams.set(name, end);
    url.searchParams.set('DateSent>', sentSince);
    url.searchParams.set('PageSize', String(pageSize));
    return url;
  };

  return {
    timeoutMs: settings.timeoutMs,
    now: settings.now,
    post: (form, { headers, mayStart, onWritten }) => {
      const body = form.toString();
      return client.call({
        method: 'POST',
        url: messages,
        headers: {
          ...common, ...headers, 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': String(Buffer.byteLength(body)),
        },
        body,
        maxBodyBytes: MAX_BODY_BYTES,
        mayStart,
        onWritten,
      }, settings.timeoutMs);
    },
    get: (url, { limitMs, maxBodyBytes }) => client.call({ method: 'GET', url, headers: common, maxBodyBytes }, limitMs),
    messageAddress: (sid) => ({ ...messages, path: `${ofOne}/${encodeURIComponent(sid)}.json` }),
    listUrl: ({ to, from, ...how }) => listing({ To: to, From: from }, how),
    inboundUrl: ({ to, ...how }) => listing({ To: to }, how),
    nextPageUrl: (uri) => {
      const path = uri.startsWith('/') && prefix !== '' && !uri.startsWith(`${prefix}/`) ? `${prefix}${uri}` : uri;
      const url = URL.canParse(path, origin) ? new URL(path, origin) : null;
      return url?.origin === origin ? url : null;
    },
    close: () => client.close(),
  };
};
