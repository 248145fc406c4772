import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunning } from '../../services/standalone/embedded-process.ts';
import { startEmbeddedPostgres } from '../../services/standalone/embedded-postgres.ts';
import { insertApiKey } from '../../shared/ledger/api-keys.ts';
import { APP_ROLE, openDatabase } from '../../shared/ledger/database.ts';
import { migrate } from '../../shared/ledger/migrate.ts';
import { migrateQueueSchema } from '../../shared/queue/migrate-queue-schema.ts';
import { generateApiKey } from '../../shared/security/api-key.ts';
import { atTheEnd } from '../audit/child-service.ts';
import type { Surroundings } from '../audit/surroundings.ts';
import { killPostgres } from '../audit/surroundings.ts';
import { DeadlineError, until } from '../audit/waiting.ts';

export interface ChaosDatabase {
  url: string;
  /** Stops it in immediate mode, as a crash would, and starts it again on the same data and port. */
  restart: () => Promise<void>;
  /** A key for the API, stored as the product's own command does. */
  makeApiKey: () => Promise<string>;
  /** Constraints of the ledger that some statement ran into, by the server's own log: constraint and how often. */
  brokenConstraints: () => Promise<Map<string, number>>;
}

const ENDS_WITHIN_MS = 10_000;
/** The ledger's own tables: what BullMQ does to its own is its own affair. */
const OURS = /ERROR: {2}(?:.*violates .* constraint "((?:ledger_entry|attempt|notification|sealed_payload|recipient|ticket|dead_letter|observation|outbox)[a-z0-9_]*)"|(the chain is broken)|(\w+ on \w+ is refused: it is append-only))/;

/** Reads a log that grows, and that the server truncates where it has grown too long. */
const openLogReader = (path: string) => {
  const broken = new Map<string, number>();
  let read = 0;
  return async (): Promise<Map<string, number>> => {
    const text = await readFile(path).catch(() => Buffer.alloc(0));
    if (text.length < read) read = 0;
    for (const line of text.subarray(read).toString('utf8').split('\n')) {
      const [, constraint, chain, refused] = OURS.exec(line) ?? [];
      const name = constraint ?? chain ?? refused;
      if (name !== undefined) broken.set(name, (broken.get(name) ?? 0) + 1);
    }
    read = text.length;
    return broken;
  };
};

const endAtOnce = async (pid: number, dataDir: string): Promise<void> => {
  process.kill(pid, 'SIGQUIT');
  await until('the end of Postgres', () => Promise.resolve(isRunning(pid) ? null : true), { withinMs: ENDS_WITHIN_MS, everyMs: 20 }).catch(async (error: unknown) => {
    if (!(error instanceof DeadlineError)) throw error;
    await killPostgres(dataDir);
  });
};

/** Starts the Postgres of a run, migrated; `cleanUp` stops it, also in the middle of a restart. */
export const startChaosDatabase = async (around: Surroundings): Promise<ChaosDatabase> => {
  const dataDir = join(around.folder, 'postgres-of-chaos');
  let postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  let restarting: Promise<void> = Promise.resolve();
  atTheEnd(async () => {
    await restarting.catch(() => undefined);
    await postgres.stop();
  });
  const { url } = postgres;
  await migrate(url);
  if (around.backend === 'postgres') await migrateQueueSchema(url, APP_ROLE);
  const brokenConstraints = openLogReader(join(dataDir, 'postgres.log'));
  const restart = async (): Promise<void> => {
    await endAtOnce(postgres.pid, dataDir);
    await brokenConstraints();
    const start = () => startEmbeddedPostgres({ dataDir, log: () => undefined, port: Number(new URL(url).port) });
    // A busy machine may keep it from answering in its own time.
    postgres = await until('Postgres', () => start().catch(() => null), { withinMs: 120_000, everyMs: 500 });
  };
  return {
    url, brokenConstraints,
    restart: () => (restarting = restart()),
    makeApiKey: async () => {
      const db = openDatabase({ url });
      try {
        const key = generateApiKey();
        await insertApiKey(db, { id: key.id, hash: Buffer.from(key.hash, 'hex'), tenant: 'default', label: 'chaos', now: Date.now() });
        return key.text;
      } finally {
        await db.close();
      }
    },
  };
};
