import type { AuditActor } from '../../shared/ledger/audit-entries.ts';
import type { OpenSession } from '../../shared/ledger/operator-sessions.ts';
import type { Role } from './board-rules.ts';

/** Who asks, as a request was let in. */
export interface Caller {
  user: string;
  role: Role;
  /** Null with HTTP Basic, which may only read. */
  session: OpenSession | null;
  /** What every form and every call that changes something must bring; null where nothing may be changed. */
  token: string | null;
  audit: AuditActor;
}

/** By the headers of the request: they are what Bull Board hands on to its hook. */
const callers = new WeakMap<object, Caller>();

export const setCaller = (headers: object, caller: Caller): void => { callers.set(headers, caller); };

/** Who was let in with a request. @throws Error on a route that lies outside of the login. */
export const callerOf = (headers: object): Caller => {
  const caller = callers.get(headers);
  if (!caller) throw new Error('a route behind the login that nobody was let into');
  return caller;
};
