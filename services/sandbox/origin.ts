import { once } from 'node:events';
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isSignedQuestion } from './check-signature.ts';
import { makeSelfSigned } from './self-signed.ts';

/** What the shop says of an order: it waits for the seller, it does not any more, or the shop fails in some way. */
export const ORDER_ANSWERS = ['needed', 'not_needed', 'error', 'silent', 'nonsense', 'redirect'] as const;
export type OrderAnswer = (typeof ORDER_ANSWERS)[number];

/** A question that came in; one whose signature is wrong was answered with 401. */
export interface AskedQuestion { order: string; event_id: string; wanted: string; signed: boolean; at: string }

export interface OriginStandIn {
  url: string;
  /** PEM; whoever asks has to be given it as an authority. */
  certificate: string;
  set: (order: string, answer: OrderAnswer) => void;
  /** Oldest first. */
  questions: (order?: string) => AskedQuestion[];
  /** Called with each question before it is answered; for tests that act in between. */
  onQuestion: (listener: (question: AskedQuestion) => void | Promise<void>) => void;
  close: () => Promise<void>;
}

export interface OriginStandInSettings { port: number; host?: string; secret: string; now?: () => number; names?: readonly string[] }

const MOST_QUESTIONS = 1_000;
const LONGEST_BODY = 10_000;

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LONGEST_BODY) throw new Error('too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
};

const answerWith = (response: ServerResponse, answer: OrderAnswer): void => {
  switch (answer) {
    case 'needed': return json(response, 200, { needs_action: true });
    case 'not_needed': return json(response, 200, { needs_action: false });
    case 'error': return json(response, 500, { error: 'the shop is unwell' });
    case 'nonsense': return json(response, 200, { needs_action: 'perhaps' });
    case 'redirect': return json(response, 302, {}, { Location: '/elsewhere' });
    // No answer at all: the caller's own limit has to end it.
    case 'silent': return undefined;
  }
};

/**
 * The shop's side of a precondition: `POST /orders/{order}/needs-action` over https, with a certificate made at the start. Without
 * another word an order waits for its seller; of one whose name ends in `-error` and so on the shop says that.
 */
export const startOrigin = async (settings: OriginStandInSettings): Promise<OriginStandIn> => {
  const { secret, host = '127.0.0.1', now = Date.now } = settings;
  const answers = new Map<string, OrderAnswer>();
  const asked: AskedQuestion[] = [];
  let listener: (question: AskedQuestion) => void | Promise<void> = () => undefined;
  const byName = (order: string): OrderAnswer => ORDER_ANSWERS.find((answer) => order.endsWith(`-${answer.replace('_', '-')}`) && answer !== 'needed') ?? 'needed';

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url: target = '' } = request;
    const order = /^\/orders\/([A-Za-z0-9_-]{1,100})\/needs-action$/.exec(target)?.[1];
    if (method !== 'POST' || order === undefined) return json(response, 404, { error: 'not found' });
    const body = await bodyOf(request);
    const eventId = String(request.headers['tocsin-event-id'] ?? '');
    const signed = isSignedQuestion({ signature: String(request.headers['tocsin-signature'] ?? ''), eventId, method, host: request.headers.host ?? '', target, body }, secret, now());
    const { wanted } = JSON.parse(body.toString('utf8')) as { wanted?: string };
    const question = { order, event_id: eventId, wanted: String(wanted), signed, at: new Date(now()).toISOString() };
    asked.push(question);
    if (asked.length > MOST_QUESTIONS) asked.shift();
    await listener(question);
    if (!signed) return json(response, 401, { error: 'the signature is wrong' });
    return answerWith(response, answers.get(order) ?? byName(order));
  };
  const { key, certificate } = makeSelfSigned(settings.names);
  const server = createServer({ key, cert: certificate }, (request, response) => {
    handle(request, response).catch(() => json(response, 400, { error: 'not understood' }));
  });
  server.listen(settings.port, host);
  await once(server, 'listening');
  return {
    url: `https://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host}:${(server.address() as AddressInfo).port}`, certificate,
    set: (order, answer) => { answers.set(order, answer); },
    questions: (order) => asked.filter((question) => order === undefined || question.order === order),
    onQuestion: (next) => { listener = next; },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};
