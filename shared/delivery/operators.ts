import type { AuditActor } from '../ledger/audit-entries.ts';
import { insertAudit } from '../ledger/audit-entries.ts';
import { endSessions } from '../ledger/operator-sessions.ts';
import { changeOperator, findOperator, insertOperator, lockAdmins } from '../ledger/operators.ts';
import type { OperatorRole } from '../ledger/operators.ts';
import { inTransaction } from '../ledger/transaction.ts';
import type { PasswordCost } from '../security/password.ts';
import { hashPassword, PASSWORD_COST, passwordMatches } from '../security/password.ts';
import type { Engine } from './engine.ts';

/** What the changes of operators work with: they need neither keys nor queues. */
export type OperatorDesk = Pick<Engine, 'db' | 'now'>;
export interface NewOperator { name: string; role: OperatorRole; password: string }

/** Adds an operator. False where that name is taken, in whatever case, also by one who is disabled: the trail must name one person only. */
export const addOperator = async ({ db, now }: OperatorDesk, { name, role, password }: NewOperator, by: AuditActor, cost: PasswordCost = PASSWORD_COST): Promise<boolean> => {
  const passwordHash = await hashPassword(password, cost);
  return inTransaction(db, async (tx) => {
    const added = await insertOperator(tx, { name, role, passwordHash, now: now() });
    if (added) await insertAudit(tx, by, [{ action: 'operator.add', target: `${name}=${role}`, result: 'done' }], now());
    return added;
  });
};

/** Makes the first operator of a deployment, who may do everything; does nothing where there is any. */
export const ensureFirstOperator = async ({ db, now }: OperatorDesk, { user, password }: { user: string; password: string }, requestId: string): Promise<boolean> => {
  // Asked first: a hash costs a tenth of a second, and nearly always there is somebody.
  if (await db.prisma.operator.findFirst({ select: { name: true } }) !== null) return false;
  const passwordHash = await hashPassword(password);
  return inTransaction(db, async (tx) => {
    const added = await insertOperator(tx, { name: user, role: 'admin', passwordHash, now: now(), first: true });
    const by: AuditActor = { actor: 'boot', role: null, via: 'service', session: null, client: null, requestId };
    if (added) await insertAudit(tx, by, [{ action: 'operator.add', target: `${user}=admin`, result: 'done' }], now());
    return added;
  });
};

/** The first operator as another program may be told: without a password where that was changed since, or there is no such operator. */
export const operatorAsTold = async ({ db }: OperatorDesk, { user, password }: { user: string; password: string }): Promise<{ user: string; password: string }> => {
  const operator = await findOperator(db, user);
  return { user, password: operator && operator.disabledAt === null && await passwordMatches(password, operator.passwordHash) ? password : '' };
};

export type OperatorChange = { kind: 'role'; role: OperatorRole } | { kind: 'password'; password: string } | { kind: 'disable' };
/** `last_admin`: without one nobody could read the trail any more. */
export type ChangeOutcome = { kind: 'changed'; sessionsEnded: number } | { kind: 'not_found' } | { kind: 'last_admin' };

const ACTIONS = { role: 'operator.set_role', password: 'operator.set_password', disable: 'operator.disable' } as const;

/**
 * Changes an operator, and ends all his sessions in the same transaction: what he might do before, he may not do on. A disabled one
 * stays disabled; his name stays his.
 */
export const changeOperatorAs = async ({ db, now }: OperatorDesk, name: string, change: OperatorChange, by: AuditActor): Promise<ChangeOutcome> => {
  const passwordHash = change.kind === 'password' ? await hashPassword(change.password) : undefined;
  return inTransaction(db, async (tx) => {
    const admins = await lockAdmins(tx);
    const leaves = change.kind === 'disable' || (change.kind === 'role' && change.role !== 'admin');
    if (leaves && admins.length === 1 && admins[0] === name) return { kind: 'last_admin' };
    const changed = await changeOperator(tx, name, {
      now: now(), ...(change.kind === 'role' ? { role: change.role } : {}), ...(passwordHash === undefined ? {} : { passwordHash }), ...(change.kind === 'disable' ? { disable: true as const } : {}),
    });
    if (!changed) return { kind: 'not_found' };
    const sessionsEnded = await endSessions(tx, { operator: name }, now());
    await insertAudit(tx, by, [{ action: ACTIONS[change.kind], target: change.kind === 'role' ? `${name}=${change.role}` : name, result: 'done' }], now());
    return { kind: 'changed', sessionsEnded };
  });
};
