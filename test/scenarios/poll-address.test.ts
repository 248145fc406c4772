import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { pollAttempt } from '../../shared/delivery/poll-attempt.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';
import { openThreadedTransports } from '../../shared/transports/threaded/open-threaded.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { json, startHttpServer } from '../transports/http-server.ts';

let at = Date.UTC(2026, 5, 1);
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let engine: Awaited<ReturnType<typeof createTestEngine>>;
let provider: Awaited<ReturnType<typeof startHttpServer>>;

beforeAll(async () => {
  database = await createTestDatabase();
  engine = await createTestEngine({ url: database.url, now: () => at });
  let sent = 0;
  provider = await startHttpServer((request, response) => json(201, { sid: `SM${sent += 1}`, status: 'queued' })(request, response));
});
afterAll(async () => {
  await engine.close();
  await provider.close();
  await database.drop();
});

const settings = () => ({
  sms: { name: 'twilio', baseUrl: provider.url, accountSid: 'AC1', authToken: 't' }, email: { name: 'smtp', url: 'smtp://127.0.0.1:1' }, timeoutMs: 5_000, now: engine.now,
}) as const;

/** The addresses that a poll hands to a transport. */
const addressesAskedWith = async (transport: Transport, ending: string): Promise<string[]> => {
  const asked: string[] = [];
  const outcome = await acceptNotification(engine, urgentRequest(ending));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  const key = `${outcome.eventId}.sms.1` as const;
  await performAttempt(engine, key, { transport, submitStartWithinMs: 60_000, actor: 'test' });
  at += 10_000;
  const recording: Transport = { ...transport, readStatus: async (request) => { asked.push(request.to); return { kind: 'not_found' }; } };
  await pollAttempt(engine, key, { transports: new Map([['twilio', recording]]), actor: 'test' });
  await transport.close();
  return asked;
};

test('the address is opened for a status only where the provider is asked by it', async () => {
  expect(await addressesAskedWith(openTransport('sms', settings()), '01')).toEqual(['']);
  expect(await addressesAskedWith({ ...openTransport('sms', settings()), statusByRecipient: true }, '02')).toEqual([urgentRequest('02').recipient.sms]);
});

test('which provider is asked by it is known of a transport in a thread as well', async () => {
  const sinch = { ...settings(), sms: { name: 'sinch', baseUrl: provider.url, planId: 'p', token: 't' } } as const;
  const [inThread] = openThreadedTransports(['sms'], sinch);
  const here = openTransport('sms', sinch);
  expect([here.statusByRecipient, inThread.statusByRecipient]).toEqual([true, true]);
  await Promise.all([here.close(), inThread.close()]);
});
