import type http from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { createRelay } from '../../shared/delivery/relay.ts';
import { bucketOf } from '../../shared/ledger/lease-polls.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';
import { startCoordinator } from '../../services/coordinator/coordinator.ts';
import { eventually, makeRig } from '../queue/rig.ts';
import type { Rig } from '../queue/rig.ts';
import { describeOnBackends } from '../support/backends.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { startHttpServer } from '../transports/http-server.ts';
import { within } from './support.ts';

const OUTSTANDING = 25_000;
const RATE = 50;
const SECONDS = 3;

const NUMBERED = `(SELECT substr($1, 1, 24) || lpad(n::text, 6, '0') AS id, $2::bigint + 60000 + (n * 7919) % ${OUTSTANDING} AS deadline FROM generate_series(1, ${OUTSTANDING}) n) numbered`;
// One submitted notification as many others, all with a poll that is overdue, and with deadlines in another order than that of
// their ids. Without checks, which are the database's own and take their time.
const MULTIPLY = [
  'SET session_replication_role = replica',
  `INSERT INTO notification SELECT r.* FROM notification o, ${NUMBERED}, LATERAL jsonb_populate_record(o, jsonb_build_object('event_id', id, 'idempotency_key', id)) r
    WHERE o.event_id = $1 AND $2::bigint > 0`,
  // The newest entry alone: the next one is chained to it.
  `INSERT INTO ledger_entry (event_id, version, kind, at, actor, request_id, policy_version, attempt_key, from_state, to_state, body, prev_hash, hash)
   SELECT id, version, kind, at, actor, request_id, policy_version, attempt_key, from_state, to_state, body, prev_hash, hash FROM ledger_entry, ${NUMBERED}
    WHERE event_id = $1 AND $2::bigint > 0 AND version = (SELECT max(version) FROM ledger_entry WHERE event_id = $1)`,
  `INSERT INTO notification_state
   SELECT id, s.version, s.head_hash, jsonb_set(jsonb_set(jsonb_set(replace(s.state::text, $1, id)::jsonb, '{attempts,0,decisionDeadlineAt}', to_jsonb(deadline)),
       '{attempts,0,nextPollAt}', to_jsonb($2::bigint)), '{attempts,0,providerMessageId}', to_jsonb('SM' || deadline)), s.status, to_timestamp(deadline / 1000.0), s.updated_at
     FROM notification_state s, ${NUMBERED} WHERE s.event_id = $1`,
  `INSERT INTO attempt
   SELECT r.* FROM attempt a, ${NUMBERED}, LATERAL jsonb_populate_record(a, jsonb_build_object('event_id', id, 'attempt_key', id || '.sms.1',
       'provider_message_id', 'SM' || deadline, 'decision_deadline_at', to_timestamp(deadline / 1000.0), 'next_poll_at', to_timestamp($2::bigint / 1000.0))) r
    WHERE a.event_id = $1`,
  'ANALYZE',
];

describe('a rate', () => {
  test.each([1, 2, 3, 7, 50, 1_000])('of %i a second permits no more in any second, however the hand-outs fall', (perSecond) => {
    const { burst, refill } = bucketOf(perSecond);
    expect(burst).toBeGreaterThanOrEqual(1);
    // Seconds are half open: what comes back within one is less than the refill.
    expect(Math.ceil(burst + refill) - (perSecond === 1 ? 1 : 0)).toBeLessThanOrEqual(perSecond);
  });
});

describeOnBackends('many outstanding polls', ({ kind }) => {
  let rig: Rig;
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let engine: Awaited<ReturnType<typeof createTestEngine>>;
  let provider: Awaited<ReturnType<typeof startHttpServer>>;
  let at = Date.UTC(2026, 5, 1);
  /** What was read in each second of the clock, as far as the provider permitted it. */
  const reads: string[][] = [];
  let refused = 0;
  const answer = (url: string, response: http.ServerResponse): void => {
    const sid = /Messages\/(.+)\.json/.exec(url)?.[1];
    const second = (reads[Math.floor(at / 1_000) % 1_000] ??= []);
    if (sid && second.push(sid) > RATE) refused += 1;
    response.writeHead(sid && second.length > RATE ? 429 : 201, { 'Content-Type': 'application/json' }).end(JSON.stringify({ sid: sid ?? 'SM1', status: 'sent' }));
  };
  beforeAll(async () => {
    rig = await makeRig(kind);
    database = await createTestDatabase();
    engine = await createTestEngine({ url: database.url, now: () => at });
    provider = await startHttpServer(({ url }, response) => answer(url, response));
  });
  afterAll(async () => {
    await engine.close();
    await provider.close();
    await database.drop();
    await rig.dispose();
  });

  test('fault 31: 25,000 polls that are due at once stay under the provider\'s rate, whoever hands them out, and the nearest deadlines come first', async () => {
    const transport = openTransport('sms', { sms: { name: 'twilio', baseUrl: provider.url, accountSid: 'AC1', authToken: 't' }, email: { name: 'smtp', url: 'smtp://127.0.0.1:1' }, timeoutMs: 5_000, now: engine.now });
    const outcome = await acceptNotification(engine, urgentRequest('31'));
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    await performAttempt(engine, `${outcome.eventId}.sms.1`, { transport, submitStartWithinMs: 2_000, actor: 'test' });
    const owner = new Client({ connectionString: database.url });
    await owner.connect();
    // Beyond the last poll of the schedule, so that what was read is not due again in the meantime.
    at += 23_000;
    for (const statement of MULTIPLY) await owner.query(statement, statement.startsWith('INSERT') ? [outcome.eventId, at] : []);
    const queues = [rig.open(), rig.open()];
    const coordinators = queues.map((queue, index) => startCoordinator({
      engine, queue, relay: createRelay({ ledger: engine.ledger, queue, now: engine.now, log: engine.log }), transports: [transport], actor: `coordinator-${index}`,
      pollConcurrency: 16, providerTimeoutMs: 5_000, pollsPerSecond: { twilio: RATE },
    }));
    const done = () => eventually(async () => {
      const { rows } = await owner.query('SELECT 1 FROM attempt WHERE poll_leased_until > $1 LIMIT 1', [new Date(at)]);
      if (rows.length > 0) throw new Error('polls are under way');
    }, 20_000);
    const end = at + SECONDS * 1_000;
    for (; at < end && refused === 0; at += 100) await within(Promise.all(coordinators.map((one) => one.sweep())).then(done));
    const counts = reads.filter((second) => second.length > 0).map((second) => second.length);
    await Promise.all(coordinators.map((one) => one.close()));
    await Promise.all(queues.map((queue) => queue.close()));
    await transport.close();
    await owner.end();
    expect([refused, counts.every((count) => count <= RATE)]).toEqual([0, true]);
    const sids = reads.flat();
    expect(sids.length).toBeGreaterThan(RATE * SECONDS * 0.7);
    // Each once, and none left out between them: the nearest there are. The one they were made from is nearer still.
    const deadlines = sids.filter((sid) => sid !== 'SM1').map((sid) => Number(sid.slice(2)));
    expect(new Set(sids).size).toBe(sids.length);
    expect(Math.max(...deadlines) - Math.min(...deadlines)).toBe(deadlines.length - 1);
  }, 120_000);
});
