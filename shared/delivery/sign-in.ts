import { randomBytes } from 'node:crypto';
import type { AuditActor } from '../ledger/audit-entries.ts';
import { insertAudit } from '../ledger/audit-entries.ts';
import { countLogin, forgetLogins, readLogins, takeLoginBack, uncountLogin } from '../ledger/login-throttle.ts';
import { endSessions, findSession, forgetSessions, insertSession, touchSession } from '../ledger/operator-sessions.ts';
import type { OpenSession, SessionLimits } from '../ledger/operator-sessions.ts';
import { findOperator } from '../ledger/operators.ts';
import type { OperatorSecret } from '../ledger/operators.ts';
import { inTransaction } from '../ledger/transaction.ts';
import { fingerprint } from '../security/fingerprint.ts';
import { LONGEST_PASSWORD, passwordMatches } from '../security/password.ts';
import { generateToken, hashToken } from '../security/tokens.ts';
import type { Engine } from './engine.ts';

export const SESSION_LIMITS: SessionLimits = { idleMs: 2 * 3_600_000, longestMs: 12 * 3_600_000 };
const TOUCH_EVERY_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * How many logins may fail in a window. By name and network together it is few; by a name alone many, since whoever knows a name
 * could else keep its owner out; by a network alone what a house full of people may mistype.
 */
export const LOGIN_LIMITS = { windowMs: 15 * 60_000, together: 5, network: 50, name: 100 };

const KINDS = ['together', 'network', 'name'] as const;

export type SignInDesk = Pick<Engine, 'db' | 'now' | 'ring'>;
export interface Credentials { name: string; password: string }
/** From where: `network` in clear, which is kept as a keyed hash alone. */
export interface Whence { network: string; requestId: string; via: 'dashboard' | 'basic' }

export type Checked = { kind: 'known'; operator: OperatorSecret } | { kind: 'refused' } | { kind: 'throttled'; waitMs: number };

/** The keyed hash by which the trail knows a network. */
export const clientOf = ({ ring }: Pick<Engine, 'ring'>, network: string): string => fingerprint(ring, 'client-network', network).toString('hex').slice(0, 16);

/** What stands for a name that nobody has: what was typed may be anything, a password too. */
const unknownName = ({ ring }: Pick<Engine, 'ring'>, name: string): string => `name:${fingerprint(ring, 'login-name', name.toLowerCase()).toString('hex').slice(0, 16)}`;

const keysOf = ({ ring }: SignInDesk, name: string, network: string) => {
  const key = (purpose: string, text: string): Buffer => fingerprint(ring, `login/${purpose}`, text);
  const typed = name.toLowerCase();
  return { together: key('together', JSON.stringify([typed, network])), network: key('network', network), name: key('name', typed) };
};

/**
 * Counts a login as failed under all its keys, unless one of them is over its limit: what is refused unseen counts for nothing, or one
 * client could keep a name or a whole network out. Only the two together, where they are over, go on: nobody else is counted there.
 */
const admit = async (desk: SignInDesk, keys: ReturnType<typeof keysOf>): Promise<{ waitMs: number; firstRefused: boolean }> => inTransaction(desk.db, async (tx) => {
  const now = desk.now();
  const counted = await countLogin(tx, Object.values(keys), { now, windowMs: LOGIN_LIMITS.windowMs });
  const over = counted.filter(({ key, failures }) => KINDS.some((kind) => key.equals(keys[kind]) && failures > LOGIN_LIMITS[kind]));
  if (over.length === 0) return { waitMs: 0, firstRefused: false };
  const own = over.find(({ key }) => key.equals(keys.together));
  await uncountLogin(tx, own ? [keys.network, keys.name] : Object.values(keys));
  return { waitMs: Math.max(...over.map(({ untilAt }) => untilAt - now)), firstRefused: own?.failures === LOGIN_LIMITS.together + 1 };
});

/** Whether a login with that name from there would be refused unseen. Counts nothing, and does not look whether there is such a name. */
export const isThrottled = async (desk: SignInDesk, { name }: Pick<Credentials, 'name'>, { network }: Pick<Whence, 'network'>): Promise<boolean> => {
  const keys = keysOf(desk, name, network);
  const failed = await readLogins(desk.db, Object.values(keys), desk.now());
  return failed.some(({ key, failures }) => KINDS.some((kind) => key.equals(keys[kind]) && failures >= LOGIN_LIMITS[kind]));
};

const actorOf = (desk: SignInDesk, operator: OperatorSecret | null, whence: Whence, session: string | null = null): AuditActor => ({
  actor: operator?.name ?? 'unknown', role: operator?.role ?? null, via: whence.via, session, client: clientOf(desk, whence.network), requestId: whence.requestId,
});

/**
 * Checks a name and a password. Unknown and disabled names cost what a wrong password costs and are answered alike; each try is
 * counted before it is looked at, and each failure stands in the trail.
 */
export const checkCredentials = async (desk: SignInDesk, { name, password }: Credentials, whence: Whence): Promise<Checked> => {
  const { db } = desk;
  const keys = keysOf(desk, name, whence.network);
  const { waitMs, firstRefused } = await admit(desk, keys);
  // The database takes no NUL, and no name has a control character.
  const operator = /\p{Cc}/u.test(name) ? null : await findOperator(db, name);
  const noted = (result: string) => insertAudit(db, actorOf(desk, operator, whence), [{ action: 'login.failed', target: operator?.name ?? unknownName(desk, name), result }], desk.now());
  if (waitMs > 0) {
    // Once a window and key: a crowd must not fill the trail.
    if (firstRefused) await noted('throttled');
    return { kind: 'throttled', waitMs };
  }
  const usable = operator?.disabledAt === null && password.length <= LONGEST_PASSWORD;
  const fits = await passwordMatches(password.slice(0, LONGEST_PASSWORD), usable ? operator.passwordHash : null);
  if (!fits || !usable) {
    await noted(operator === null ? 'unknown_name' : operator.disabledAt === null ? 'wrong_password' : 'disabled');
    return { kind: 'refused' };
  }
  await takeLoginBack(db, Object.values(keys), keys.together);
  return { kind: 'known', operator };
};

export type SignIn = { kind: 'signed_in'; token: string; session: OpenSession } | Exclude<Checked, { kind: 'known' }> | { kind: 'form_used' };

/** Opens a session. `form` is the token of the login form, good for one session; a session that stood before is ended. */
export const signIn = async (desk: SignInDesk, credentials: Credentials & { form: string; before: OpenSession | null }, whence: Whence): Promise<SignIn> => {
  const checked = await checkCredentials(desk, credentials, whence);
  if (checked.kind !== 'known') return checked;
  const { operator } = checked;
  const now = desk.now();
  const token = generateToken();
  const session: OpenSession = { sessionId: randomBytes(8).toString('hex'), operator: operator.name, role: operator.role, createdAt: now, seenAt: now, expiresAt: now + SESSION_LIMITS.longestMs };
  const opened = await inTransaction(desk.db, async (tx) => {
    // Its password may have been changed while it was looked at: who holds the new one is not kept waiting by that.
    const current = await findOperator(tx, operator.name);
    if (current?.passwordHash !== operator.passwordHash || current.disabledAt !== null) return false;
    const fresh = await insertSession(tx, { sessionId: session.sessionId, tokenHash: hashToken(token), formHash: hashToken(credentials.form), operator: operator.name, now, expiresAt: session.expiresAt });
    if (fresh && credentials.before) await endSessions(tx, { sessionId: credentials.before.sessionId }, now);
    const by = actorOf(desk, operator, whence, fresh ? session.sessionId.slice(0, 8) : null);
    await insertAudit(tx, by, [fresh ? { action: 'login.ok', target: operator.name, result: 'done' } : { action: 'login.failed', target: operator.name, result: 'form_used' }], now);
    return fresh;
  });
  await Promise.all([forgetSessions(desk.db, now - DAY_MS), forgetLogins(desk.db, now)]);
  return opened ? { kind: 'signed_in', token, session } : { kind: 'form_used' };
};

/** Whose session a token is; null where it has ended or lapsed. */
export const sessionOf = async ({ db, now }: Pick<Engine, 'db' | 'now'>, token: string): Promise<OpenSession | null> => {
  const at = now();
  const session = await findSession(db, hashToken(token), { now: at, idleMs: SESSION_LIMITS.idleMs });
  if (session && at - session.seenAt >= TOUCH_EVERY_MS) await touchSession(db, session.sessionId, at);
  return session;
};

/** Ends a session, or all sessions of its operator. */
export const signOut = async ({ db, now }: Pick<Engine, 'db' | 'now'>, session: OpenSession, how: { everywhere: boolean; by: AuditActor }): Promise<void> => inTransaction(db, async (tx) => {
  const ended = await endSessions(tx, how.everywhere ? { operator: session.operator } : { sessionId: session.sessionId }, now());
  if (ended > 0) await insertAudit(tx, how.by, [{ action: how.everywhere ? 'logout.everywhere' : 'logout.ok', target: session.operator, result: 'done' }], now());
});
