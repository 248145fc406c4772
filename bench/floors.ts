import { Worker, Queue, createPostgresBackend, createRedisBackend, runMigrations } from 'bullmq';
import type { BackendFactory, ConnectionOptions, RedisQueueBackend } from 'bullmq';
import pg from 'pg';
import { createHttpClient } from '../shared/transports/http/client.ts';
import type { Ground } from './ground.ts';
import { bodyOf } from './request.ts';
import type { SandboxProcess } from './sandbox-process.ts';
import { BASELINE_TABLES } from './unsafe-baseline.ts';

const POOL = 8;
const AT_ONCE = 50;

/** Runs `step` as often as it fits into so many milliseconds, so many at a time; returns how often in a second. */
const rateOf = async (forMs: number, width: number, step: (index: number) => Promise<unknown>): Promise<number> => {
  const startedAt = performance.now();
  let index = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() - startedAt < forMs) await step(index++);
  };
  await Promise.all(Array.from({ length: width }, lane));
  return (index * 1_000) / (performance.now() - startedAt);
};

/** Four INSERTs for each workflow, each its own transaction: what "write it down at every step" costs at the least without grouping. Tables, rows and bytes are the baseline's. */
export const fourSmallTransactions = async (ground: Ground, forMs: number): Promise<number> => {
  const url = await ground.makeDatabase(`floor_small_${process.pid}_${Math.round(performance.now())}`);
  const pool = new pg.Pool({ connectionString: url, max: POOL });
  try {
    await pool.query(BASELINE_TABLES);
    return await rateOf(forMs, AT_ONCE, async (index) => {
      const [id, now] = [`evt_${String(index).padStart(26, '0')}`, new Date()];
      await pool.query({ name: 'notice', text: 'INSERT INTO notice (id, created_at, deadline_at, body) VALUES ($1, $2, $3, $4)', values: [id, now, now, bodyOf(index, 'load')] });
      for (const step of ['sms_sent', 'sms_undelivered', 'email_sent']) {
        await pool.query({ name: 'step', text: 'INSERT INTO step (notice_id, step, at, detail) VALUES ($1, $2, $3, $4)', values: [id, step, new Date(), '{"sid":"SM0123456789abcdef0123456789abcdef"}'] });
      }
    });
  } finally {
    await pool.end();
  }
};

/** Jobs a second through BullMQ with nothing in them: added in bulks of 50, taken by one worker of 50. */
export const rawQueue = async (ground: Ground, jobs: number): Promise<number> => {
  const redis = ground.redisUrl(9);
  if (redis === undefined) {
    const client = new pg.Client({ connectionString: ground.adminUrl });
    await client.connect();
    await runMigrations(client, 'bullmq').finally(() => client.end());
  }
  const address = redis === undefined ? null : new URL(redis);
  const connection = (address ? { host: address.hostname, port: Number(address.port), db: 9, maxRetriesPerRequest: null } : { connectionString: ground.adminUrl, schema: 'bullmq' }) as ConnectionOptions;
  const backend = address ? createRedisBackend : createPostgresBackend as unknown as BackendFactory<RedisQueueBackend>;
  const queue = new Queue<{ n: number }, null, string>('floor', { connection }, backend);
  let done = 0;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => { finish = resolve; });
  const worker = new Worker<{ n: number }, null, string>('floor', () => {
    done += 1;
    if (done === jobs) finish();
    return Promise.resolve(null);
  }, { connection, concurrency: AT_ONCE }, backend);
  worker.on('error', () => undefined);
  await worker.waitUntilReady();
  const startedAt = performance.now();
  for (let n = 0; n < jobs; n += AT_ONCE) {
    await queue.addBulk(Array.from({ length: AT_ONCE }, (_, i) => ({ name: 'floor', data: { n: n + i }, opts: { removeOnComplete: true, removeOnFail: true } })));
  }
  await finished;
  const rate = (jobs * 1_000) / (performance.now() - startedAt);
  await worker.close();
  await queue.close();
  return rate;
};

/** Calls a second that the sandbox answers, half of them submissions and half status reads. */
export const sandboxAlone = async (sandbox: SandboxProcess, forMs: number): Promise<number> => {
  const client = createHttpClient(false, AT_ONCE);
  const account = 'AC5a4db0c05a4db0c05a4db0c05a4db0c0';
  const headers = { Authorization: `Basic ${Buffer.from(`${account}:sandbox-token`).toString('base64')}` };
  const url = `${sandbox.http}/2010-04-01/Accounts/${account}/Messages`;
  const body = new URLSearchParams({ To: '+12025550101', From: '+12025550100', Body: 'floor' }).toString();
  try {
    return 2 * await rateOf(forMs, AT_ONCE, async () => {
      const sent = await client.call({
        method: 'POST', url: new URL(`${url}.json`), body, maxBodyBytes: 65_536, headers: { ...headers, 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': String(body.length) },
      }, 10_000);
      const { sid } = JSON.parse(sent.kind === 'answered' ? sent.body ?? '' : '{}') as { sid: string };
      await client.call({ method: 'GET', url: new URL(`${url}/${sid}.json`), maxBodyBytes: 65_536, headers }, 10_000);
    });
  } finally {
    await client.close();
  }
};
