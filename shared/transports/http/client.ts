import { performance } from 'node:perf_hooks';
import { createInFlight } from '../in-flight.ts';
import { createKeepAliveAgent } from './agent.ts';
import type { HttpOutcome, HttpRequest } from './exchange.ts';
import { exchange } from './exchange.ts';

/** The outcome of a call; a stale kept-alive socket has been replaced by then. */
export type CallOutcome = Exclude<HttpOutcome, { kind: 'stale_socket' }>;

export interface HttpClient {
  /** One call within `limitMs`; the request is written at most once. */
  call(request: HttpRequest, limitMs: number): Promise<CallOutcome>;
  /** Waits for the calls in flight, each of which ends within its limit, then drops every connection. */
  close(): Promise<void>;
}

/** A client for one origin with kept-alive connections. It never follows a redirect and never repeats a written request. */
export const createHttpClient = (secure: boolean, maxSockets: number): HttpClient => {
  const pool = createKeepAliveAgent(secure, maxSockets);
  const inFlight = createInFlight();
  let closed = false;

  const callOnLiveSocket = async (request: HttpRequest, limitMs: number): Promise<CallOutcome> => {
    const endsAt = performance.now() + limitMs;
    // each round uses up one dead socket, so this ends; `mayStart` has not been asked by then
    for (;;) {
      const outcome = await exchange(pool, request, Math.max(endsAt - performance.now(), 0));
      if (outcome.kind !== 'stale_socket') return outcome;
    }
  };

  return {
    call: (request, limitMs) => {
      if (closed) return Promise.resolve({ kind: 'not_written', reason: 'connection_refused' });
      return inFlight.track(callOnLiveSocket(request, limitMs));
    },
    close: async () => {
      closed = true;
      await inFlight.drained();
      pool.agent.destroy();
    },
  };
};
