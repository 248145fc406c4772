import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** What was taken: its attempt key and the instant (ms since the epoch). */
export type Receipt = [attemptKey: string, receivedAt: number];
export interface ProviderStub { http: string; smtp: string; takeReceipts: () => Receipt[]; duplicates: () => number; forget: () => void; close: () => void }

const AUTHORIZATION = `Basic ${Buffer.from('AC5a4db0c05a4db0c05a4db0c05a4db0c0:sandbox-token').toString('base64')}`;
const MESSAGES = '/2010-04-01/Accounts/AC5a4db0c05a4db0c05a4db0c05a4db0c0/Messages';
const OF_ONE = new RegExp(`^${MESSAGES}/(SM[0-9a-f]{32})\\.json$`);

interface Message { to: string; from: string; body: string; at: number }

/** The numbers tell their fates as the sandbox's do: …01 is delivered, …02 undelivered, …03 never confirmed. */
const statusOf = ({ to }: Message): { status: string; code: number | null } =>
  (to.endsWith('01') ? { status: 'delivered', code: null } : to.endsWith('02') ? { status: 'undelivered', code: 30005 } : { status: 'sent', code: null });

/** The Message resource as the API shows it. */
const resource = (sid: string, message: Message, { status, code }: { status: string; code: number | null }): string => {
  const date = new Date(message.at).toUTCString().replace('GMT', '+0000');
  return JSON.stringify({
    account_sid: 'AC5a4db0c05a4db0c05a4db0c05a4db0c0', api_version: '2010-04-01', body: message.body, date_created: date, date_sent: status === 'queued' ? null : date, date_updated: date,
    direction: 'outbound-api', error_code: code, error_message: code === null ? null : 'Unknown destination handset', from: message.from, messaging_service_sid: null, num_media: '0',
    num_segments: '2', price: null, price_unit: 'USD', sid, status, subresource_uris: { media: `${MESSAGES}/${sid}/Media.json` }, to: message.to, uri: `${MESSAGES}/${sid}.json`,
  });
};

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) text += chunk;
  return text;
};
const answer = (response: ServerResponse, httpStatus: number, body: string): void => {
  response.writeHead(httpStatus, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(body) }).end(body);
};

/** One connection of SMTP: takes everything, and tells a message by the local part of its Message-ID. */
const converse = (socket: Socket, taken: (key: string) => void): void => {
  let pending = '';
  let inData = false;
  const step = (line: string): void => {
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'EHLO') socket.write('250-stub\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 SIZE 41943040\r\n');
    else if (verb === 'DATA') {
      inData = true;
      socket.write('354 go ahead\r\n');
    } else if (verb === 'QUIT') socket.end('221 bye\r\n');
    else socket.write('250 2.0.0 Ok\r\n');
  };
  socket.setNoDelay(true).setEncoding('latin1').on('error', () => undefined).on('data', (chunk: string) => {
    pending += chunk;
    for (;;) {
      const end = pending.indexOf(inData ? '\r\n.\r\n' : '\r\n');
      if (end < 0) return;
      const text = pending.slice(0, end);
      pending = pending.slice(end + (inData ? 5 : 2));
      if (!inData) step(text);
      else {
        inData = false;
        taken(/^Message-ID:\s*<([^@>]+)@/im.exec(text)?.[1] ?? '');
        socket.write('250 2.0.0 Ok: queued\r\n');
      }
    }
  });
  socket.write('220 stub ESMTP\r\n');
};

const listen = (server: Server): Promise<number> => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));

/**
 * A provider that costs next to nothing: what it takes of the processor is taken from those that are measured. It speaks as much of Twilio's API and
 * of SMTP as the measured workflow needs, to the product's own adapters and to the baseline alike.
 */
export const startProviderStub = async (): Promise<ProviderStub> => {
  const messages = new Map<string, Message>();
  const counts = new Map<string, number>();
  let receipts: Receipt[] = [];
  const take = (key: string): void => {
    if (key === '') return;
    receipts.push([key, Date.now()]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  const post = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await textOf(request));
    const message: Message = { to: form.get('To') ?? '', from: form.get('From') ?? '', body: form.get('Body') ?? '', at: Date.now() };
    const sid = `SM${randomBytes(16).toString('hex')}`;
    messages.set(sid, message);
    take(String(request.headers['tocsin-attempt-key'] ?? ''));
    answer(response, 201, resource(sid, message, { status: 'queued', code: null }));
  };
  const http = createServer({ keepAliveTimeout: 600_000, requestTimeout: 0 }, (request, response) => {
    const { method, url = '', headers } = request;
    if (headers.authorization !== AUTHORIZATION) return answer(response, 401, '{"code":20003,"message":"Authenticate","status":401}');
    if (method === 'POST' && url === `${MESSAGES}.json`) return void post(request, response);
    const sid = OF_ONE.exec(url)?.[1];
    const message = sid === undefined ? undefined : messages.get(sid);
    return message && sid ? answer(response, 200, resource(sid, message, statusOf(message))) : answer(response, 404, '{"code":20404,"message":"Not found","status":404}');
  });
  const smtp = createNetServer((socket) => converse(socket, take));
  const [httpPort, smtpPort] = [await listen(http), await listen(smtp)];
  return {
    http: `http://127.0.0.1:${httpPort}`, smtp: `smtp://127.0.0.1:${smtpPort}`,
    takeReceipts: () => {
      const taken = receipts;
      receipts = [];
      return taken;
    },
    duplicates: () => [...counts.values()].filter((count) => count > 1).length,
    forget: () => { messages.clear(); counts.clear(); receipts = []; },
    close: () => process.exit(),
  };
};
