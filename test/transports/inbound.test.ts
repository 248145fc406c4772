import { afterEach, beforeEach, describe, expect, it, test } from '@jest/globals';
import { createSinchTransport } from '../../shared/transports/sinch/client.ts';
import { createTwilioTransport } from '../../shared/transports/twilio/client.ts';
import type { TestServer } from './http-server.ts';
import { json, startHttpServer } from './http-server.ts';
import { UNUSABLE_IDS } from './unusable-ids.ts';

/** Ids that are texts, and can still not be kept. */
const STRANGE_IDS = UNUSABLE_IDS.filter((id) => typeof id === 'string' && id !== '');

const SINCE = Date.parse('2026-11-30T10:00:00Z');
const OURS = '+12025550100';
let server: TestServer;
beforeEach(async () => { server = await startHttpServer(json(200, {})); });
afterEach(() => server.close());

describe('inbound messages at Twilio', () => {
  const at = () => createTwilioTransport({ baseUrl: server.url, accountSid: 'AC1', authToken: 't', timeoutMs: 500, now: () => 0 });
  const message = (over: Record<string, unknown> = {}) => ({ sid: 'SM1', direction: 'inbound', from: '+12025550101', to: OURS, body: 'STOP', date_sent: 'Mon, 30 Nov 2026 10:00:05 +0000', status: 'received', ...over });
  const read = async (to = OURS, page: string | null = null) => {
    const transport = at();
    const reading = await transport.readInbound({ to, since: SINCE, page });
    await transport.close();
    return reading;
  };

  it('asks by our number and instant, and goes on where the answer says', async () => {
    server.answerWith(json(200, { messages: [message()], next_page_uri: '/2010-04-01/Accounts/AC1/Messages.json?Page=1' }));
    expect(await read()).toEqual({ kind: 'read', messages: [{ id: 'SM1', from: '+12025550101', text: 'STOP', receivedAt: SINCE + 5_000 }], next: '/2010-04-01/Accounts/AC1/Messages.json?Page=1' });
    await read(OURS, '/2010-04-01/Accounts/AC1/Messages.json?Page=1');
    expect(server.received.map(({ url }) => decodeURIComponent(url))).toEqual([
      '/2010-04-01/Accounts/AC1/Messages.json?To=+12025550100&DateSent>=2026-11-30T10:00:00Z&PageSize=100'.replace('To=+', 'To=+'), '/2010-04-01/Accounts/AC1/Messages.json?Page=1',
    ]);
  });

  it('stops at the first that is too old, where the filter is by whole days', async () => {
    server.answerWith(json(200, { messages: [message(), message({ sid: 'SM0', date_sent: 'Mon, 30 Nov 2026 09:00:00 +0000' })], next_page_uri: '/more' }));
    expect(await read()).toMatchObject({ messages: [{ id: 'SM1' }, { id: 'SM0' }], next: null });
  });

  test.each([
    ['one of ours', { direction: 'outbound-api' }], ['one to another number', { to: '+12025550199' }], ['one without an id', { sid: null }], ['one without a text', { body: null }],
    ['one without an instant', { date_sent: null }], ['something else', { direction: 7, from: {} }],
  ])('passes over %s', async (_name, over) => {
    server.answerWith(json(200, { messages: [message(over), 'x', null] }));
    expect(await read()).toEqual({ kind: 'read', messages: [], next: null });
  });

  test.each(STRANGE_IDS)('hears a message under the id %j, and keeps a digest of that', async (sid) => {
    server.answerWith(json(200, { messages: [message({ sid })] }));
    expect(await read()).toMatchObject({ messages: [{ id: expect.stringMatching(/^[0-9a-f]{64}$/), text: 'STOP' }] });
  });

  it('asks without a number for a messaging service, and takes what came to it', async () => {
    const service = `MG${'a'.repeat(32)}`;
    server.answerWith(json(200, { messages: [message({ messaging_service_sid: service }), message({ sid: 'SM2', messaging_service_sid: 'MG2' })] }));
    expect(await read(service)).toMatchObject({ messages: [{ id: 'SM1' }] });
    expect(server.received[0]?.url).not.toContain('To=');
  });

  it('sends its credentials nowhere else, and takes nonsense and errors for failed reads', async () => {
    expect(await read(OURS, 'https://evil.example/next')).toMatchObject({ kind: 'read_failed' });
    expect(server.received).toEqual([]);
    for (const answer of [json(200, { messages: 'x' }), json(200, []), json(404, { code: 20404 }), json(500, {})]) {
      server.answerWith(answer);
      expect(await read()).toMatchObject({ kind: 'read_failed' });
    }
  });
});

describe('inbound messages at Sinch', () => {
  const inbound = (over: Record<string, unknown> = {}) => ({ type: 'mo_text', id: '01A', from: '12025550101', to: '12025550100', body: 'STOP', received_at: '2026-11-30T10:00:05.123Z', ...over });
  const read = async (page: string | null = null) => {
    const transport = createSinchTransport({ baseUrl: server.url, planId: 'p1', token: 't', timeoutMs: 500, now: () => 0 });
    const reading = await transport.readInbound({ to: OURS, since: SINCE, page });
    await transport.close();
    return reading;
  };

  it('asks by our number and instant, and counts what it has seen: a page may hold fewer than asked for', async () => {
    server.answerWith(json(200, { count: 3, page: 0, page_size: 1, inbounds: [inbound()] }));
    expect(await read()).toEqual({ kind: 'read', messages: [{ id: '01A', from: '+12025550101', text: 'STOP', receivedAt: SINCE + 5_123 }], next: '1:1' });
    expect(await read('1:1')).toMatchObject({ next: '2:2' });
    expect(await read('2:2')).toMatchObject({ next: null });
    server.answerWith(json(200, { count: 9, inbounds: [] }));
    expect(await read('3:3')).toEqual({ kind: 'read', messages: [], next: null });
    expect(server.received[1]?.url).toBe('/xms/v1/p1/inbounds?to=12025550100&start_date=2026-11-30T10%3A00%3A00.000Z&page=1&page_size=100');
  });

  test.each(STRANGE_IDS)('hears a message under the id %j, and keeps a digest of that', async (id) => {
    server.answerWith(json(200, { count: 1, inbounds: [inbound({ id })] }));
    expect(await read()).toMatchObject({ messages: [{ id: expect.stringMatching(/^[0-9a-f]{64}$/), text: 'STOP' }] });
  });

  test.each([['a binary message', { type: 'mo_binary' }], ['one to another number', { to: '12025550199' }], ['one without an id', { id: '' }], ['one without an instant', { received_at: 'soon' }]])('passes over %s', async (_name, over) => {
    server.answerWith(json(200, { count: 2, inbounds: [inbound(over), 'x'] }));
    expect(await read()).toEqual({ kind: 'read', messages: [], next: null });
  });

  it('takes nonsense and errors for failed reads', async () => {
    for (const answer of [json(200, { inbounds: [] }), json(200, []), json(404, {}), json(401, {})]) {
      server.answerWith(answer);
      expect(await read()).toMatchObject({ kind: 'read_failed' });
    }
  });
});
