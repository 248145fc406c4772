import { createHash, randomUUID } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import pg from 'pg';
import { ensurePartitions } from './partitions.ts';

/** Any number will do as long as every migrating process takes the same. */
const ADVISORY_LOCK = 7_262_004;

export const migrationsDirectory = (): string => fileURLToPath(new URL('../../prisma/migrations', import.meta.url));

interface Migration { name: string; sql: string; checksum: string }

export interface MigrateHooks {
  onApplied?: (name: string) => void;
  /** Called inside the transaction of a migration, before it commits. */
  beforeCommit?: (name: string) => void;
  directory?: string;
}

export interface MigrateResult { applied: string[]; present: string[] }

/** A migration in the database differs from its file: the files are forward-only, so nothing is applied. */
export class MigrationChangedError extends Error {
  override readonly name = 'MigrationChangedError';
}

const readMigrations = async (directory: string): Promise<Migration[]> => {
  const names = (await readdir(directory, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort();
  return Promise.all(names.map(async (name) => {
    const sql = await readFile(join(directory, name, 'migration.sql'), 'utf8');
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
  }));
};

/** The table of Prisma's own runner, column for column, so that either may go on where the other stopped. */
const PRISMA_TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id varchar(36) PRIMARY KEY NOT NULL, checksum varchar(64) NOT NULL, finished_at timestamptz, migration_name varchar(255) NOT NULL,
  logs text, rolled_back_at timestamptz, started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`;

const applyOne = async (client: pg.Client, migration: Migration, hooks: MigrateHooks): Promise<void> => {
  await client.query('BEGIN');
  try {
    const startedAt = new Date();
    await client.query(migration.sql);
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count) VALUES ($1, $2, $3, $4, $5, 1)`,
      [randomUUID(), migration.checksum, migration.name, startedAt, new Date()]);
    hooks.beforeCommit?.(migration.name);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw new Error(`migration ${migration.name} failed: ${(error as Error).message}`, { cause: error });
  }
  hooks.onApplied?.(migration.name);
};

const pending = async (client: pg.Client, migrations: Migration[]): Promise<Migration[]> => {
  const { rows } = await client.query<{ migration_name: string; checksum: string }>(
    'SELECT migration_name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL');
  const present = new Map(rows.map((row) => [row.migration_name, row.checksum]));
  const changed = migrations.find((one) => present.has(one.name) && present.get(one.name) !== one.checksum);
  if (changed) throw new MigrationChangedError(`migration ${changed.name} was changed after it had been applied; put the file back, and add a new migration instead`);
  return migrations.filter((one) => !present.has(one.name));
};

/**
 * Brings a database to the current schema: each migration in one transaction, under an advisory lock, so that any number of
 * processes may ask at once and a kill leaves either all of a migration or nothing of it. Connects as the owner.
 * @throws MigrationChangedError where an applied file was edited; Error naming the migration that failed.
 */
export const migrate = async (ownerUrl: string, hooks: MigrateHooks = {}): Promise<MigrateResult> => {
  const client = new pg.Client({ connectionString: ownerUrl, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)::text', [ADVISORY_LOCK]);
    await client.query(PRISMA_TABLE);
    const migrations = await readMigrations(hooks.directory ?? migrationsDirectory());
    const todo = await pending(client, migrations);
    for (const migration of todo) await applyOne(client, migration, hooks);
    await ensurePartitions({ query: async (statement, values) => (await client.query({ ...statement, values })).rows }, Date.now());
    await client.query('ANALYZE');
    return { applied: todo.map((one) => one.name), present: migrations.filter((one) => !todo.includes(one)).map((one) => one.name) };
  } finally {
    await client.end().catch(() => undefined);
  }
};

/** Names of the migrations a database still lacks; read as any role. All of them where it was never migrated. */
export const missingMigrations = async (query: (text: string) => Promise<{ migration_name: string }[]>): Promise<string[]> => {
  const migrations = await readMigrations(migrationsDirectory());
  try {
    const rows = await query('SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL');
    const present = new Set(rows.map((row) => row.migration_name));
    return migrations.filter((one) => !present.has(one.name)).map((one) => one.name);
  } catch (error) {
    if ((error as { code?: string }).code === '42P01') return migrations.map((one) => one.name);
    throw error;
  }
};
