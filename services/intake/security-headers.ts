import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { RequestHandler } from 'express';
import helmet from 'helmet';
import type { Site } from './page.ts';

const security = (site: Site) => helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], styleSrc: ["'self'"], imgSrc: ["'self'", 'data:'], formAction: ["'self'"], baseUri: ["'none'"], frameAncestors: ["'none'"] },
  },
  referrerPolicy: { policy: 'no-referrer' },
  // Over plain HTTP on one machine there is nothing to upgrade to.
  strictTransportSecurity: site.publicUrl.startsWith('https:'),
});

/** What helmet sets, learnt from an answer that goes nowhere. @throws what helmet fails with. */
const learnt = (site: Site): [name: string, value: string][] => {
  const headers: [string, string][] = [];
  class Noted extends ServerResponse {
    override setHeader(name: string, value: number | string | readonly string[]): this {
      headers.push([name, String(value)]);
      return this;
    }
  }
  const request = new IncomingMessage(new Socket());
  security(site)(request, new Noted(request), (error) => { if (error !== undefined) throw error as Error; });
  return headers;
};

/** Sets helmet's headers. None of them depends on a request, so they are worked out once: a chain of a dozen steps for each answer cost more than its route. */
export const securityHeaders = (site: Site): RequestHandler => {
  const headers = learnt(site);
  return (_request, response, next) => {
    for (const [name, value] of headers) response.setHeader(name, value);
    next();
  };
};
