import type { Database, Statement } from './database.ts';
import { isDatabaseAway } from './database.ts';
import { groupCalls } from './group-commit.ts';

export interface ApiKeyRow { id: string; tenant: string }

/** Stores a new key by its hash alone. */
export const insertApiKey = async (db: Database, key: { id: string; hash: Buffer; tenant: string; label: string; now: number }): Promise<void> => {
  await db.prisma.apiKey.create({ data: { id: key.id, hash: new Uint8Array(key.hash), tenant: key.tenant, label: key.label, createdAt: new Date(key.now) } });
};

const FIND: Statement = {
  name: 'tocsin_find_api_keys_v1',
  fixedPlan: true,
  text: 'SELECT hash, id, tenant FROM api_key WHERE hash = ANY($1::bytea[]) AND revoked_at IS NULL',
};

/** Finds the key with a hash, unless it was revoked: those asked for at the same time share a statement. Nothing is kept, so that a revoked key ends at once. */
export const createApiKeyFinder = (db: Pick<Database, 'query'>): ((hash: Buffer) => Promise<ApiKeyRow | null>) => {
  const find = groupCalls<string, ApiKeyRow | null>({
    run: async (hashes) => {
      const distinct = [...new Set(hashes)];
      const rows = await db.query<{ hash: Buffer; id: string; tenant: string }>(FIND, [distinct.map((hash) => Buffer.from(hash, 'hex'))]);
      const found = new Map(rows.map(({ hash, id, tenant }) => [hash.toString('hex'), { id, tenant }]));
      return hashes.map((hash) => found.get(hash) ?? null);
    },
    maxGroup: 200,
    retryAlone: (error) => !isDatabaseAway(error),
  });
  return (hash) => find(hash.toString('hex'));
};

/** All keys, newest first; never the keys themselves. */
export const listApiKeys = async (db: Database) => db.prisma.apiKey.findMany({ orderBy: { createdAt: 'desc' }, omit: { hash: true } });

/** Revokes a key; false where there is no such live key. */
export const revokeApiKey = async (db: Database, id: string, now: number): Promise<boolean> =>
  (await db.prisma.apiKey.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: new Date(now) } })).count === 1;
