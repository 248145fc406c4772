import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { attemptJobId, QUEUE_PREFIX } from '../../shared/queue/queue-names.ts';
import { openTransport } from '../../shared/transports/open-transports.ts';
import { makeRig, tally } from '../queue/rig.ts';
import type { Rig } from '../queue/rig.ts';
import { describeOnBackends } from '../support/backends.ts';
import { sandboxProviders, startSandboxFor } from '../support/sandbox-providers.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { within } from './support.ts';

/** Takes the lock of a running job away, as an expiry behind a worker's back does: the renewal finds it gone. */
const loseLock = async (rig: Rig, jobId: string): Promise<void> => {
  if (rig.settings.redisUrl !== undefined) {
    const redis = new Redis(rig.settings.redisUrl);
    expect(await redis.del(`${QUEUE_PREFIX}:sms:${jobId}:lock`)).toBe(1);
    redis.disconnect();
    return;
  }
  const client = new Client({ connectionString: rig.settings.databaseUrl });
  await client.connect();
  const { rowCount } = await client.query("UPDATE bullmq.job SET lock_token = 'lost', locked_until_ms = 0 WHERE queue = 'sms' AND id = $1", [jobId]);
  await client.end();
  expect(rowCount).toBe(1);
};

describeOnBackends('a worker whose lock is lost', ({ kind }) => {
  let rig: Rig;
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let engine: Awaited<ReturnType<typeof createTestEngine>>;
  let sandbox: Awaited<ReturnType<typeof startSandboxFor>>;
  beforeAll(async () => {
    rig = await makeRig(kind);
    database = await createTestDatabase();
    engine = await createTestEngine({ url: database.url });
    sandbox = await startSandboxFor();
  });
  afterAll(async () => {
    await engine.close();
    await sandbox.close();
    await database.drop();
    await rig.dispose();
  });

  test('fault 27: a lost lock runs the job again while the call is under way: one POST', async () => {
    const request = urgentRequest('31');
    sandbox.setScenario(String(request.recipient.sms), [{ submit: 'accept', answerAfterMs: 4_000 }] as never);
    const transport = openTransport('sms', { ...sandboxProviders(sandbox, { sms: 'twilio', email: 'smtp' }), timeoutMs: 8_000, now: engine.now });
    const runs = tally<string>();
    const ends = tally<string>();
    const workers = ['one', 'two'].map((actor) => {
      const backend = rig.open();
      backend.startWorker('sms', {
        concurrency: 1, lockDurationMs: 1_000,
        handler: async ({ payload }) => {
          runs.add(actor);
          await performAttempt(engine, `${String(payload['eventId'])}.sms.1`, { transport, submitStartWithinMs: 2_000, actor });
          ends.add(actor);
          return 'done';
        },
      });
      return backend;
    });
    const received = new Promise<void>((resolve) => { const stop = sandbox.onReceipt(() => { stop(); resolve(); }); });
    const outcome = await acceptNotification(engine, request);
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    const jobId = attemptJobId(`${outcome.eventId}.sms.1`, 1);
    await workers[0]?.addJobs('sms', [{ id: jobId, name: 'attempt', payload: { eventId: outcome.eventId, channel: 'sms', sequence: 1 } }]);
    await within(received);
    await loseLock(rig, jobId);
    await within(runs.until((seen) => seen.length >= 2, 20_000), 20_000);
    await within(ends.until((seen) => seen.length >= 2, 20_000), 20_000);
    await Promise.all(workers.map((backend) => backend.close()));
    await transport.close();
    expect(runs.seen.length).toBeGreaterThanOrEqual(2);
    expect([sandbox.messages().length, sandbox.refused().length]).toEqual([1, 0]);
    expect((await readEntries(engine.db, outcome.eventId)).filter((entry) => entry.kind === 'SubmissionStarted')).toHaveLength(1);
    expect((await engine.load(outcome.eventId))?.state.attempts[0]?.state).toBe('submitted');
  }, 60_000);
});
