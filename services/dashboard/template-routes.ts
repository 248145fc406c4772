import type { Response, Router } from 'express';
import { previewTemplate, sampleVariables } from '../../shared/content/preview.ts';
import { resolveLocale } from '../../shared/content/template.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { listPolicyVersions, listTemplateVersions } from '../../shared/ledger/activations.ts';
import { refuseFilter, wrongFilter } from './filter-rules.ts';
import type { PreviewView } from './template-page.ts';
import { templateListPage, templatePreviewPage } from './template-page.ts';

const listed = async ({ db }: Engine) => {
  const [templates, policies] = await Promise.all([listTemplateVersions(db), listPolicyVersions(db)]);
  const active = policies.filter((policy) => policy.active);
  return templates.map(({ name, version, definition, publishedAt }) => ({
    template: definition as TemplateVersion, publishedAt,
    usedBy: active.filter(({ definition: { steps } }) => steps.some((step) => step.template === name && step.templateVersion === version)).map((policy) => `${policy.purpose} ${policy.version}`),
  })).sort(({ template: one }, { template: other }) => (one.name === other.name ? other.version - one.version : one.name < other.name ? -1 : 1));
};

/** The values of the form; samples where the page is opened first. */
const valuesOf = (template: TemplateVersion, query: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(Object.entries(sampleVariables(template)).map(([name, sample]) => [name, typeof query[`v.${name}`] === 'string' ? String(query[`v.${name}`]).replaceAll('\r\n', '\n') : sample]));

const viewOf = async ({ db }: Engine, name: string, version: string, query: Record<string, unknown>): Promise<PreviewView | null> => {
  const all = (await listTemplateVersions(db)).filter((one) => one.name === name);
  const template = all.find((one) => String(one.version) === version)?.definition as TemplateVersion | undefined;
  if (!template) return null;
  const locale = resolveLocale(template, typeof query['locale'] === 'string' ? query['locale'] : template.fallbackLocale);
  const values = valuesOf(template, query);
  const again = new URLSearchParams({ locale, ...Object.fromEntries(Object.entries(values).map(([variable, value]) => [`v.${variable}`, value])) });
  return { template, versions: all.map((one) => one.version), locale, values, preview: previewTemplate(template, { locale, variables: values }), query: `?${again.toString()}` };
};

/** What an email's HTML part may do in its frame: show itself, in its own styles. */
const MAIL_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox";

/** The pages of templates: the list, and a version's message from sample values. Nothing is sent, and nothing kept. */
export const addTemplatePages = (router: Router, engine: Engine, sendMissing: (response: Response) => void): void => {
  router.get('/templates', async (request, response) => {
    const wrong = wrongFilter(request.query, {});
    if (wrong !== null) return refuseFilter(request, response, wrong);
    response.type('html').send(templateListPage(await listed(engine)));
  });
  router.get('/templates/:name/:version', async (request, response) => {
    const view = await viewOf(engine, request.params.name, request.params.version, request.query);
    if (view) response.status(view.preview.ok ? 200 : 422).type('html').send(templatePreviewPage(view));
    else sendMissing(response);
  });
  router.get('/templates/:name/:version/html', async (request, response) => {
    const view = await viewOf(engine, request.params.name, request.params.version, request.query);
    const html = view?.preview.ok ? view.preview.texts.html : undefined;
    if (html === undefined) sendMissing(response);
    else {
      // In its sandbox it has no origin to be keyed by, and a browser would complain of the header on every page after it.
      response.removeHeader('Origin-Agent-Cluster');
      response.set('Content-Security-Policy', MAIL_POLICY).type('html').send(html);
    }
  });
};
