import https from 'node:https';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { rootCertificates } from 'node:tls';
import type { PreconditionFault } from '../../domain/reasons.ts';
import { readBody } from '../http/read-body.ts';
import { mayConnectTo } from './address-rules.ts';
import type { Resolve } from './guarded-lookup.ts';
import { ADDRESS_NOT_ALLOWED, createGuardedLookup } from './guarded-lookup.ts';
import { preconditionUrlFault } from './precondition-url.ts';
import { createSlots } from './slots.ts';
import { signatureHeader, signingSecrets } from './signature.ts';

export interface OriginQuestion {
  eventId: string; url: string; wanted: 'claim' | 'submission';
  /** Nobody waits for the answer after that instant: not asked then. */
  notAfter?: number;
}
export type OriginAnswer = { kind: 'needed' | 'not_needed' } | { kind: 'error'; fault: PreconditionFault };

export interface OriginClient {
  /** Asks once. Never rejects: whatever is no clear answer is an error with its reason. */
  ask: (question: OriginQuestion) => Promise<OriginAnswer>;
  /** Drops every connection; a question under way ends as an error. */
  close: () => void;
}

export interface OriginSettings {
  origins: readonly string[];
  secrets: readonly string[];
  ca: string | null;
  allowLoopback: boolean;
  /** Milliseconds since the epoch; stands in the signature. */
  now: () => number;
  /** For tests: how a name is resolved. */
  resolve?: Resolve;
  /** For everything from the name to the last byte; a wait for others at the same origin does not count. */
  limitMs?: number;
  /** Most questions at once to one origin. */
  atOnce?: number;
}

/** Source: the design. */
const LIMIT_MS = 2_000;
const LONGEST_ANSWER = 4_096;
const AT_ONCE = 32;

const error = (fault: PreconditionFault): OriginAnswer => ({ kind: 'error', fault });

/** `{"needs_action": true}` or false, and whatever else the object says. */
const readAnswer = (status: number, body: string | null): OriginAnswer => {
  if (status >= 300 && status <= 399) return error('redirected');
  if (status !== 200) return error('http_status');
  if (body === null) return error('answer_too_long');
  try {
    const { needs_action: needed } = (JSON.parse(body) ?? {}) as { needs_action?: unknown };
    if (typeof needed === 'boolean') return { kind: needed ? 'needed' : 'not_needed' };
  } catch {
    // Told below.
  }
  return error('answer_not_understood');
};

const faultOf = (failure: NodeJS.ErrnoException, connected: boolean): PreconditionFault => {
  const code = failure.code ?? '';
  if (code === ADDRESS_NOT_ALLOWED) return 'address_not_allowed';
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|SSL|TLS|EPROTO/.test(code)) return 'certificate';
  if (code.startsWith('HPE_')) return 'answer_not_understood';
  return connected ? 'connection_lost' : 'not_connected';
};

/** The answer, or `stale` where a kept-alive socket was dead: the question is harmless to repeat. */
const exchange = (call: ReturnType<typeof https.request>, body: string, limitMs: number): Promise<OriginAnswer | 'stale'> => new Promise((resolve) => {
  let connected = false;
  let answering = false;
  const timer = setTimeout(() => settle(error('timeout')), limitMs);
  const settle = (outcome: OriginAnswer | 'stale'): void => {
    clearTimeout(timer);
    resolve(outcome);
    call.destroy();
  };
  call.once('socket', (socket) => {
    if (call.reusedSocket) connected = true;
    else socket.once('secureConnect', () => { connected = true; });
  });
  call.once('response', (response: IncomingMessage) => {
    answering = true;
    const keep = (outcome: OriginAnswer): void => {
      clearTimeout(timer);
      resolve(outcome);
    };
    readBody(response, LONGEST_ANSWER).then((text) => keep(readAnswer(response.statusCode ?? 0, text)), () => settle(error('connection_lost')));
  });
  // Stays attached: a destroyed request may report more than one error.
  call.on('error', (failure: NodeJS.ErrnoException) => {
    if (!answering) settle(call.reusedSocket && failure.code === 'ECONNRESET' ? 'stale' : error(faultOf(failure, connected)));
  });
  call.once('close', () => { if (!answering) settle(error('connection_lost')); });
  call.end(body);
});

/**
 * Asks origin systems "still needs action?": POST over https to an allow-listed origin at a public address, signed, no redirect
 * followed, two seconds over all. What the URL holds is told to nobody else.
 */
export const createOriginClient = (settings: OriginSettings): OriginClient => {
  const { origins, allowLoopback, now, limitMs = LIMIT_MS, atOnce = AT_ONCE } = settings;
  const inTurn = createSlots(atOnce);
  const keys = signingSecrets(settings.secrets);
  const agent = new https.Agent({
    keepAlive: true, maxSockets: atOnce, timeout: 4_000, lookup: createGuardedLookup(allowLoopback, settings.resolve) as never,
    ...(settings.ca === null ? {} : { ca: [...rootCertificates, settings.ca] }),
  });

  const attempt = ({ eventId, wanted }: OriginQuestion, url: URL, withinMs: number): Promise<OriginAnswer | 'stale'> => {
    const body = JSON.stringify({ event_id: eventId, question: 'needs_action', wanted });
    const signature = signatureHeader(keys, { eventId, host: url.host, method: 'POST', target: `${url.pathname}${url.search}`, body, at: now() });
    const call = https.request(url, {
      agent, method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), Accept: 'application/json', 'User-Agent': 'Tocsin', 'Tocsin-Event-Id': eventId, 'Tocsin-Signature': signature },
    });
    return exchange(call, body, withinMs);
  };

  const askWithin = async (question: OriginQuestion, url: URL): Promise<OriginAnswer> => {
    const endsAt = performance.now() + limitMs;
    for (;;) {
      const leftMs = endsAt - performance.now();
      if (leftMs <= 0) return error('timeout');
      const outcome = await attempt(question, url, leftMs);
      if (outcome !== 'stale') return outcome;
    }
  };

  return {
    ask: async (question) => {
      if (preconditionUrlFault(question.url, origins)) return error('url_not_allowed');
      const url = new URL(question.url);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) !== 0 && !mayConnectTo(host, allowLoopback)) return error('address_not_allowed');
      // A sweep may bring hundreds of questions to one origin: that it is asked in turn must not make it look slow.
      return inTurn(url.origin, async () => {
        if (question.notAfter !== undefined && now() >= question.notAfter) return error('timeout');
        return askWithin(question, url);
      });
    },
    close: () => agent.destroy(),
  };
};
