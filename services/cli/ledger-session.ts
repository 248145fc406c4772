import type { Database } from '../../shared/ledger/database.ts';
import { openDatabase } from '../../shared/ledger/database.ts';
import type { EntryRecord } from '../../shared/ledger/reads.ts';
import type { CliConfig } from '../../shared/config/cli-config.ts';
import { readCliConfig, readDatabaseUrl } from '../../shared/config/cli-config.ts';
import type { Stamped, Transition } from '../../shared/domain/transitions.ts';
import type { Io } from './io.ts';
import { Refusal } from './refusal.ts';

/** Opens the database that the services use, for as long as the work takes. */
export const withLedger = async <Result>(io: Io, work: (db: Database, config: CliConfig) => Promise<Result>): Promise<Result> => {
  const config = readCliConfig(io.env);
  const db = openDatabase({ url: readDatabaseUrl(io.env, config), poolSize: 2 });
  try {
    return await work(db, config);
  } finally {
    await db.close();
  }
};

/** One entry as the command line shows it and gives it out. */
export interface Entry { version: number; at: number; kind: string; attempt: string | null; from: string | null; to: string; actor: string; policyVersion: number; details: Record<string, unknown> }

/** Reads an entry back from its canonical text. */
export const toEntry = (record: EntryRecord): Entry => ({
  version: record.version, at: record.at.getTime(), kind: record.kind, attempt: record.attemptKey, from: record.fromState, to: record.toState,
  actor: record.actor, policyVersion: record.policyVersion, details: (JSON.parse(record.body) as { details: Record<string, unknown> }).details,
});

/** An entry as `evolve` folds it. */
export const toStamped = ({ at, kind, details }: Entry): Stamped => ({ at, transition: { kind, details } as unknown as Transition });

/** No such notification here. */
export const notFound = (eventId: string): Refusal =>
  new Refusal(`there is no notification ${eventId} in this database`, { code: 'not_found', field: 'EVENT', cure: 'compare the id with the receipt, and DATABASE_URL with the deployment that gave it' });
