import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { z } from 'zod';
import { apiOperations } from '../../services/intake/api-operations.ts';
import type { Answer, Operation } from '../../services/intake/api-operation.ts';
import { problem } from '../../services/intake/api-answers.ts';
import { createApp } from '../../services/intake/intake.ts';
import { openApiDocument, templatePath } from '../../services/intake/openapi.ts';
import type { Json } from '../../services/intake/openapi.ts';
import { siteAt } from '../../services/intake/page.ts';
import type { Rig } from './rig.ts';
import { ask, createRig, postJson, roster } from './rig.ts';

const operations = apiOperations(roster, true);
const document = openApiDocument(operations, 'https://tocsin.example.com');
const paths = document['paths'] as Record<string, Record<string, { operationId: string; parameters: Json[]; responses: Record<string, { content?: Record<string, { schema?: Json; example?: unknown }> }>; requestBody?: { content: Record<string, { schema: Json; example: unknown }> } }>>;
const byId = (id: string): Operation => operations.find((one) => one.id === id) as Operation;
const schemaOf = (id: string, status: number): z.ZodType => (byId(id).answers[status] as Answer).schema as z.ZodType;
const CONFIG = { host: '127.0.0.1', port: 0, publicUrl: null, demo: true, trustProxy: 0, ticketsPerMinute: { address: 600, player: 30 } };

describe('the OpenAPI document', () => {
  let rig: Rig;
  let url = '';
  let key = '';
  beforeAll(async () => {
    rig = await createRig();
    ({ url } = await rig.start());
    key = await rig.createKey('acme');
  });
  afterAll(() => rig.close());

  test('has every route that intake answers, and no other', () => {
    const app = createApp({ engine: rig.engine, roster, dashboardUrl: 'https://dashboard.example', log: rig.log, config: CONFIG }, siteAt('https://tocsin.example.com'));
    const layers = (app as unknown as { router: { stack: { route?: { path: string; methods: Record<string, boolean> } }[] } }).router.stack;
    const routes = layers.flatMap(({ route }) => (route ? Object.keys(route.methods).filter((method) => method !== '_all').map((method) => `${method} ${templatePath(route.path)}`) : []));
    expect(routes.length).toBeGreaterThan(15);
    const documented = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
    expect(documented.sort()).toEqual(routes.sort());
  });

  test('is served as it is made, and names each operation once and each path parameter', async () => {
    const { body, headers } = await ask(`${url}/openapi.json`);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect({ ...body, servers: [] }).toEqual(JSON.parse(JSON.stringify({ ...document, servers: [] })));
    expect([body['openapi'], (body['servers'] as Json[])[0]]).toEqual(['3.1.0', { url }]);
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
    for (const [path, methods] of Object.entries(paths)) {
      for (const { parameters } of Object.values(methods)) {
        expect(parameters.filter((one) => one['in'] === 'path').map((one) => `{${String(one['name'])}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      }
    }
  });

  test('says of a body what the schema that validates it says, with the words of its refusals', () => {
    const { schema } = paths['/notifications']?.['post']?.requestBody?.content['application/json'] as { schema: Json };
    const { properties } = schema as { properties: Record<string, Json> };
    expect(schema['required']).toEqual(['purpose', 'recipient']);
    expect(schema['additionalProperties']).toBe(false);
    const { region, ref } = (properties['recipient'] as { properties: Record<string, Json> }).properties;
    expect(region).toMatchObject({ type: 'string', pattern: '^[A-Z]{2}$', description: 'Give two capital letters, such as US or EU.' });
    expect(ref).toMatchObject({ minLength: 1, maxLength: 200 });
    expect(Object.keys(paths['/tickets']?.['post']?.requestBody?.content ?? {})).toEqual(['application/json', 'application/x-www-form-urlencoded']);
  });

  test.each(operations.map((operation) => [operation.id, operation] as const))('has valid examples at %s', (_id, { body, answers, query }) => {
    if (body) expect(body.schema.safeParse(body.example).error?.issues ?? []).toEqual([]);
    if (query) expect(query.schema.safeParse(query.examples).error?.issues ?? []).toEqual([]);
    for (const { schema, example } of Object.values(answers)) if (schema) expect(schema.safeParse(example).error?.issues ?? []).toEqual([]);
  });

  test('has an example of each problem that is one', () => {
    const examples = Object.values(paths).flatMap((methods) => Object.values(methods)).flatMap(({ responses }) => Object.values(responses).map(({ content }) => content?.['application/problem+json']?.example)).filter((one) => one !== undefined);
    expect(examples.length).toBeGreaterThan(40);
    for (const one of examples) expect(problem.safeParse(one).error?.issues ?? []).toEqual([]);
  });

  test('tells the truth: its examples are accepted, and real answers have the shape it says', async () => {
    const auth = { Authorization: `Bearer ${key}` };
    const holds = (id: string, answer: { status: number; body: unknown }): void => {
      expect([id, answer.status, Object.keys(byId(id).answers)]).toEqual([id, answer.status, expect.arrayContaining([String(answer.status)])]);
      expect([id, schemaOf(id, answer.status).safeParse(answer.body).error?.issues ?? []]).toEqual([id, []]);
    };
    for (const id of ['takeTicket', 'sendNotification']) {
      const { path, body } = byId(id);
      for (let times = 0; times < 2; times += 1) holds(id, await postJson(`${url}${path}`, body?.example, { ...auth, 'Idempotency-Key': 'openapi-1' }));
    }
    const sent = await postJson(`${url}/notifications`, byId('sendNotification').body?.example, { ...auth, 'Idempotency-Key': 'openapi-2' });
    const at = `${url}/notifications/${String(sent.body['event_id'])}`;
    holds('getNotification', await ask(at, { headers: auth }));
    holds('getHistory', await ask(`${at}/history`, { headers: auth }));
    holds('getExplanation', await ask(`${at}/explanation`, { headers: auth }));
    for (const id of ['pauseNotification', 'resumeNotification', 'closeNotification']) holds(id, await postJson(`${at}/${id.replace('Notification', '')}`, byId(id).body?.example, auth));
    holds('getNotification', await ask(at, { headers: auth }));
    holds('closeByKey', await postJson(`${url}/notifications/close`, { ...byId('closeByKey').body?.example, idempotency_key: 'openapi-1' }, auth));
    holds('readFeed', await ask(`${url}/notifications?limit=50`, { headers: auth }));
    for (const id of ['getHealth', 'getReadiness', 'getEngineHealth']) holds(id, await ask(`${url}${byId(id).path}`));
    const ticket = await postJson(`${url}/tickets`, byId('takeTicket').body?.example, { 'Idempotency-Key': 'openapi-3' });
    holds('getReceipt', await ask(String(ticket.body['status_url'])));
  });

  test('names the codes of real problems, which have the shape it says', async () => {
    const auth = { Authorization: `Bearer ${key}` };
    const refused = [
      ['post', '/notifications', await postJson(`${url}/notifications`, {}, { ...auth, 'Idempotency-Key': 'x' })], ['post', '/notifications', await postJson(`${url}/notifications`, {}, auth)],
      ['post', '/notifications', await postJson(`${url}/notifications`, '{', auth)], ['post', '/notifications', await postJson(`${url}/notifications`, {})],
      ['get', '/notifications', await ask(`${url}/notifications?after=x`, { headers: auth })], ['get', '/notifications/{event_id}', await ask(`${url}/notifications/evt_x`, { headers: auth })],
      ['post', '/tickets', await postJson(`${url}/tickets`, { on_call: 3 })], ['post', '/tickets', await ask(`${url}/tickets`, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: 'x' })],
    ] as const;
    for (const [method, path, { status, body, headers }] of refused) {
      expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(problem.safeParse(body).error?.issues ?? []).toEqual([]);
      const documented = paths[path]?.[method]?.responses[String(status)] as { description: string };
      expect([path, status, documented?.description]).toEqual([path, status, expect.stringContaining(`\`${String(body['code'])}\``)]);
    }
  });

  test('is a page to read as well, with no script and nothing from elsewhere', async () => {
    const { text, headers, status } = await ask(`${url}/docs`);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(text).not.toMatch(/<script|<style| style=|(?:src|href)="(?:https?:)?\/\//i);
    for (const { id, path } of operations) expect([text.includes(`id="${id}"`), text.includes(templatePath(path))]).toEqual([true, true]);
    expect((await ask(`${url}/docs.css`)).headers.get('content-type')).toMatch(/^text\/css/);
  });
});
