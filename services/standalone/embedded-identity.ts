import { execFile, spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { promisify } from 'node:util';

/**
 * Under which identity Postgres runs. It refuses root, and `initdb` refuses a user id without a name, yet both are
 * common in containers. The ways are tried in this order, the one that needs the least first:
 * - `plain`: we are an ordinary user.
 * - `user-namespace`: same files, same owner on disk; inside a user namespace of its own the server has another id.
 * - `other-user`: the files belong to an unprivileged user that can reach them.
 * - `capability`: the same, below a folder closed to that user (a home with mode 0700): it may pass file modes.
 */
export type IdentityKind = 'plain' | 'user-namespace' | 'other-user' | 'capability';
export interface Identity {
  kind: IdentityKind;
  /** Who owns the cluster's files on disk; undefined leaves them as they are. */
  owner?: SystemUser;
  wrapper: string[];
}
export interface SystemUser { uid: number; gid: number }

export interface IdentityQuestion {
  /** The folder that holds the cluster. */
  dataDir: string;
  /** The server program. */
  postgres: string;
  /** User id that owns the cluster's files; null while there is none. */
  clusterUid: number | null;
  /** The ways to try; all by default. */
  kinds?: readonly IdentityKind[];
}

const run = promisify(execFile);
const PREFERRED_USERS = ['postgres', 'daemon', 'bin', 'nobody'];

/** No variable of ours is passed on: the product's secrets have no place in another program's environment. */
const serverEnvironment = process.platform === 'win32' ? undefined : { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };

const systemUsers = (): (SystemUser & { name: string })[] => {
  try {
    return readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':'))
      .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
      .filter(({ name, uid, gid }) => name !== '' && uid > 0 && gid > 0);
  } catch {
    return [];
  }
};

const unprivilegedUser = (): SystemUser | undefined => {
  const users = systemUsers();
  return PREFERRED_USERS.map((name) => users.find((user) => user.name === name)).find(Boolean) ?? users[0];
};

const haveName = (): boolean => {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
};

const inNamespace = ({ uid, gid }: SystemUser): string[] => ['unshare', '--user', `--map-user=${uid}`, `--map-group=${gid}`, '--'];

const passingFileModes = ({ uid, gid }: SystemUser): string[] =>
  ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--inh-caps=+dac_override', '--ambient-caps=+dac_override', '--'];

const optionsOf = (identity: Identity) => ({ env: serverEnvironment, cwd: '/', ...(identity.kind === 'other-user' ? identity.owner : {}) });

/** Whether this identity can start the program and enter the folder. */
const reaches = async (identity: Identity, { postgres, dataDir }: IdentityQuestion): Promise<boolean> => {
  const [program = '', ...rest] = [...identity.wrapper, '/bin/sh', '-c', 'test -x "$1" && "$0" --version', postgres, dataDir];
  try {
    await run(program, rest, { ...optionsOf(identity), timeout: 10_000 });
    return true;
  } catch {
    return false;
  }
};

const candidates = ({ clusterUid }: IdentityQuestion): Identity[] => {
  if (process.getuid === undefined) return [{ kind: 'plain', wrapper: [] }];
  const root = process.getuid() === 0;
  if (!root && haveName()) return [{ kind: 'plain', wrapper: [] }];
  const user = unprivilegedUser();
  const namespace: Identity[] = user ? [{ kind: 'user-namespace', wrapper: inNamespace(user) }] : [];
  if (!root) return namespace;
  // Files that already belong to a user stay that user's, so that both it and root can start the same data directory.
  const foreign = clusterUid !== null && clusterUid !== 0;
  const owner = foreign ? { uid: clusterUid, gid: systemUsers().find(({ uid }) => uid === clusterUid)?.gid ?? clusterUid } : user;
  const others: Identity[] = owner ? [
    { kind: 'other-user', owner, wrapper: [] },
    { kind: 'capability', owner, wrapper: passingFileModes(owner) },
  ] : [];
  return foreign ? [...others, ...namespace.map((identity) => ({ ...identity, owner: { uid: 0, gid: 0 } }))] : [...namespace, ...others];
};

const ADVICE = 'Postgres does not run as root or as a user without a name, and no other way worked here. Do one of these: '
  + 'run Tocsin as an ordinary user; allow user namespaces (unshare --user must work); put the project and TOCSIN_DATA_DIR '
  + 'where an unprivileged user may enter (not below a home with mode 0700); or set DATABASE_URL to a Postgres of yours.';

/** Finds the identity under which Postgres can run here. Throws, saying what to do, where there is none. */
export const chooseIdentity = async (question: IdentityQuestion): Promise<Identity> => {
  for (const identity of candidates(question)) {
    if (question.kinds && !question.kinds.includes(identity.kind)) continue;
    if (identity.kind === 'plain') return identity;
    const mode = (await stat(question.dataDir)).mode & 0o777;
    // The other user must be able to pass through; what lies in the folder stays closed by its own mode.
    if (identity.kind === 'other-user') await chmod(question.dataDir, mode | 0o001);
    if (await reaches(identity, question)) return identity;
    await chmod(question.dataDir, mode);
  }
  throw new Error(ADVICE);
};

/**
 * Starts a program under the identity. `detached` gives it a session of its own, so that Ctrl-C in our terminal does not
 * stop the server before we have finished with it. The child's pid is the program's: every wrapper replaces itself.
 */
export const spawnAs = (identity: Identity, command: string[], stdio: StdioOptions, detached = false): ChildProcess => {
  const [program = '', ...rest] = [...identity.wrapper, ...command];
  return spawn(program, rest, { ...optionsOf(identity), stdio, detached });
};
