import type { Database, Statement } from './database.ts';
import { toTimestamp } from './instants.ts';
import type { Statements } from './transaction.ts';

export type OperatorRole = 'viewer' | 'operator' | 'admin';
export interface OperatorRecord { name: string; role: OperatorRole; createdAt: number; passwordChangedAt: number; disabledAt: number | null }
/** With the stored hash, for whoever checks a password. */
export interface OperatorSecret extends OperatorRecord { passwordHash: string }

interface Row { name: string; role: OperatorRole; password_hash: string; created_at: Date; password_changed_at: Date; disabled_at: Date | null }
const toSecret = (row: Row): OperatorSecret => ({
  name: row.name, role: row.role, passwordHash: row.password_hash, createdAt: row.created_at.getTime(), passwordChangedAt: row.password_changed_at.getTime(), disabledAt: row.disabled_at?.getTime() ?? null,
});

const INSERT: Statement = {
  name: 'tocsin_add_operator_v1',
  text: `INSERT INTO operator (name, role, password_hash, created_at, password_changed_at)
         SELECT $1, $2, $3, $4::timestamptz, $4::timestamptz WHERE NOT $5::boolean OR NOT EXISTS (SELECT 1 FROM operator)
         ON CONFLICT DO NOTHING RETURNING name`,
};

/** Adds an operator; `first` only where there is none at all. False where nothing was added. */
export const insertOperator = async (on: Statements, one: { name: string; role: OperatorRole; passwordHash: string; now: number; first?: boolean }): Promise<boolean> =>
  (await on.query(INSERT, [one.name, one.role, one.passwordHash, toTimestamp(one.now), one.first ?? false])).length > 0;

const CHANGE: Statement = {
  name: 'tocsin_change_operator_v1',
  text: `UPDATE operator SET role = coalesce($2, role), password_hash = coalesce($3, password_hash), password_changed_at = CASE WHEN $3::text IS NULL THEN password_changed_at ELSE $4::timestamptz END,
           disabled_at = CASE WHEN $5::boolean THEN $4::timestamptz ELSE disabled_at END
          WHERE name = $1 AND disabled_at IS NULL RETURNING name`,
};

/** Changes an operator who is not disabled; false where there is none. */
export const changeOperator = async (on: Statements, name: string, change: { role?: OperatorRole; passwordHash?: string; disable?: true; now: number }): Promise<boolean> =>
  (await on.query(CHANGE, [name, change.role ?? null, change.passwordHash ?? null, toTimestamp(change.now), change.disable ?? false])).length > 0;

const ADMINS: Statement = { name: 'tocsin_lock_admins_v1', text: `SELECT name FROM operator WHERE role = 'admin' AND disabled_at IS NULL ORDER BY name FOR UPDATE` };

/** The names of those who may do everything, held until the transaction ends: of two who leave at once, one sees the other gone. */
export const lockAdmins = async (on: Statements): Promise<string[]> => (await on.query<{ name: string }>(ADMINS, [])).map(({ name }) => name);

const FIND: Statement = { name: 'tocsin_find_operator_v1', text: 'SELECT name, role, password_hash, created_at, password_changed_at, disabled_at FROM operator WHERE lower(name) = lower($1)' };

/** An operator by his name, however it is spelt; also one who is disabled. */
export const findOperator = async (on: Statements, name: string): Promise<OperatorSecret | null> => {
  const [row] = await on.query<Row>(FIND, [name]);
  return row ? toSecret(row) : null;
};

/** Whether there is an operator who may do everything, and whether there is any at all. */
export const operatorsThere = async (db: Database): Promise<{ admin: boolean; any: boolean }> => {
  const [admin, any] = await Promise.all([db.prisma.operator.findFirst({ where: { role: 'admin', disabledAt: null }, select: { name: true } }), db.prisma.operator.findFirst({ select: { name: true } })]);
  return { admin: admin !== null, any: any !== null };
};

/** All operators by name; never their hashes. */
export const listOperators = async (db: Database): Promise<OperatorRecord[]> =>
  (await db.prisma.operator.findMany({ orderBy: { name: 'asc' }, omit: { passwordHash: true } })).map((row) => ({
    name: row.name, role: row.role as OperatorRole, createdAt: row.createdAt.getTime(), passwordChangedAt: row.passwordChangedAt.getTime(), disabledAt: row.disabledAt?.getTime() ?? null,
  }));
