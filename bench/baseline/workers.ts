import { Worker } from 'bullmq';
import type { Job } from 'bullmq';
import { createTransport } from 'nodemailer';
import { createHttpClient } from '../../shared/transports/http/client.ts';
import { FIRST_POLL_MS } from '../clocks.ts';
import { backend, connection, CONCURRENCY, KEEP_NOTHING, openQueue, pool, renderEmail, renderSms, sandboxHttp, sandboxSmtp } from './settings.ts';
import type { Notice } from './settings.ts';

/** The product's own client, so that neither has the better one; with as many connections. */
const client = createHttpClient(false, 64);
const smtp = new URL(sandboxSmtp);
const mailer = createTransport({ pool: true, host: smtp.hostname, port: Number(smtp.port), secure: false, ignoreTLS: true, maxConnections: 16, maxMessages: 100 });
const queues = { poll: openQueue('poll'), email: openQueue('email') };

const ACCOUNT = 'AC5a4db0c05a4db0c05a4db0c05a4db0c0';
const headers = { Authorization: `Basic ${Buffer.from(`${ACCOUNT}:sandbox-token`).toString('base64')}` };
const MESSAGES = `${sandboxHttp}/2010-04-01/Accounts/${ACCOUNT}/Messages`;
const CALL_WITHIN_MS = 10_000;

const call = async (method: 'GET' | 'POST', url: string, more: { headers?: Record<string, string>; body?: string } = {}): Promise<{ sid: string; status: string }> => {
  const answer = await client.call({ method, url: new URL(url), maxBodyBytes: 65_536, ...more, headers: { ...headers, ...more.headers } }, CALL_WITHIN_MS);
  if (answer.kind !== 'answered' || answer.httpStatus >= 300) throw new Error('the provider did not take it');
  return JSON.parse(answer.body ?? '') as { sid: string; status: string };
};
const record = (id: string, step: string, detail: object): Promise<unknown> =>
  pool.query('INSERT INTO step (notice_id, step, at, detail) VALUES ($1, $2, $3, $4)', [id, step, new Date(), JSON.stringify(detail)]);

const sendSms = async ({ data }: Job<Notice>): Promise<null> => {
  const body = new URLSearchParams({ To: data.to.sms, From: '+12025550100', Body: renderSms(data) }).toString();
  const { sid } = await call('POST', `${MESSAGES}.json`, {
    body, headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': String(Buffer.byteLength(body)), 'Tocsin-Attempt-Key': `${data.id}.sms.1` },
  });
  await record(data.id, 'sms_sent', { sid });
  await queues.poll.add('poll', { ...data, providerId: sid }, { ...KEEP_NOTHING, delay: FIRST_POLL_MS });
  return null;
};

const poll = async ({ data }: Job<Notice>): Promise<null> => {
  const { status } = await call('GET', `${MESSAGES}/${data.providerId}.json`);
  await record(data.id, `sms_${status}`, { sid: data.providerId });
  if (status === 'delivered') return null;
  if (status === 'undelivered' || data.final === true) await queues.email.add('email', data, KEEP_NOTHING);
  else await queues.poll.add('poll', { ...data, final: true }, { ...KEEP_NOTHING, delay: Math.max(0, data.deadlineAt - Date.now()) });
  return null;
};

const sendEmail = async ({ data }: Job<Notice>): Promise<null> => {
  const key = `${data.id}.email.1`;
  await mailer.sendMail({ from: 'Tocsin <tocsin@example.com>', to: data.to.email, messageId: `<${key}@example.com>`, ...renderEmail(data) });
  await record(data.id, 'email_sent', {});
  return null;
};

/** The three steps after the acceptance. */
export const startWorkers = async (): Promise<void> => {
  const workers = ([['sms', sendSms], ['poll', poll], ['email', sendEmail]] as const).map(([name, step]) =>
    new Worker<Notice, null, string>(name, step, { connection, concurrency: CONCURRENCY }, backend));
  for (const worker of workers) worker.on('error', (error) => process.stderr.write(`${error.message}\n`));
  for (const worker of workers) worker.on('failed', (_job, error) => process.stderr.write(`failed: ${error.message}\n`));
  await Promise.all(workers.map((worker) => worker.waitUntilReady()));
};
