import { Redis } from 'ioredis';

/** A Redis database of this caller alone: queues of one name in one database are one queue, and their jobs go to whoever asks first. */
export const ownRedisDatabase = async (redisUrl: string): Promise<string> => {
  const url = new URL(redisUrl);
  const counter = new Redis(redisUrl);
  try {
    const [, databases = '16'] = await counter.config('GET', 'databases') as string[];
    url.pathname = `/${1 + ((await counter.incr('tocsin-test-worlds')) % (Number(databases) - 1))}`;
  } finally {
    counter.disconnect();
  }
  const own = new Redis(url.href);
  await own.flushdb();
  own.disconnect();
  return url.href;
};
