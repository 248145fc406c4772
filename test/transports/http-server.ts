import http from 'node:http';
import net from 'node:net';
import type { AddressInfo } from 'node:net';

export interface Received { method: string; url: string; headers: http.IncomingHttpHeaders; body: string }
/** Answers one request that was read in full. */
export type Answer = (request: Received, response: http.ServerResponse) => void;

export interface TestServer {
  url: string;
  received: Received[];
  connections: () => number;
  answerWith: (answer: Answer) => void;
  close: () => Promise<void>;
}

const readAll = async (request: http.IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

export const listen = (server: net.Server): Promise<number> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)));

/** A provider on loopback that records what it reads and answers as told. */
export const startHttpServer = async (first: Answer): Promise<TestServer> => {
  let answer = first;
  let connections = 0;
  const received: Received[] = [];
  const server = http.createServer((request, response) => {
    void readAll(request).then((body) => {
      const seen = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
      received.push(seen);
      answer(seen, response);
    }, () => undefined);
  });
  server.on('connection', () => { connections += 1; });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    connections: () => connections,
    answerWith: (next) => { answer = next; },
    close: () => new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    }),
  };
};

/** A bare TCP server; `onConnection` does with each connection what it likes. */
export const startTcpServer = async (onConnection: (socket: net.Socket) => void) => {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    onConnection(socket);
  });
  const port = await listen(server);
  return {
    port,
    sockets,
    close: () => new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    }),
  };
};

/** A loopback port on which nothing listens. */
export const closedPort = async (): Promise<number> => {
  const { port, close } = await startTcpServer(() => undefined);
  await close();
  return port;
};

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => (_request, response) => {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};
