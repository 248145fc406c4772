import { join } from 'node:path';
import pg from 'pg';
import { runMigrations } from 'bullmq';
import { atTheEnd, sandboxReady, startService } from '../test/audit/child-service.ts';
import type { Contender } from './contender.ts';
import { NODE_FLAGS } from './contender.ts';
import type { Ground } from './ground.ts';
import { createPoster } from './poster.ts';
import type { SandboxProcess } from './sandbox-process.ts';

/** As a tutorial's server and worker, or both in one process. */
export type BaselineShape = 'two' | 'one';

export const BASELINE_TABLES = `
CREATE TABLE notice (id text PRIMARY KEY, created_at timestamptz NOT NULL, deadline_at timestamptz NOT NULL, body jsonb NOT NULL);
CREATE TABLE step (id bigserial PRIMARY KEY, notice_id text NOT NULL REFERENCES notice (id), step text NOT NULL, at timestamptz NOT NULL, detail jsonb NOT NULL);
CREATE INDEX step_notice ON step (notice_id);`;
const OVER = `SELECT notice_id FROM step WHERE notice_id = ANY($1) AND step IN ('sms_delivered', 'email_sent')`;

export interface BaselineSettings { ground: Ground; sandbox: SandboxProcess; folder: string; tree: string; shape: BaselineShape; redisNumber: number }

/** Starts the baseline on a database of its own. */
export const startBaseline = async (settings: BaselineSettings): Promise<Contender> => {
  const { ground, sandbox, folder, shape, redisNumber } = settings;
  const databaseUrl = await ground.makeDatabase(`baseline_${shape}`);
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1, idleTimeoutMillis: 0, options: '-c enable_seqscan=off' });
  pool.on('error', () => undefined);
  atTheEnd(() => pool.end());
  await pool.query(BASELINE_TABLES);
  if (ground.backend === 'postgres') {
    const client = await pool.connect();
    await runMigrations(client, 'bullmq');
    await client.query('RESET search_path');
    client.release();
  }
  const redisUrl = ground.redisUrl(redisNumber);
  const env = { NODE_OPTIONS: NODE_FLAGS, BASELINE_DATABASE_URL: databaseUrl, ...(redisUrl === undefined ? {} : { BASELINE_REDIS_URL: redisUrl }), BASELINE_SANDBOX_HTTP: sandbox.http, BASELINE_SANDBOX_SMTP: sandbox.smtp };
  const services = (shape === 'two' ? ['workers', 'intake'] : ['all']).map((part) => startService({
    name: `baseline-${part}`, program: `bench/baseline/baseline-main.js`, args: [part], env, apart: true, compiled: true, root: settings.tree, logPath: join(folder, `baseline-${part}.log`), readyIn: sandboxReady,
  }));
  const told = await Promise.all(services.map((service) => service.ready));
  const url = told.map((one) => String(one?.['url'] ?? '')).find((one) => one !== '');
  if (told.includes(null) || url === undefined) throw new Error(`the baseline did not start: see ${folder}`);
  return {
    name: `baseline, ${shape}`, pids: services.map((service) => service.pid), post: createPoster(url, 'none'),
    completed: async (ids) => (await pool.query<{ notice_id: string }>({ name: 'over', text: OVER, values: [ids] })).rows.map((row) => row.notice_id),
    deadlines: async (ids) => new Map((await pool.query<{ id: string; deadline_at: Date }>('SELECT id, deadline_at FROM notice WHERE id = ANY($1)', [ids])).rows.map((row) => [row.id, row.deadline_at.getTime()])),
    tell: (signal) => services.forEach((service) => service.signal(signal)),
    freeze: () => services.forEach((service) => service.signal('SIGSTOP')),
    thaw: () => services.forEach((service) => service.signal('SIGCONT')),
  };
};
