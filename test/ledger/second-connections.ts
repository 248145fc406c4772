import pg from 'pg';
import type { Database } from '../../shared/ledger/database.ts';

export interface SecondConnections {
  /** A connection of its own, with a transaction open on it. */
  transaction: () => Promise<{ client: pg.Client; db: Database }>;
  /** Resolves once a statement of this database waits for a lock; looked at as the owner, since the application sees no one else's. */
  untilOneWaits: () => Promise<void>;
  /** Ends all of them. */
  end: () => Promise<void>;
}

/** Connections beside the engine's, for transactions that must overlap with its own. */
export const openSecondConnections = (url: () => string): SecondConnections => {
  const clients: pg.Client[] = [];
  const transaction = async (): Promise<{ client: pg.Client; db: Database }> => {
    const client = new pg.Client({ connectionString: url() });
    await client.connect();
    clients.push(client);
    await client.query('BEGIN');
    return { client, db: { query: async (statement: { name: string; text: string }, values: unknown[]) => (await client.query({ ...statement, values })).rows } as unknown as Database };
  };
  return {
    transaction,
    untilOneWaits: async () => {
      const { client } = await transaction();
      await client.query('COMMIT');
      const waits = async (): Promise<boolean> => (await client.query("SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")).rows.length > 0;
      while (!(await waits())) await new Promise((resolve) => { setImmediate(resolve); });
    },
    end: async () => { await Promise.all(clients.splice(0).map((client) => client.end())); },
  };
};
