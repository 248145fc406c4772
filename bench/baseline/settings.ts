import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createPostgresBackend, createRedisBackend, Queue } from 'bullmq';
import type { BackendFactory, ConnectionOptions, RedisQueueBackend } from 'bullmq';
import { Liquid } from 'liquidjs';
import pg from 'pg';

/**
 * What a tutorial on BullMQ comes to: a pool of eight, a worker of fifty jobs, everything that a step needs in its job's data, one
 * INSERT after each step. Nothing of it survives a crash between two of its lines, and nothing tells whether a message went twice.
 */
export const POOL = 8;
export const CONCURRENCY = 50;

const needed = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};
export const databaseUrl = needed('BASELINE_DATABASE_URL');
const redisUrl = process.env['BASELINE_REDIS_URL'] ?? '';
export const sandboxHttp = needed('BASELINE_SANDBOX_HTTP');
export const sandboxSmtp = needed('BASELINE_SANDBOX_SMTP');

export const pool = new pg.Pool({ connectionString: databaseUrl, max: POOL, idleTimeoutMillis: 0 });

const redisConnection = (): ConnectionOptions => {
  const url = new URL(redisUrl);
  return { host: url.hostname, port: Number(url.port), db: Number(url.pathname.slice(1)), maxRetriesPerRequest: null };
};
export const connection: ConnectionOptions = redisUrl === '' ? { connectionString: databaseUrl, schema: 'bullmq' } as unknown as ConnectionOptions : redisConnection();
export const backend = redisUrl === '' ? createPostgresBackend as unknown as BackendFactory<RedisQueueBackend> : createRedisBackend;

export interface Notice { id: string; deadlineAt: number; to: { sms: string; email: string }; variables: Record<string, string>; providerId?: string; final?: boolean }
export const openQueue = (name: string) => new Queue<Notice, null, string>(name, { connection }, backend);
export const KEEP_NOTHING = { removeOnComplete: true, removeOnFail: true } as const;

const liquid = new Liquid();
const template = (path: string) => liquid.parse(readFileSync(fileURLToPath(new URL(`../../templates/${path}`, import.meta.url)), 'utf8'));
const sms = template('game-support-urgent-sms/1/sms.en.liquid');
const email = { subject: template('game-support-urgent-email/1/subject.en.liquid'), text: template('game-support-urgent-email/1/text.en.liquid'), html: template('game-support-urgent-email/1/html.en.liquid') };

const render = (parsed: ReturnType<typeof template>, { id, variables }: Notice): string => String(liquid.renderSync(parsed, { ...variables, ref: id.slice(-8) }));
export const renderSms = (notice: Notice): string => render(sms, notice);
export const renderEmail = (notice: Notice) => ({ subject: render(email.subject, notice), text: render(email.text, notice), html: render(email.html, notice) });
