import type { RequestHandler } from 'express';
import { page } from './page.ts';

const hostOf = (origin: string): string | null => (URL.canParse(origin) ? new URL(origin).host : null);

/**
 * Refuses what changes something and comes from a page of another site: a browser sends the operator's login along whoever asks.
 * A browser names the asking page's origin with every such request; where no origin stands it is a program.
 */
export const sameOrigin: RequestHandler = (request, response, next) => {
  if (request.method === 'GET' || request.method === 'HEAD') {
    next();
    return;
  }
  const { origin, host } = request.headers;
  const site = request.headers['sec-fetch-site'];
  // A browser that says where the request comes from is believed before its origin, which is null where no referrer is sent.
  const foreign = site !== undefined ? site !== 'same-origin' && site !== 'none' : origin !== undefined && hostOf(origin) !== host;
  if (!foreign) {
    next();
    return;
  }
  response.status(403).set('Cache-Control', 'no-store').type('html').send(page('Not from there', '<h1>This came from another site</h1><p>Open the dashboard itself and try again.</p>'));
};
