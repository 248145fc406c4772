import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../services/standalone/embedded-postgres.ts';

/** One Postgres for all statement rounds; each mistake gets an empty database on it. */
export interface StatementServer {
  /** Resolves to the owner's URL of a new, empty database; the one before is dropped. */
  freshDatabase: () => Promise<string>;
  stop: () => Promise<void>;
}

/** Gives empty databases, one after the other, on a server that runs already. */
export type StatementDatabases = Pick<StatementServer, 'freshDatabase'>;

// Nothing survives a round, so nothing need survive a power cut. A ring of locks is told soon; and nobody else begins
// transactions, for the feed stands still below the oldest one.
const OPTIONS = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off', 'deadlock_timeout=50ms', 'autovacuum=off'];
// The tables of a round are small, and the planner would read them whole; those of a ledger are large, and read by their indexes.
const AS_IF_LARGE = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin'];

const runAll = async (url: string, statements: readonly string[]): Promise<void> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
};

/** Databases of that name on a server; `drop` removes the last one. */
export const databasesOn = (adminUrl: string, name = 'statement_rounds'): StatementDatabases & { drop: () => Promise<void> } => {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const drop = `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`;
  return {
    freshDatabase: async () => {
      await runAll(adminUrl, [drop, `CREATE DATABASE ${name}`, ...AS_IF_LARGE.map((setting) => `ALTER DATABASE ${name} SET ${setting} = off`)]);
      return url.href;
    },
    drop: () => runAll(adminUrl, [drop]),
  };
};

/** Starts the server in a temporary folder; `stop` removes both. */
export const startStatementServer = async (): Promise<StatementServer> => {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-statements-'));
  const postgres = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined, extraOptions: OPTIONS });
  // A signal ends the process without its last word, in which the server is told to stop.
  const leave = (): void => { process.exit(130); };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, leave);
  return {
    freshDatabase: databasesOn(postgres.url).freshDatabase,
    stop: async () => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeListener(signal, leave);
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
