import { Router } from 'express';
import type { Express } from 'express';
import { page } from './page.ts';

const methodsByPath = (app: Express): Map<string, Set<string>> => {
  const found = new Map<string, Set<string>>();
  for (const { route } of app.router.stack) {
    if (!route) continue;
    const methods = found.get(route.path) ?? new Set<string>();
    for (const { method } of route.stack) for (const one of method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]) methods.add(one);
    found.set(route.path, methods);
  }
  return found;
};

/** To be used after every route of the application: whoever would change what he cannot is told what the address does answer; one that there is not goes on. */
export const otherMethods = (app: Express): Router => {
  const router = Router();
  for (const [path, methods] of methodsByPath(app)) {
    const allowed = [...methods].join(', ');
    router.all(path, (request, response, next) => {
      if (request.method === 'GET' || request.method === 'HEAD') return next();
      const can = methods.has('POST') ? `It answers ${allowed}.` : 'This page can only be read.';
      response.status(405).set('Allow', allowed).type('html').send(page('Not possible', `<h1>That does not work here</h1><p>${can}</p>`));
    });
  }
  return router;
};
