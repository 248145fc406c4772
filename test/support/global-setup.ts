import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../services/standalone/embedded-postgres.ts';
import { startRedisCluster } from './redis-cluster.ts';
import { startTestRedis, type TestRedis } from './test-redis.ts';

/** What the teardown has to stop: it runs in the same process, and nothing but the global object is shared with it. */
export interface TestBackends { postgres: EmbeddedPostgres; folder: string; redis: TestRedis | null }
export const BACKENDS = Symbol.for('tocsin.test.backends');

const TEMPLATE = 'tocsin_template';
// A test database need not survive a power cut.
const QUICK = ['fsync=off', 'full_page_writes=off', 'max_connections=200'];

const say = (text: string): void => { process.stderr.write(`\n${text}\n`); };

const runStatements = async (url: string, statements: string[]): Promise<void> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
};

const urlOf = (adminUrl: string, database: string): string => {
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  return url.href;
};

// Relative and not a file URL: Jest loads the setup, and what it imports, through its own transform.
const MIGRATE = '../../shared/ledger/migrate.ts';

const migrateTemplate = async (adminUrl: string): Promise<void> => {
  const exists = await access(new URL(MIGRATE, import.meta.url)).then(() => true, () => false);
  if (!exists) {
    say(`${MIGRATE} is missing: the template database stays EMPTY.`);
    return;
  }
  const { migrate } = await import(MIGRATE) as { migrate: (ownerUrl: string) => Promise<unknown> };
  await migrate(urlOf(adminUrl, TEMPLATE));
};

const prepareTemplate = async (adminUrl: string): Promise<void> => {
  await runStatements(adminUrl, [`CREATE DATABASE ${TEMPLATE}`]);
  await migrateTemplate(adminUrl);
  // Without connections to it, cloning never fails because someone looks at the template.
  await runStatements(adminUrl, [`ALTER DATABASE ${TEMPLATE} WITH IS_TEMPLATE true ALLOW_CONNECTIONS false`]);
};

const findRedis = async (): Promise<{ url: string; started: TestRedis | null }> => {
  if (process.env.TOCSIN_TEST_CLUSTER === '1') {
    const cluster = await startRedisCluster();
    if (!cluster) throw new Error('TOCSIN_TEST_CLUSTER=1, but no cluster starts with the redis-server and redis-cli of the PATH.');
    return { url: cluster.url, started: cluster };
  }
  const given = process.env.REDIS_URL;
  if (given) return { url: given, started: null };
  const started = await startTestRedis();
  if (started) return { url: started.url, started };
  if (process.env.REQUIRE_REDIS === '1') throw new Error('REQUIRE_REDIS=1, but REDIS_URL is not set and no redis-server starts from the PATH.');
  say('##### NO REDIS: REDIS_URL is not set and no redis-server starts from the PATH. EVERY TEST ON REDIS IS SKIPPED. #####');
  return { url: '', started: null };
};

/**
 * Starts one Postgres and one Redis for the whole run and tells the tests where they are, by environment variables. Where these
 * are set already, another run shares its own.
 */
export default async function setUp(): Promise<void> {
  if (process.env.TOCSIN_TEST_PG && process.env.TOCSIN_TEST_TEMPLATE) return;
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-test-'));
  const postgres = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined, extraOptions: QUICK });
  let redis: TestRedis | null = null;
  try {
    await prepareTemplate(postgres.url);
    const found = await findRedis();
    redis = found.started;
    process.env.TOCSIN_TEST_PG = postgres.url;
    process.env.TOCSIN_TEST_TEMPLATE = TEMPLATE;
    process.env.TOCSIN_TEST_REDIS = found.url;
  } catch (error) {
    // A setup that fails is not followed by a teardown.
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  Object.assign(globalThis, { [BACKENDS]: { postgres, folder, redis } satisfies TestBackends });
}
