import type net from 'node:net';
import { performance } from 'node:perf_hooks';
import { describe, expect, it, test } from '@jest/globals';
import { createSmtpTransport } from '../../shared/transports/smtp/client.ts';
import type { SubmitRequest, Transport } from '../../shared/transports/transport.ts';
import { createTwilioTransport } from '../../shared/transports/twilio/client.ts';
import { closedPort, startTcpServer } from './http-server.ts';

/** What every transport promises, whatever its provider does. */
const LIMIT_MS = 200;
/** Room for a busy machine; a transport without a limit of its own would hang until the test's. */
const SLACK_MS = 1_500;

type Behaviour = (socket: net.Socket) => void;

/** Sends a byte now and then for as long as the connection stands. */
const dribble = (socket: net.Socket, opening: string, byte: string) => {
  socket.write(opening);
  const timer = setInterval(() => socket.write(byte), 20);
  socket.on('close', () => clearInterval(timer));
};
const onFirstData = (act: Behaviour): Behaviour => (socket) => { socket.once('data', () => act(socket)); };

const behaviours: [string, Behaviour][] = [
  ['accepts connections and never says a word', () => undefined],
  ['hangs up at once', (socket) => socket.destroy()],
  ['resets at once', (socket) => socket.resetAndDestroy()],
  ['reads and hangs up', onFirstData((socket) => socket.end())],
  ['reads and resets', onFirstData((socket) => socket.resetAndDestroy())],
  ['talks nonsense', (socket) => socket.end('\0\x01\x02 nonsense\r\n\r\n'.repeat(10))],
  ['dribbles a line that never ends', (socket) => dribble(socket, '2', '2')],
  ['dribbles an HTTP body that never ends', onFirstData((socket) => dribble(socket, 'HTTP/1.1 201 Created\r\nContent-Length: 9999\r\n\r\n{', ' '))],
  ['dribbles HTTP headers that never end', onFirstData((socket) => dribble(socket, 'HTTP/1.1 201 Created\r\nX: ', 'x'))],
  ['dribbles SMTP lines that never end', (socket) => dribble(socket, '220-a\r\n', '220-b\r\n')],
  ['greets and never goes on', (socket) => { socket.write('220 hello\r\n'); }],
];

interface Subject { name: string; at: (port: number) => Transport; message: SubmitRequest['message'] }
const subjects: Subject[] = [
  {
    name: 'twilio',
    at: (port) => createTwilioTransport({
      baseUrl: `http://127.0.0.1:${port}`, accountSid: 'AC1', authToken: 'secret', timeoutMs: LIMIT_MS, now: () => 0,
    }),
    message: { channel: 'sms', to: '+12025550101', from: '+12025550199', text: 'hello' },
  },
  {
    name: 'smtp',
    at: (port) => createSmtpTransport({ url: `smtp://127.0.0.1:${port}`, timeoutMs: LIMIT_MS, maxConnections: 1 }),
    message: { channel: 'email', to: 'a@example.com', from: 'b@example.com', mime: 'Subject: x\r\n\r\nhi\r\n' },
  },
];

const elapsed = async <T>(work: Promise<T>): Promise<{ result: T; ms: number }> => {
  const from = performance.now();
  return { result: await work, ms: performance.now() - from };
};

describe.each(subjects)('the $name transport', ({ name, at, message }) => {
  const request = (mayStart = () => true): SubmitRequest => ({ attemptKey: 'evt_01KB7Y0000ABCDEFGHJKMNPQRS.sms.1', message, mayStart });

  it('goes by its name and its channel', async () => {
    const transport = at(1);
    expect([transport.name, transport.channel]).toEqual([name, message.channel]);
    expect(transport.capabilities.statusByPoll).toBe(transport.readStatus !== undefined);
    expect(transport.capabilities.reconcile === 'none').toBe(transport.lookUp === undefined);
    await transport.close();
  });

  test.each(behaviours)('ends in time, with an answer, at a server that %s', async (_name, behaviour) => {
    const server = await startTcpServer(behaviour);
    const transport = at(server.port);
    const { result, ms } = await elapsed(transport.submit(request()));
    expect(['deferred', 'unknown']).toContain(result.kind);
    expect(ms).toBeLessThan(LIMIT_MS + SLACK_MS);
    if (transport.readStatus) {
      const reading = await elapsed(transport.readStatus({ attemptKey: 'k', providerMessageId: 'SM1', to: '' }));
      expect(reading.result.kind).toBe('read_failed');
      expect(reading.ms).toBeLessThan(LIMIT_MS + SLACK_MS);
    }
    expect((await elapsed(transport.close())).ms).toBeLessThan(SLACK_MS);
    await server.close();
  });

  it('writes nothing of the message before the fence is asked, and nothing after it refused', async () => {
    const seen: string[] = [];
    const server = await startTcpServer((socket) => {
      if (name === 'smtp') socket.write('220 hello\r\n');
      socket.on('data', (chunk) => {
        const text = chunk.toString('latin1');
        seen.push(text);
        if (text.startsWith('EHLO')) socket.write('250 hello\r\n');
        if (text.startsWith('QUIT')) socket.end();
      });
    });
    const transport = at(server.port);
    let asked = 0;
    const refuse = () => {
      asked += 1;
      return false;
    };
    expect(await transport.submit(request(refuse))).toEqual({ kind: 'abandoned', reason: 'start_too_late' });
    await transport.close();
    expect(asked).toBe(1);
    expect(seen.join('')).not.toMatch(/POST|MAIL|RCPT|DATA|hello/);
    await server.close();
  });

  it('says that nothing was sent, and asks no fence, where nobody listens', async () => {
    const transport = at(await closedPort());
    let asked = 0;
    expect(await transport.submit(request(() => { asked += 1; return true; }))).toEqual({ kind: 'deferred', reason: 'connection_refused', retryAfterMs: null });
    expect(asked).toBe(0);
    await transport.close();
  });

  it('may be closed twice and takes nothing afterwards', async () => {
    const transport = at(await closedPort());
    await transport.close();
    await transport.close();
    expect(await transport.submit(request())).toMatchObject({ kind: 'deferred' });
  });

  it('refuses a message of another channel as the mistake it is', async () => {
    const transport = at(1);
    const other = subjects.find((subject) => subject.name !== name)?.message as SubmitRequest['message'];
    await expect(transport.submit({ ...request(), message: other })).rejects.toThrow('only');
    await transport.close();
  });

  it('leaves no connection behind', async () => {
    // reads, for the end of a connection is only seen behind what was sent on it
    const server = await startTcpServer((socket) => { socket.resume(); });
    const transport = at(server.port);
    await transport.submit(request());
    await transport.close();
    await Promise.all([...server.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    expect(server.sockets.size).toBe(0);
    await server.close();
  });
});
