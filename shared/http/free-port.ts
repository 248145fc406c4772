import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** A TCP port of loopback that nobody listened on a moment ago. */
export const freePort = async (): Promise<number> => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
};
