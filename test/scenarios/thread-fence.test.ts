import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { createEngine } from '../../shared/delivery/engine.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { openThreadedTransports } from '../../shared/transports/threaded/open-threaded.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { json, startHttpServer } from '../transports/http-server.ts';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let base: Awaited<ReturnType<typeof createTestEngine>>;
let provider: Awaited<ReturnType<typeof startHttpServer>>;

beforeAll(async () => {
  database = await createTestDatabase();
  base = await createTestEngine({ url: database.url });
  provider = await startHttpServer(json(201, { sid: 'SM1', status: 'queued' }));
});
afterAll(async () => {
  await base.close();
  await provider.close();
  await database.drop();
});

test('a worker that was paused between the start in the ledger and the call sends nothing, also where a thread makes the call', async () => {
  const [transport] = openThreadedTransports(['sms'], {
    sms: { name: 'twilio', baseUrl: provider.url, accountSid: 'AC1', authToken: 't' }, email: { name: 'smtp', url: 'smtp://127.0.0.1:1' }, timeoutMs: 5_000, now: base.now,
  });
  let pausedMs = 0;
  let pauseMs = 0;
  const engine = createEngine({
    ...base, monotonic: () => performance.now() + pausedMs,
    ledger: { ...base.ledger, append: async (append) => { const appended = await base.ledger.append(append); pausedMs += pauseMs; return appended; } },
  });
  const perform = async (ending: string): Promise<string[]> => {
    const outcome = await acceptNotification(engine, urgentRequest(ending));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    await performAttempt(engine, `${outcome.eventId}.sms.1`, { transport, submitStartWithinMs: 60_000, actor: 'test' });
    const { rows } = await base.db.pool.query<{ kind: string }>('SELECT kind FROM ledger_entry WHERE event_id = $1 ORDER BY version', [outcome.eventId]);
    return rows.map(({ kind }) => kind).slice(-2);
  };
  pauseMs = 61_000;
  expect(await perform('01')).toEqual(['SubmissionStarted', 'SubmissionAbandoned']);
  expect(provider.received).toHaveLength(0);
  pauseMs = 0;
  expect(await perform('02')).toEqual(['SubmissionStarted', 'SubmissionAccepted']);
  expect(provider.received).toHaveLength(1);
  await transport.close();
});
