import type { Database, Statement } from './database.ts';
import { isDatabaseAway } from './database.ts';
import { groupCalls } from './group-commit.ts';
import { toTimestamp } from './instants.ts';
import type { Statements } from './transaction.ts';
import { isScope, SCOPES } from '../security/api-scopes.ts';
import type { Scope } from '../security/api-scopes.ts';

/** A live key: whose it is and what it is good for. */
export interface ApiKeyRow { id: string; tenant: string; scopes: readonly Scope[] }
export interface NewApiKey { id: string; hash: Buffer; tenant: string; label: string; now: number; /** All of them where absent. */ scopes?: readonly Scope[] }

const INSERT: Statement = {
  name: 'tocsin_add_api_key_v1',
  text: 'INSERT INTO api_key (id, hash, tenant, label, created_at, scopes) VALUES ($1, $2::bytea, $3, $4, $5::timestamptz, $6::text[])',
};

/** Stores a new key by its hash alone. */
export const insertApiKey = async (db: Statements, key: NewApiKey): Promise<void> => {
  await db.query(INSERT, [key.id, key.hash, key.tenant, key.label, toTimestamp(key.now), [...key.scopes ?? SCOPES]]);
};

const rowOf = ({ id, tenant, scopes }: { id: string; tenant: string; scopes: string[] }): ApiKeyRow => ({ id, tenant, scopes: scopes.filter(isScope) });

const FIND: Statement = {
  name: 'tocsin_find_api_keys_v2',
  fixedPlan: true,
  text: 'SELECT hash, id, tenant, scopes FROM api_key WHERE hash = ANY($1::bytea[]) AND revoked_at IS NULL',
};

/** Requests of the same few milliseconds share one question; the first after a pause is asked at once. */
const KEYS_PACE_MS = 5;

/** Finds the key with a hash, unless it was revoked: those asked for at the same time share a statement. Nothing is kept, so that a revoked key ends at once. */
export const createApiKeyFinder = (db: Pick<Database, 'query'>): ((hash: Buffer) => Promise<ApiKeyRow | null>) => {
  const find = groupCalls<string, ApiKeyRow | null>({
    run: async (hashes) => {
      const distinct = [...new Set(hashes)];
      const rows = await db.query<{ hash: Buffer; id: string; tenant: string; scopes: string[] }>(FIND, [distinct.map((hash) => Buffer.from(hash, 'hex'))]);
      const found = new Map(rows.map((row) => [row.hash.toString('hex'), rowOf(row)]));
      return hashes.map((hash) => found.get(hash) ?? null);
    },
    maxGroup: 200,
    paceMs: KEYS_PACE_MS,
    retryAlone: (error) => !isDatabaseAway(error),
  });
  return (hash) => find(hash.toString('hex'));
};

/** All keys, newest first; never the keys themselves. */
export const listApiKeys = async (db: Database) => db.prisma.apiKey.findMany({ orderBy: { createdAt: 'desc' }, omit: { hash: true } });

const REVOKE: Statement = { name: 'tocsin_revoke_api_key_v1', text: 'UPDATE api_key SET revoked_at = $2::timestamptz WHERE id = $1 AND revoked_at IS NULL RETURNING id' };

/** Revokes a key; false where there is no such live key. */
export const revokeApiKey = async (db: Statements, id: string, now: number): Promise<boolean> => (await db.query(REVOKE, [id, toTimestamp(now)])).length === 1;
