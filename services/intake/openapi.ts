import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { productVersion } from '../../shared/telemetry/version.ts';
import { problem } from './api-answers.ts';
import type { Answer, Operation, Parameter } from './api-operation.ts';
import type { Cures } from './faults.ts';

export type Json = Record<string, unknown>;

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** What to give, at each field: the same words that a refusal uses as its cure. */
const describeFields = (schema: Json, cures: Cures, path: readonly string[] = []): Json => {
  const cure = cures[path.join('.')];
  const described: Json = { ...schema, ...(cure === undefined || path.length === 0 ? {} : { description: sentence(cure) }) };
  const properties = schema['properties'] as Record<string, Json> | undefined;
  if (properties) described['properties'] = Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, describeFields(inner, cures, [...path, name])]));
  if (schema['items']) described['items'] = describeFields(schema['items'] as Json, cures, [...path, '*']);
  return described;
};

/** JSON Schema of what a zod schema takes (`input`) or gives. Rules that JSON Schema cannot say stand in the descriptions. */
export const jsonSchema = (schema: z.ZodType, how: { io: 'input' | 'output'; cures?: Cures }): Json => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: how.io, target: 'draft-2020-12', unrepresentable: 'any' }) as Json;
  void $schema;
  return describeFields(rest, how.cures ?? {});
};

const REQUEST_ID = { 'X-Request-Id': { description: 'Yours, where you sent a UUID or ULID.', schema: { type: 'string' } } };
const header = (description: string) => ({ description, schema: { type: 'string' } });
const PROBLEM_HEADERS: Record<number, Json> = {
  401: { 'WWW-Authenticate': header('Bearer') }, 429: { 'Retry-After': header('Seconds.') }, 503: { 'Retry-After': header('Seconds, where it is known.') },
};

const problemAnswer = (status: number, codes: readonly string[]): Json => ({
  description: `${STATUS_CODES[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
  headers: { ...REQUEST_ID, ...PROBLEM_HEADERS[status] },
  content: { 'application/problem+json': {
    schema: { allOf: [{ $ref: '#/components/schemas/Problem' }, { properties: { code: { examples: codes } } }] },
    example: { type: 'about:blank', title: STATUS_CODES[status], status, code: codes[0], detail: 'What happened, and what to do.', request_id: '0b6d2c1e-9f1a-4c51-8a55-1f0e5f6f7c11' },
  } },
});

const answerOf = ({ description, schema, example, mediaType, headers }: Answer): Json => ({
  description, headers: { ...REQUEST_ID, ...Object.fromEntries(Object.entries(headers ?? {}).map(([name, told]) => [name, header(told)])) },
  ...(schema ? { content: { 'application/json': { schema: jsonSchema(schema, { io: 'output' }), example } } } : {}),
  ...(mediaType === undefined ? {} : { content: { [mediaType]: { schema: mediaType === 'application/json' ? {} : { type: 'string' } } } }),
});

const parameterOf = ({ name, in: place, required, description, example, pattern }: Parameter): Json =>
  ({ name, in: place, required, description, schema: { type: 'string', ...(pattern === undefined ? {} : { pattern }) }, example });

const queryOf = ({ schema, cures, examples }: NonNullable<Operation['query']>): Json[] => {
  const { properties = {}, required = [] } = jsonSchema(schema, { io: 'input', cures }) as { properties?: Record<string, Json>; required?: string[] };
  return Object.entries(properties).map(([name, { description, ...inner }]) =>
    ({ name, in: 'query', required: required.includes(name), description, schema: inner, ...(examples[name] === undefined ? {} : { example: examples[name] }) }));
};

/** What every call may come to, beside its own. */
const commonProblems = ({ needsKey, group }: Operation): Record<number, readonly string[] | undefined> => ({
  401: needsKey ? ['unauthorized'] : undefined, 403: needsKey ? ['insufficient_scope'] : undefined, 500: ['internal_error'], 503: group === 'Tickets' || group === 'Notifications' ? ['database_away'] : undefined,
});

const operationOf = (operation: Operation): Json => {
  const { id, group, summary, description, needsKey, parameters = [], query, body, answers, scope } = operation;
  const problems = { ...commonProblems(operation), ...operation.problems };
  const requestSchema = body && jsonSchema(body.schema, { io: 'input', cures: body.cures });
  const content = body && { schema: requestSchema, example: body.example };
  return {
    operationId: id, tags: [group], summary, ...(description === undefined ? {} : { description }), ...(needsKey ? { security: [{ apiKey: scope === undefined ? [] : [scope] }] } : { security: [] }),
    parameters: [...parameters.map(parameterOf), ...(query ? queryOf(query) : [])],
    ...(content ? { requestBody: { required: true, content: { ...(body.form === 'only' ? {} : { 'application/json': content }), ...(body.form ? { 'application/x-www-form-urlencoded': content } : {}) } } } : {}),
    ...(operation.binary ? { requestBody: { required: true, content: Object.fromEntries(operation.binary.map((type) => [type, { schema: { type: 'string', format: 'binary' } }])) } } : {}),
    responses: Object.fromEntries([
      ...Object.entries(answers).map(([status, answer]) => [status, answerOf(answer)] as const),
      ...Object.entries(problems).flatMap(([status, codes]) => (codes ? [[status, problemAnswer(Number(status), codes)] as const] : [])),
    ]),
  };
};

/** The path as OpenAPI writes it. */
export const templatePath = (path: string): string => path.replace(/:(\w+)/g, '{$1}');

/** The OpenAPI 3.1 document of these calls, made of the schemas that validate them. */
export const openApiDocument = (operations: readonly Operation[], publicUrl: string): Json => {
  const paths: Record<string, Json> = {};
  for (const operation of operations) (paths[templatePath(operation.path)] ??= {})[operation.method] = operationOf(operation);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tocsin', version: productVersion(),
      description: 'Urgent notices by SMS and email that can be proved afterwards. Errors are RFC 9457 problem details with a stable `code`. Clients must bear statuses and outcomes that they do not know.',
    },
    servers: [{ url: publicUrl }],
    tags: ['Tickets', 'Notifications', 'Operations', 'Pages'].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key (`tocsin key create`); it sees what belongs to its tenant, and does what its scopes say.' } },
      schemas: { Problem: jsonSchema(problem, { io: 'output' }) },
    },
  };
};
