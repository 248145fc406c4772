import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How long requests in hand may take to finish when a server stops. */
const FINISH_WITHIN_MS = 3_000;

/** Limits for a server that anyone may talk to: a client that never finishes its request may not hold a connection for ever. */
export const SERVER_LIMITS = { requestTimeout: 60_000, headersTimeout: 15_000, keepAliveTimeout: 65_000 } as const;

const hostInUrl = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
};

/** Listens (port 0: any free one) and answers where. @throws where the port is taken. */
export const listenOn = async (server: Server, host: string, port: number): Promise<{ url: string; port: number }> => {
  server.listen(port, host);
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port;
  return { url: `http://${hostInUrl(host)}:${bound}`, port: bound };
};

/** Stops a server: no new connections, idle ones ended at once, the others after three seconds. */
export const stopListening = async (server: Server): Promise<void> => {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), FINISH_WITHIN_MS);
  await closed;
  clearTimeout(timer);
};
