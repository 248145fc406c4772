import pg from 'pg';

const TABLES = `SELECT c.oid::regclass::text AS name FROM pg_class c
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> '_prisma_migrations' ORDER BY 1`;

/**
 * Every row of one database into another one that was migrated and is empty, as a dump and its restoring carry them: column by
 * column (transaction ids, positions and epochs as they were written), past the triggers, with the sequences. For want of a
 * pg_dump that is as new as the server.
 */
export const copyDatabase = async (from: string, to: string): Promise<void> => {
  const [source, target] = [from, to].map((connectionString) => new pg.Client({ connectionString })) as [pg.Client, pg.Client];
  await Promise.all([source.connect(), target.connect()]);
  try {
    // One snapshot, as a dump has.
    await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await target.query('BEGIN');
    await target.query('SET LOCAL session_replication_role = replica');
    const { rows: tables } = await source.query<{ name: string }>(TABLES);
    for (const { name } of tables) {
      const { rows: [all] } = await source.query<{ rows: string }>(`SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${name} t`);
      // What a migration has put there itself is in the copy, too.
      await target.query(`DELETE FROM ${name}`);
      await target.query(`INSERT INTO ${name} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${name}, $1::json)`, [all?.rows]);
    }
    const { rows: sequences } = await source.query<{ name: string; last_value: string }>(
      `SELECT format('%I.%I', schemaname, sequencename) AS name, last_value::text FROM pg_sequences WHERE last_value IS NOT NULL`);
    for (const { name, last_value: last } of sequences) await target.query('SELECT setval($1::regclass, $2::bigint)', [name, last]);
    await target.query('COMMIT');
  } finally {
    await Promise.all([source.end(), target.end()]);
  }
};
