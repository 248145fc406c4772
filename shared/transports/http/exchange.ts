import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import type { KeepAliveAgent } from './agent.ts';
import { readBody } from './read-body.ts';

/** A body that is read as it is sent; its size is the caller's to announce. */
export type StreamedBody = () => AsyncGenerator<Buffer>;

/** Where a request goes, taken apart: of one API all but the path stays the same. `host` is as the header has it. */
export interface HttpAddress { protocol: string; hostname: string; port: number | string | undefined; host: string; path: string }

/** Takes an address apart. */
export const addressOf = (url: URL): HttpAddress => {
  const { protocol, hostname, port, path } = urlToHttpOptions(url);
  return { protocol: protocol ?? '', hostname: hostname ?? '', port: port ?? undefined, host: url.host, path: path ?? '/' };
};

export interface HttpRequest {
  method: 'GET' | 'POST';
  url: URL | HttpAddress;
  headers: Record<string, string>;
  body?: string | StreamedBody;
  maxBodyBytes: number;
  /** Asked once, synchronously, right before the request is written; false writes nothing. */
  mayStart?: () => boolean;
  /** Called once the whole request was handed to the operating system. */
  onWritten?: () => void;
}

/** What one HTTP exchange came to, told apart by whether the request may have reached the server. */
export type HttpOutcome =
  /** `body` is null where it was longer than the cap. */
  | { kind: 'answered'; httpStatus: number; headers: http.IncomingHttpHeaders; body: string | null }
  | { kind: 'not_written'; reason: 'connection_refused' | 'reset_before_write' }
  /** A kept-alive socket was dead before anything was written: use another. */
  | { kind: 'stale_socket' }
  | { kind: 'abandoned' }
  | { kind: 'lost'; reason: 'lost_response' | 'request_timeout' | 'answer_not_understood' };

const isAlive = (socket: Socket): boolean => !socket.destroyed && socket.writable && !socket.readableEnded;
/** Node's parser errors: bytes came, but they are not HTTP. */
const isNonsense = (error: NodeJS.ErrnoException): boolean => error.code?.startsWith('HPE_') ?? false;

/** Headers as node writes them without looking at each twice: names and values by turns, and the host behind them. */
const rawHeaders = (headers: Record<string, string>, host: string): string[] => {
  const raw: string[] = [];
  for (const name of Object.keys(headers)) raw.push(name, headers[name] as string);
  raw.push('Host', host);
  return raw;
};

const open = ({ method, url, headers }: HttpRequest, agent: http.Agent): http.ClientRequest => {
  const { protocol, hostname, port, host, path } = url instanceof URL ? addressOf(url) : url;
  return (protocol === 'https:' ? https : http).request({ protocol, hostname, port, path, method, headers: rawHeaders(headers, host), agent });
};

/** Writes a body as it is read, no faster than it is taken; stops where the request was ended meanwhile. */
const writeStreamed = async (call: http.ClientRequest, body: StreamedBody, { onEnd, onWritten }: { onEnd: () => void; onWritten: (() => void) | undefined }): Promise<void> => {
  let held: Buffer | null = null;
  for await (const piece of body()) {
    if (call.destroyed) return;
    // The last piece is held back until it is known to be the last: only with it the request is whole.
    if (held && !call.write(held)) await Promise.race([once(call, 'drain'), once(call, 'close')]).catch(() => undefined);
    held = piece;
  }
  if (call.destroyed) return;
  onEnd();
  call.end(held ?? undefined, onWritten);
};

/**
 * One request on one socket. Headers and body leave in one write (a streamed body piece by piece) on a connected socket and never before, so it is known
 * whether the server can have seen any of it. Redirects are answers like any other.
 *
 * @param limitMs time for the whole exchange, waiting for a socket and reading the body included
 * @throws what `mayStart` throws, what reading a streamed body fails with (its end was never sent then), and Node's error for headers that cannot be sent; nothing was written then
 */
export const exchange = (pool: KeepAliveAgent, request: HttpRequest, limitMs: number): Promise<HttpOutcome> =>
  new Promise((resolve, reject) => {
    const call = open(request, pool.agent);
    let reached: 'nothing' | 'reused_socket' | 'connected' | 'written' = 'nothing';
    let answered = false;
    const settle = (outcome: HttpOutcome) => {
      clearTimeout(timer);
      resolve(outcome);
    };
    const failWith = (lost: 'lost_response' | 'request_timeout' | 'answer_not_understood') => {
      if (reached === 'written') settle({ kind: 'lost', reason: lost });
      else if (reached === 'reused_socket' && lost !== 'request_timeout') settle({ kind: 'stale_socket' });
      else settle({ kind: 'not_written', reason: reached === 'nothing' ? 'connection_refused' : 'reset_before_write' });
      call.destroy();
    };
    const timer = setTimeout(() => failWith('request_timeout'), limitMs);

    const write = (socket: Socket) => {
      if (call.destroyed) return;
      if (!isAlive(socket)) return failWith('lost_response');
      try {
        if (request.mayStart?.() === false) {
          settle({ kind: 'abandoned' });
          call.destroy();
          return;
        }
      } catch (error) {
        clearTimeout(timer);
        call.destroy();
        reject(error as Error);
        return;
      }
      reached = typeof request.body === 'function' ? 'connected' : 'written';
      if (typeof request.body !== 'function') {
        call.end(request.body, request.onWritten);
        return;
      }
      // Content-Length promised more until the end leaves, so what the server has before that is no request.
      writeStreamed(call, request.body, { onEnd: () => { reached = 'written'; }, onWritten: request.onWritten }).catch((error: unknown) => {
        clearTimeout(timer);
        reject(error as Error);
        call.destroy();
      });
    };
    call.once('socket', (socket) => {
      if (pool.isReady(socket)) {
        reached = 'reused_socket';
        // one turn of the loop lets a close that has already arrived be seen before the request is risked on it
        setImmediate(write, socket);
        return;
      }
      socket.once(pool.readyEvent, () => {
        reached = 'connected';
        write(socket);
      });
    });
    call.once('response', (response) => {
      answered = true;
      readBody(response, request.maxBodyBytes).then(
        (body) => settle({ kind: 'answered', httpStatus: response.statusCode ?? 0, headers: response.headers, body }),
        () => failWith('lost_response'),
      );
    });
    // stays attached: a destroyed request may report more than one error
    call.on('error', (error: NodeJS.ErrnoException) => failWith(isNonsense(error) ? 'answer_not_understood' : 'lost_response'));
    call.once('close', () => {
      // the last word where neither a response nor an error came, e.g. an upgrade nobody asked for
      if (!answered) failWith('lost_response');
    });
  });
