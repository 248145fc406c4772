import type { CliConfig } from '../../shared/config/cli-config.ts';
import { APP_ROLE } from '../../shared/ledger/database.ts';
import { checkRedis } from '../../shared/queue/check-redis.ts';
import { openQueueBackend } from '../../shared/queue/queue-backend.ts';
import type { Finding } from './doctor-finding.ts';
import { fault, note, ok } from './doctor-finding.ts';

/** How `standalone.json` names a queue in its database. */
const ON_POSTGRES = 'postgres';

const redisCures: Record<string, string> = {
  redis_too_old: 'install Redis 6.2 or later', redis_evicts: 'set maxmemory-policy noeviction', redis_away: 'start Redis, or correct REDIS_URL', redis_low_hz: 'set hz 100', redis_cluster_mismatch: 'correct the scheme of REDIS_URL',
};

const checkOnRedis = async (redisUrl: string): Promise<Finding[]> => {
  const found = (await checkRedis(redisUrl)).map((one): Finding => {
    const cure = redisCures[one.code] ?? 'see the Redis configuration';
    // At boot a Redis that is away is waited for; here it is what nothing is sent without.
    return one.level === 'error' || one.code === 'redis_away' ? fault('queue', one.message, cure) : note('queue', one.message, cure);
  });
  return found.some((one) => one.verdict === 'fault') ? found : [ok('queue', 'Redis answers'), ...found];
};

/** The Redis of the deployment: `REDIS_URL`, else what the running standalone says it uses; undefined where the queue is in Postgres. */
const redisOf = ({ redisUrl, standalone }: CliConfig): string | undefined => redisUrl ?? (standalone === null || standalone.queue === ON_POSTGRES ? undefined : standalone.queue);

const bare = (url: string): string => url.replace(/\/+$/, '');

/** Where a shell's own `REDIS_URL` was looked at, and a standalone runs on another queue. */
const otherThanStandalone = ({ redisUrl, standalone }: CliConfig): Finding[] => (redisUrl === undefined || standalone === null || bare(standalone.queue) === bare(redisUrl) ? []
  : [note('queue', `REDIS_URL was looked at; the running standalone uses another queue${standalone.queue === ON_POSTGRES ? ', in Postgres' : ''}`, 'unset REDIS_URL to look at that one')]);

/** Whether jobs can be added and taken now. */
export const checkQueue = async (databaseUrl: string, config: CliConfig): Promise<Finding[]> => {
  const redisUrl = redisOf(config);
  if (redisUrl !== undefined) return [...await checkOnRedis(redisUrl), ...otherThanStandalone(config)];
  const queue = openQueueBackend({ databaseUrl, roleName: APP_ROLE, onError: () => undefined });
  try {
    return [(await queue.ping()) ? ok('queue', 'the Postgres backend answers') : fault('queue', 'the Postgres backend does not answer', 'run npx tocsin migrate, which makes its schema')];
  } finally {
    await queue.close();
  }
};
