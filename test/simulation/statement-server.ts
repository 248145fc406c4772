import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../services/standalone/embedded-postgres.ts';

/** One Postgres for all statement rounds; each gets an empty database of its own on it. */
export interface StatementServer {
  /** Resolves to the owner's URL of a new, empty database; the one before is dropped. */
  freshDatabase: () => Promise<string>;
  stop: () => Promise<void>;
}

const NAME = 'statement_rounds';
// Nothing survives a round, so nothing need survive a power cut. A ring of locks is told soon; and nobody else begins
// transactions, for the feed stands still below the oldest one.
const OPTIONS = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off', 'deadlock_timeout=50ms', 'autovacuum=off'];
// The tables of a round are small, and the planner would read them whole; those of a ledger are large, and read by their indexes.
const AS_IF_LARGE = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin'].map((name) => `ALTER DATABASE ${NAME} SET ${name} = off`);

const runAll = async (url: string, statements: readonly string[]): Promise<void> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
};

/** Starts the server in a temporary folder; `stop` removes both. */
export const startStatementServer = async (): Promise<StatementServer> => {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-statements-'));
  const postgres = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined, extraOptions: OPTIONS });
  const url = new URL(postgres.url);
  url.pathname = `/${NAME}`;
  return {
    freshDatabase: async () => {
      await runAll(postgres.url, [`DROP DATABASE IF EXISTS ${NAME} WITH (FORCE)`, `CREATE DATABASE ${NAME}`, ...AS_IF_LARGE]);
      return url.href;
    },
    stop: async () => {
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
