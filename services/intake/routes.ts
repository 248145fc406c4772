import type { RequestHandler, Router } from 'express';
import { Problem } from './problem.ts';

export type Method = 'get' | 'post';

/** Adds a path with its methods; every other method is answered 405 with what is allowed. */
export const addRoute = (router: Router, path: string, methods: Partial<Record<Method, RequestHandler[]>>): void => {
  const route = router.route(path);
  if (methods.get) route.get(...methods.get);
  if (methods.post) route.post(...methods.post);
  const allowed = [methods.get ? ['GET', 'HEAD'] : [], methods.post ? ['POST'] : [], ['OPTIONS']].flat().join(', ');
  route.all((request, response) => {
    if (request.method === 'OPTIONS') response.set('Allow', allowed).sendStatus(204);
    else throw new Problem({ status: 405, code: 'method_not_allowed', detail: `This address does not answer ${request.method}. Use one of: ${allowed}.`, headers: { Allow: allowed } });
  });
};
