import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startCoordinator } from '../../services/coordinator/coordinator.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { createRelay } from '../../shared/delivery/relay.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';
import { within } from '../audit/waiting.ts';
import { makeRig } from '../queue/rig.ts';
import type { Rig } from '../queue/rig.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { startHttpServer } from '../transports/http-server.ts';

const FIRST_POLL_MS = 10_000;
let at = Date.UTC(2026, 5, 1);
let rig: Rig;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let base: Awaited<ReturnType<typeof createTestEngine>>;
let provider: Awaited<ReturnType<typeof startHttpServer>>;
const ENDINGS = ['01', '04', '05'];
let reads = 0;
let tellAllRead: () => void = () => undefined;
const allRead = new Promise<void>((resolve) => { tellAllRead = resolve; });

beforeAll(async () => {
  rig = await makeRig('postgres');
  database = await createTestDatabase();
  base = await createTestEngine({ url: database.url, now: () => at });
  let sent = 0;
  provider = await startHttpServer(({ url }, response) => {
    const read = /Messages\/(.+)\.json/.exec(url)?.[1];
    response.writeHead(201, { 'Content-Type': 'application/json' }).end(JSON.stringify({ sid: read ?? `SM${sent += 1}`, status: read === undefined ? 'queued' : 'delivered' }));
    if (read === undefined) return;
    reads += 1;
    if (reads === ENDINGS.length) tellAllRead();
  });
});
afterAll(async () => {
  await base.close();
  await provider.close();
  await database.drop();
  await rig.dispose();
});

test('a status read waits for the calls of others and not for what they brought to be written down', async () => {
  const transport = openTransport('sms', { sms: { name: 'twilio', baseUrl: provider.url, accountSid: 'AC1', authToken: 't' }, email: { name: 'smtp', url: 'smtp://127.0.0.1:1' }, timeoutMs: 5_000, now: base.now });
  for (const ending of ENDINGS) {
    const outcome = await acceptNotification(base, urgentRequest(ending));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    await performAttempt(base, `${outcome.eventId}.sms.1`, { transport, submitStartWithinMs: 2_000, actor: 'test' });
  }
  let letWrite: () => void = () => undefined;
  const written = new Promise<void>((resolve) => { letWrite = resolve; });
  const engine: Engine = createEngine({ ...base, ledger: { ...base.ledger, append: async (append) => { await written; return base.ledger.append(append); } } });
  const queue = rig.open();
  const coordinator = startCoordinator({
    engine, queue, relay: createRelay({ ledger: engine.ledger, queue, now: engine.now, log: engine.log }), transports: [transport], actor: 'coordinator', pollConcurrency: 1, providerTimeoutMs: 5_000,
  });
  at += FIRST_POLL_MS;
  await coordinator.sweep();
  // One call at a time, and nothing is written before all three were made.
  const wereRead = await within(20_000, allRead.then(() => true));
  letWrite();
  expect(wereRead).toBe(true);
  // Closing waits for what was read to be written down.
  await coordinator.close();
  const { rows } = await base.db.pool.query('SELECT state FROM attempt');
  expect(rows.map(({ state }) => state)).toEqual(['delivered', 'delivered', 'delivered']);
  await queue.close();
  await transport.close();
});
