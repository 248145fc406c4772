import type { Database } from './database.ts';

export interface ApiKeyRow { id: string; tenant: string }

/** Stores a new key by its hash alone. */
export const insertApiKey = async (db: Database, key: { id: string; hash: Buffer; tenant: string; label: string; now: number }): Promise<void> => {
  await db.prisma.apiKey.create({ data: { id: key.id, hash: new Uint8Array(key.hash), tenant: key.tenant, label: key.label, createdAt: new Date(key.now) } });
};

/** The key with that hash, unless it was revoked. */
export const findApiKey = async (db: Database, hash: Buffer): Promise<ApiKeyRow | null> => {
  const row = await db.prisma.apiKey.findUnique({ where: { hash: new Uint8Array(hash) } });
  return row && row.revokedAt === null ? { id: row.id, tenant: row.tenant } : null;
};

/** All keys, newest first; never the keys themselves. */
export const listApiKeys = async (db: Database) => db.prisma.apiKey.findMany({ orderBy: { createdAt: 'desc' }, omit: { hash: true } });

/** Revokes a key; false where there is no such live key. */
export const revokeApiKey = async (db: Database, id: string, now: number): Promise<boolean> =>
  (await db.prisma.apiKey.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: new Date(now) } })).count === 1;
