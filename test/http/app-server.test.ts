import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import { createAppServer } from '../../shared/http/app-server.ts';
import { listenOn, stopListening } from '../../shared/http/listening.ts';

describe('a server for an app of Express', () => {
  const { server, serve } = createAppServer({});
  let url = '';
  const seen: { request: boolean; response: boolean }[] = [];
  const prototypesOf = (...both: object[]): unknown[] => both.map((one) => Object.getPrototypeOf(one) as unknown);
  let [before, after]: unknown[][] = [];

  beforeAll(async () => {
    const app = express();
    const inner = express();
    inner.get('/', (request, response) => { response.json({ base: request.baseUrl, ip: request.ip }); });
    app.use('/inner', inner);
    app.get('/', (request, response) => {
      after = prototypesOf(request, response);
      response.status(201).json({ query: request.query, host: request.get('host') });
    });
    server.on('request', (request, response) => {
      before = prototypesOf(request, response);
      seen.push({ request: Object.getPrototypeOf(request) === app.request, response: Object.getPrototypeOf(response) === app.response });
    });
    serve(app);
    ({ url } = await listenOn(server, '127.0.0.1', 0));
  });
  afterAll(() => stopListening(server));

  it('makes requests and responses as Express wants them, so that none changes its prototype on the way', async () => {
    await fetch(url);
    expect(seen).toEqual([{ request: true, response: true }]);
    expect(after?.map((prototype, index) => prototype === before?.[index])).toEqual([true, true]);
  });

  it('answers with all that Express gives to requests and responses', async () => {
    const answer = await fetch(`${url}/?a=b`);
    expect([answer.status, await answer.json()]).toEqual([201, { query: { a: 'b' }, host: new URL(url).host }]);
  });

  it('answers for an app that is mounted in the other', async () => {
    expect(await (await fetch(`${url}/inner`)).json()).toEqual({ base: '/inner', ip: '127.0.0.1' });
  });
});
