import type { Checked, Credentials, SignInDesk, Whence } from '../../shared/delivery/sign-in.ts';
import { checkCredentials, clientOf, isThrottled } from '../../shared/delivery/sign-in.ts';
import { insertAudit } from '../../shared/ledger/audit-entries.ts';
import { findOperator } from '../../shared/ledger/operators.ts';
import { fingerprint } from '../../shared/security/fingerprint.ts';

/** For so long a checked password is not hashed again: a script sends it with every request. */
const REMEMBERED_MS = 10 * 60_000;
const MOST_REMEMBERED = 100;

/** What an `Authorization: Basic` header says; null where there is none. */
export const basicCredentials = (header: string | undefined): Credentials | null => {
  const encoded = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const cut = text.indexOf(':');
  return cut < 0 ? { name: text, password: '' } : { name: text.slice(0, cut), password: text.slice(cut + 1) };
};

/**
 * Checks the credentials of programs, under the same limits and with the same trail as the login form. What was right is remembered by a
 * keyed hash, with the stored hash it was right for: a changed password, or an operator who is disabled, ends it at once. What is
 * remembered saves the hashing and not the throttle: where a login is refused unseen, so is this. It is not counted, since it is right.
 */
export const createBasicLogin = (desk: SignInDesk): ((credentials: Credentials, whence: Whence) => Promise<Checked>) => {
  const remembered = new Map<string, { passwordHash: string; until: number }>();
  return async (credentials, whence) => {
    const key = fingerprint(desk.ring, 'basic-login', JSON.stringify([credentials.name, credentials.password])).toString('hex');
    const known = remembered.get(key);
    // Before anything is looked up: an answer that differs by what is remembered would tell a guesser the right password.
    const throttled = await isThrottled(desk, credentials, whence);
    const operator = !throttled && known && known.until > desk.now() ? await findOperator(desk.db, credentials.name) : null;
    if (operator && operator.disabledAt === null && operator.passwordHash === known?.passwordHash) return { kind: 'known', operator };
    const checked = await checkCredentials(desk, credentials, whence);
    if (checked.kind !== 'known') return checked;
    if (remembered.size >= MOST_REMEMBERED) remembered.clear();
    remembered.set(key, { passwordHash: checked.operator.passwordHash, until: desk.now() + REMEMBERED_MS });
    const { name, role } = checked.operator;
    await insertAudit(desk.db, { actor: name, role, via: 'basic', session: null, client: clientOf(desk, whence.network), requestId: whence.requestId }, [{ action: 'login.ok', target: name, result: 'done' }], desk.now());
    return checked;
  };
};
