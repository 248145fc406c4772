import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../services/standalone/embedded-postgres.ts';
import { atTheEnd } from '../test/audit/child-service.ts';
import { tellRedis } from '../test/audit/surroundings.ts';
import { startTestRedis } from '../test/support/test-redis.ts';

export type BackendName = 'redis' | 'postgres';

/** The servers of a measurement: one Postgres with a database for each contender, and one Redis with a number for each. */
export interface Ground {
  backend: BackendName;
  postmaster: number;
  redisPid: number | null;
  admin: pg.Pool;
  adminUrl: string;
  /** Makes an empty database. */
  makeDatabase: (name: string) => Promise<string>;
  /** Each contender has a database number of its own; undefined where the queue is on Postgres. */
  redisUrl: (number: number) => string | undefined;
}

const urlOf = (base: string, database: string): string => {
  const url = new URL(base);
  url.pathname = `/${database}`;
  return url.href;
};

const startRedis = async (): Promise<{ url: string; pid: number }> => {
  const redis = await startTestRedis();
  if (redis === null) throw new Error('no redis-server starts from the PATH');
  atTheEnd(() => redis.stop());
  const pid = Number(/process_id:(\d+)/.exec(await tellRedis(redis, 'INFO server'))?.[1]);
  return { url: redis.url, pid };
};

/** For all contenders at once: each queue and worker of the baseline has a pool of its own, as BullMQ makes it. */
const ROOM = 'max_connections=300';

/** Has the server make the files of its log that it uses again and again later: a server that has run for a day makes none any more. */
const fillLog = async (admin: pg.Pool): Promise<void> => {
  await admin.query("SELECT count(pg_logical_emit_message(false, 'bench', repeat('x', 1000000))) FROM generate_series(1, 600)");
  await admin.query('CHECKPOINT');
};

/** Starts the servers. Postgres is the embedded one as the product starts it, with every flush to disk. */
export const openGround = async (folder: string, backend: BackendName, modules: string[] = []): Promise<Ground> => {
  const dataDir = join(folder, `postgres-${backend}`);
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined, extraOptions: [ROOM, ...modules] });
  atTheEnd(() => postgres.stop());
  const admin = new pg.Pool({ connectionString: postgres.url, max: 2 });
  admin.on('error', () => undefined);
  atTheEnd(() => admin.end());
  await fillLog(admin);
  const redis = backend === 'redis' ? await startRedis() : null;
  return {
    backend, admin, adminUrl: postgres.url, redisPid: redis?.pid ?? null,
    postmaster: Number(readFileSync(join(realpathSync(join(dataDir, 'postgres')), 'postmaster.pid'), 'utf8').split('\n')[0]),
    makeDatabase: async (name) => {
      await admin.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
      return urlOf(postgres.url, name);
    },
    redisUrl: (number) => (redis === null ? undefined : `${redis.url}/${number}`),
  };
};
