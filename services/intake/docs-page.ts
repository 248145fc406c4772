import { escapeHtml } from '../../shared/http/escape-html.ts';
import type { Json } from './openapi.ts';
import type { Site } from './page.ts';

interface Shown { operationId: string; tags: string[]; summary: string; description?: string; security: Record<string, string[] | undefined>[]; parameters: Json[]; requestBody?: { content: Record<string, { schema: Json; example: unknown }> }; responses: Record<string, { description: string; content?: Record<string, { example?: unknown }> }> }

/** Text with `code` in it. */
const prose = (text: string): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');

const kindOf = (schema: Json): string => {
  const { type, anyOf, items, format } = schema as { type?: string; anyOf?: Json[]; items?: Json; format?: string };
  if (anyOf) return [...new Set(anyOf.map(kindOf))].join(' or ');
  if (type === 'array') return `list of ${items ? kindOf(items) : 'anything'}`;
  return `${type ?? 'anything'}${format === undefined ? '' : `, ${format}`}`;
};

const limitsOf = ({ maxLength, maxItems }: Json): string => (maxLength === undefined ? '' : `, at most ${String(maxLength)} characters`) + (maxItems === undefined ? '' : `, at most ${String(maxItems)}`);

interface Field { name: string; kind: string; required: boolean; description: string }

/** The members that an object has somewhere in a schema, also where it may be null. */
const objectIn = (schema: Json): Json | null => {
  if (schema['properties']) return schema;
  return (schema['anyOf'] as Json[] | undefined)?.map(objectIn).find((one) => one !== null) ?? null;
};

const fieldsOf = (schema: Json, before = ''): Field[] => {
  const object = objectIn(schema);
  if (!object) return [];
  const required = (object['required'] ?? []) as string[];
  return Object.entries(object['properties'] as Record<string, Json>).flatMap(([name, inner]) => [
    { name: `${before}${name}`, kind: `${kindOf(inner)}${limitsOf(inner)}`, required: required.includes(name) && inner['default'] === undefined, description: String(inner['description'] ?? '') },
    ...(inner['type'] === 'array' ? [] : fieldsOf(inner, `${before}${name}.`)),
  ]);
};

const fieldList = (fields: readonly Field[]): string => `<ul class="fields">${fields.map(({ name, kind, required, description }) =>
  `<li><code>${escapeHtml(name)}</code> <span class="soft">${escapeHtml(kind)}</span>${required ? ' <span class="must">required</span>' : ''}${description === '' ? '' : `<br>${prose(description)}`}</li>`).join('')}</ul>`;

const example = (heading: string, value: unknown): string =>
  (value === undefined ? '' : `<details><summary>${escapeHtml(heading)}</summary><pre tabindex="0">${escapeHtml(typeof value === 'string' ? value : JSON.stringify(value, null, 2))}</pre></details>`);

const answers = (shown: Shown): string => {
  const lines = Object.entries(shown.responses).map(([status, { description, content }]) => {
    const given = Number(status) < 400 ? Object.values(content ?? {})[0]?.example : undefined;
    return `<li><code>${status}</code> ${prose(description)}${example('Example', given)}</li>`;
  });
  return `<h4>Answers</h4><ul class="fields">${lines.join('')}</ul>`;
};

const neededKey = ({ security: [needed] }: Shown): string =>
  (needed === undefined ? '' : ` Needs an API key${(needed['apiKey'] ?? []).map((scope) => ` with the scope <code>${escapeHtml(scope)}</code>`).join('')}.`);

const call = (method: string, path: string, shown: Shown): string => {
  const parameters = shown.parameters.map(({ name, in: place, required, description }): Field => ({ name: String(name), kind: `in the ${String(place)}`, required: required === true, description: String(description ?? '') }));
  const [body] = Object.values(shown.requestBody?.content ?? {});
  const types = Object.keys(shown.requestBody?.content ?? {}).join(' or ');
  return `<section class="card call" id="${escapeHtml(shown.operationId)}"><h3><span class="method">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code></h3>
<p>${escapeHtml(shown.summary)}. ${prose(shown.description ?? '')}${neededKey(shown)}</p>
${parameters.length > 0 ? `<h4>Parameters</h4>${fieldList(parameters)}` : ''}
${body ? `<h4>Body: ${escapeHtml(types)}</h4>${fieldList(fieldsOf(body.schema))}${example('Example of a body', body.example)}` : ''}
${answers(shown)}</section>`;
};

const callsOf = (document: Json): { method: string; path: string; shown: Shown }[] =>
  Object.entries(document['paths'] as Record<string, Record<string, Shown>>).flatMap(([path, methods]) => Object.entries(methods).map(([method, shown]) => ({ method, path, shown })));

/** The API's document as one page to read: no script, and nothing from elsewhere. */
export const docsPage = (site: Site, document: Json): string => {
  const calls = callsOf(document);
  const { title, version, description } = document['info'] as { title: string; version: string; description: string };
  const groups = (document['tags'] as { name: string }[]).map(({ name }) => ({ name, calls: calls.filter(({ shown }) => shown.tags.includes(name)) }));
  const base = escapeHtml(site.basePath);
  const index = groups.map((group) => `<h3>${escapeHtml(group.name)}</h3><ul>${group.calls.map(({ method, path, shown }) =>
    `<li><a href="#${escapeHtml(shown.operationId)}"><span class="method">${method.toUpperCase()}</span> ${escapeHtml(path)}</a></li>`).join('')}</ul>`).join('');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><meta name="color-scheme" content="light dark"><title>${escapeHtml(title)} API ${escapeHtml(version)}</title>
<link rel="stylesheet" href="${base}/pages.css"><link rel="stylesheet" href="${base}/docs.css"><link rel="icon" href="data:,"></head>
<body class="docs"><header class="top"><a href="${base}/docs">${escapeHtml(title)} API</a></header>
<main><h1>${escapeHtml(title)} API <span class="soft">${escapeHtml(version)}</span></h1><p>${prose(description)}</p>
<p>For programs: <a href="${base}/openapi.json">openapi.json</a> (OpenAPI 3.1). An API key goes into <code>Authorization: Bearer tk_…</code>.</p>
<nav aria-label="Calls">${index}</nav>
${groups.map((group) => `<h2>${escapeHtml(group.name)}</h2>${group.calls.map(({ method, path, shown }) => call(method, path, shown)).join('')}`).join('')}
</main></body></html>`;
};
