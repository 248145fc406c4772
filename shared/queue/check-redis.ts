import { Redis, type RedisOptions } from 'ioredis';
import { readRedisAddress } from './redis-address.ts';
import { settledWithin } from './within.ts';

/** What boot should tell about a Redis: an `error` means do not start on it. */
export interface RedisFinding { level: 'error' | 'warning'; code: string; message: string }

const LEAST_VERSION = [6, 2] as const;
const CHECK_WITHIN_MS = 3_000;

const field = (info: string, name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];

/** Judges the text of Redis' INFO. */
export const findingsOf = (info: string, mode: 'standalone' | 'cluster' = 'standalone'): RedisFinding[] => {
  const findings: RedisFinding[] = [];
  const version = field(info, 'redis_version') ?? '0.0';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor < LEAST_VERSION[1])) {
    findings.push({ level: 'error', code: 'redis_too_old', message: `Redis ${version} is older than 6.2.` });
  }
  if ((field(info, 'cluster_enabled') === '1') !== (mode === 'cluster')) {
    findings.push({
      level: 'error', code: 'redis_cluster_mismatch',
      message: mode === 'cluster' ? 'This Redis is no cluster; write redis:// in REDIS_URL.' : 'This Redis is part of a cluster; write redis+cluster:// in REDIS_URL.',
    });
  }
  const policy = field(info, 'maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    findings.push({
      level: 'error', code: 'redis_evicts', message: `maxmemory-policy is ${policy}; with anything but noeviction Redis may drop jobs when memory is short.`,
    });
  }
  const hz = Number(field(info, 'configured_hz') ?? field(info, 'hz'));
  if (hz < 50) {
    findings.push({ level: 'warning', code: 'redis_low_hz', message: `hz is ${hz}; with 100 delayed jobs start closer to their time.` });
  }
  return findings;
};

/** Asks a Redis for its version, memory policy and clock rate, within three seconds. One that does not answer is a warning: queues wait for it. */
export const checkRedis = async (redisUrl: string): Promise<RedisFinding[]> => {
  const address = readRedisAddress(redisUrl);
  if (address.kind === 'single') return checkOne((options) => new Redis(address.url, options));
  const found = await Promise.all(address.nodes.map((node) => checkOne((options) => new Redis({ ...options, ...address.login, ...node }), 'cluster')));
  // A cluster bears the absence of a node; what is wrong with several of them is told once.
  const away = found.every((findings) => findings.some(({ code }) => code === 'redis_away'));
  return [...new Map(found.flat().filter(({ code }) => away || code !== 'redis_away').map((finding) => [finding.code, finding])).values()];
};

const checkOne = async (open: (options: RedisOptions) => Redis, mode: 'standalone' | 'cluster' = 'standalone'): Promise<RedisFinding[]> => {
  const redis = open({
    lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0, connectTimeout: CHECK_WITHIN_MS, disconnectTimeout: 200,
  });
  redis.on('error', () => undefined);
  try {
    let info = '';
    const read = async (): Promise<void> => {
      await redis.connect();
      info = await redis.info();
    };
    if (!(await settledWithin(CHECK_WITHIN_MS, read()))) {
      return [{ level: 'warning', code: 'redis_away', message: 'Redis does not answer.' }];
    }
    return findingsOf(info, mode);
  } finally {
    redis.disconnect();
  }
};
