import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface TcpProxy {
  port: number;
  /** Ends every connection and refuses new ones by closing them at once. */
  cut: () => void;
  restore: () => void;
  close: () => Promise<void>;
}

/** A proxy on loopback whose other side can be taken away and given back. */
export const openTcpProxy = async (target: { host: string; port: number }): Promise<TcpProxy> => {
  const sockets = new Set<Socket>();
  let away = false;
  const server = createServer((client) => {
    if (away) return void client.destroy();
    const upstream = connect(target);
    for (const [one, other] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on('error', () => other.destroy());
      one.on('close', () => { sockets.delete(one); other.destroy(); });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endAll = (): void => { for (const socket of [...sockets]) socket.destroy(); };
  return {
    port: (server.address() as AddressInfo).port,
    cut: () => { away = true; endAll(); },
    restore: () => { away = false; },
    close: () => new Promise((resolve) => { endAll(); server.close(() => resolve()); }),
  };
};

/** The same URL through a proxy. */
export const through = async (url: string): Promise<{ url: string; proxy: TcpProxy }> => {
  const parsed = new URL(url);
  const proxy = await openTcpProxy({ host: parsed.hostname, port: Number(parsed.port || (parsed.protocol.startsWith('redis') ? 6379 : 5432)) });
  parsed.hostname = '127.0.0.1';
  parsed.port = String(proxy.port);
  return { url: parsed.href, proxy };
};
