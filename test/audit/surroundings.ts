import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { isRunning, servesCluster } from '../../services/standalone/embedded-process.ts';
import { startTestRedis } from '../support/test-redis.ts';
import type { TestRedis } from '../support/test-redis.ts';
import { CLOCKS, writeAuditPolicies } from './audit-policies.ts';
import { atTheEnd, sandboxReady, startService } from './child-service.ts';
import { until } from './waiting.ts';

export type BackendName = 'redis' | 'postgres';

/** What every service of an audit is pointed at. */
export interface Surroundings {
  folder: string;
  backend: BackendName;
  redis: TestRedis | null;
  sandboxLogPath: string;
  receiptsPath: string;
  /** Providers, policies and limits, for any service. */
  env: Record<string, string>;
}

/** There is no redis-server on the PATH. */
export class NoRedisError extends Error {
  override readonly name = 'NoRedisError';
}

const startSandbox = async (folder: string, sandboxLogPath: string): Promise<{ http: string; smtp: string }> => {
  const logPath = join(folder, 'sandbox.log');
  const sandbox = startService({
    name: 'sandbox', program: 'services/sandbox/main.ts', logPath, readyIn: sandboxReady, env: { SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: '0', SANDBOX_LOG: sandboxLogPath },
  });
  const told = await sandbox.ready;
  if (!told) throw new Error(`the sandbox did not start: see ${logPath}`);
  return { http: String(told['http']), smtp: String(told['smtp']) };
};

/** Starts the sandbox as a process of its own with its log on disk, and a Redis where the backend needs one. `cleanUp` ends both. */
export const openSurroundings = async (folder: string, backend: BackendName): Promise<Surroundings> => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const redis = backend === 'redis' ? await startTestRedis() : null;
  if (redis) atTheEnd(() => redis.stop());
  if (backend === 'redis' && redis === null) throw new NoRedisError('no redis-server starts from the PATH');
  const sandboxLogPath = join(folder, 'sandbox.jsonl');
  const { http, smtp } = await startSandbox(folder, sandboxLogPath);
  return {
    folder, backend, redis, sandboxLogPath, receiptsPath: join(folder, 'receipts.jsonl'),
    env: {
      TWILIO_BASE_URL: http, TWILIO_ACCOUNT_SID: 'AC5a4db0c05a4db0c05a4db0c05a4db0c0', TWILIO_AUTH_TOKEN: 'sandbox-token', TWILIO_FROM: '+12025550100',
      SMTP_URL: smtp, MAIL_FROM: 'Tocsin <tocsin@example.com>', TOCSIN_POLICY_DIR: writeAuditPolicies(join(folder, 'policies')),
      PROVIDER_TIMEOUT_MS: String(CLOCKS.providerTimeoutMs), SUBMIT_START_WITHIN_MS: String(CLOCKS.submitStartWithinMs),
      TICKETS_PER_MINUTE_PER_ADDRESS: '1000000', TOCSIN_DEMO: '1',
    },
  };
};

/** Sends one command to Redis and resolves to its answer. */
export const tellRedis = async (redis: TestRedis, command: string): Promise<string> => {
  const { hostname, port } = new URL(redis.url);
  const socket = connect({ host: hostname, port: Number(port) });
  try {
    socket.write(`${command}\r\n`);
    const [answer] = await once(socket, 'data') as [Buffer];
    return answer.toString('utf8').trim();
  } finally {
    socket.destroy();
  }
};

const parentOf = (pid: number): number | null => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return null;
  }
};

const killOne = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself meanwhile.
  }
};

/** The server of that data directory and no other: its pid file may be stale, and its pid another program's by now. */
const postmasterOf = (dataDir: string): number | null => {
  try {
    const cluster = realpathSync(join(dataDir, 'postgres'));
    const pid = Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
    return servesCluster(pid, cluster) === true ? pid : null;
  } catch {
    return null;
  }
};

/** kill -9 of the Postgres below a data directory, children included; false where none runs. */
export const killPostgres = async (dataDir: string): Promise<boolean> => {
  const postmaster = postmasterOf(dataDir);
  if (postmaster === null) return false;
  const children = readdirSync('/proc').map(Number).filter((pid) => Number.isInteger(pid) && parentOf(pid) === postmaster);
  const all = [postmaster, ...children];
  for (const pid of all) killOne(pid);
  await until('the end of Postgres', () => Promise.resolve(all.some(isRunning) ? null : true), { withinMs: 10_000, everyMs: 20 });
  return true;
};
