import pg from 'pg';
import { runMigrations } from 'bullmq';
import { QUEUE_NAMES, QUEUE_SCHEMA } from './queue-names.ts';

/** Spells `TOCQ`; serializes the grants, which fail when two sessions write the same catalog row. */
const MIGRATION_LOCK = 0x54_4f_43_51;

const grantTo = async (client: pg.Client, appRole: string): Promise<void> => {
  const role = pg.escapeIdentifier(appRole);
  const schema = pg.escapeIdentifier(QUEUE_SCHEMA);
  await client.query(`
    GRANT USAGE ON SCHEMA ${schema} TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role};
    GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role};
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${role};
    ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${role};
    ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT USAGE, SELECT, UPDATE ON SEQUENCES TO ${role};
    ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT EXECUTE ON FUNCTIONS TO ${role};`);
};

/**
 * Makes or updates the schema of the Postgres backend as its owner and lets the role of the services use it (null where
 * they connect as the owner). Idempotent, also while workers run, and makes a dropped schema again. Throws what the
 * database throws.
 */
export const migrateQueueSchema = async (ownerUrl: string, appRole: string | null): Promise<void> => {
  const client = new pg.Client({ connectionString: ownerUrl, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await runMigrations(client, QUEUE_SCHEMA);
    await client.query(`SET search_path TO ${pg.escapeIdentifier(QUEUE_SCHEMA)}`);
    // BullMQ makes a sequence per queue at its first job; made here, the services need no right to create.
    for (const name of QUEUE_NAMES) {
      await client.query("SELECT next_job_id($1) WHERE to_regclass(job_id_seq_name($1)) IS NULL", [name]);
    }
    if (appRole !== null) await grantTo(client, appRole);
  } finally {
    await client.end();
  }
};
