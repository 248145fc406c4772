import { createServer } from 'node:http';
import { listenOn, SERVER_LIMITS, stopListening } from './listening.ts';

export interface MetricsServer { url: string; close: () => Promise<void> }

/** A small server for a service that has none of its own: `/healthz` and `/metrics`, nothing else. @throws where the port is taken. */
export const startMetricsServer = async (settings: { host: string; port: number; scrape: () => Promise<{ type: string; text: string }> }): Promise<MetricsServer> => {
  const server = createServer(SERVER_LIMITS, (request, response) => {
    const path = (request.url ?? '').split('?')[0];
    const answer = (status: number, type: string, text: string): void => {
      response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }).end(request.method === 'HEAD' ? '' : text);
    };
    const known = path === '/healthz' || path === '/metrics';
    if (!known) answer(404, 'text/plain; charset=utf-8', 'There are /healthz and /metrics.\n');
    else if (request.method !== 'GET' && request.method !== 'HEAD') answer(405, 'text/plain; charset=utf-8', 'Use GET.\n');
    else if (path === '/healthz') answer(200, 'application/json', '{"status":"alive"}');
    else settings.scrape().then(({ type, text }) => answer(200, type, text), () => answer(500, 'text/plain; charset=utf-8', 'The metrics could not be read.\n'));
  });
  const { url } = await listenOn(server, settings.host, settings.port);
  return { url, close: () => stopListening(server) };
};
