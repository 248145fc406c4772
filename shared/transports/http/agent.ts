import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';

/** Free sockets are dropped before the provider's usual keep-alive limit, and a second before an announced one. */
const FREE_SOCKET_MS = 4_000;

export interface KeepAliveAgent {
  agent: http.Agent;
  /** Whether the connection (for https: its handshake too) stands, so that a request may be written to it. */
  isReady: (socket: Duplex) => boolean;
  /** The event by which a socket that is not ready yet becomes it. */
  readyEvent: 'connect' | 'secureConnect';
}

/**
 * A keep-alive agent that knows of each socket whether it is ready. Node announces a socket before it is connected, and a
 * request queued for a slot may be given either kind.
 */
export const createKeepAliveAgent = (secure: boolean, maxSockets: number): KeepAliveAgent => {
  const readyEvent = secure ? 'secureConnect' : 'connect';
  const ready = new WeakSet<Duplex>();
  const options = { keepAlive: true, maxSockets, timeout: FREE_SOCKET_MS, scheduling: 'lifo' } as const;
  const agent: http.Agent = secure ? new https.Agent(options) : new http.Agent(options);
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (target, callback) => {
    const socket = connect(target, callback);
    socket?.once(readyEvent, () => ready.add(socket));
    return socket;
  };
  return { agent, readyEvent, isReady: (socket) => ready.has(socket) };
};
