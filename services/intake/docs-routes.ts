import type { RequestHandler, Router } from 'express';
import type { Roster } from '../../shared/content/roster.ts';
import { apiOperations } from './api-operations.ts';
import { DOCS_CSS } from './docs-css.ts';
import { docsPage } from './docs-page.ts';
import { openApiDocument } from './openapi.ts';
import type { Site } from './page.ts';
import { addRoute } from './routes.ts';

/** The API's own document, for programs and for people. Made once: it changes with the program and its roster only. */
export const addDocsRoutes = (router: Router, { site, roster, demo }: { site: Site; roster: Roster; demo: boolean }): void => {
  const document = openApiDocument(apiOperations(roster, demo), site.publicUrl);
  const json = JSON.stringify(document);
  const html = docsPage(site, document);
  const send = (type: string, text: string): { get: RequestHandler[] } => ({
    get: [(_request, response) => { response.set('Cache-Control', 'public, max-age=300').type(type).send(text); }],
  });
  addRoute(router, '/openapi.json', send('application/json', json));
  addRoute(router, '/docs', send('html', html));
  addRoute(router, '/docs.css', send('css', DOCS_CSS));
};
