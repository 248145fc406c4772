import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { explainAccess } from './embedded-cluster.ts';
import { isRunning, startMarkOf } from './embedded-process.ts';

/** The live owner of a data directory. `since` is ISO 8601; `url` is its intake, once it answers there. */
export interface Owner { pid: number; since: string; url?: string }
export interface OwnerLock { release(): Promise<void> }

interface Claim { pid: number; since: string; startMark: string | null; token: string }

const LOCK_NAME = 'owner.lock';
const LOOK_AGAIN_MS = 20;

const readClaim = async (path: string): Promise<Claim | null> => {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Claim;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    // Claims appear whole (a link), so this is damage and not a claim being written.
    if (error instanceof SyntaxError) return { pid: 0, since: '', startMark: null, token: '' };
    throw error;
  }
};

/** The process that claimed, and not a later one that got its pid. Where the start is not told, the pid must do. */
const isHeld = ({ pid, startMark }: Claim): boolean => {
  if (!Number.isInteger(pid) || pid <= 0 || !isRunning(pid)) return false;
  const now = startMarkOf(pid);
  return startMark === null || now === null || now === startMark;
};

const releaseClaim = async (path: string, token: string): Promise<void> => {
  if ((await readClaim(path))?.token === token) await rm(path, { force: true });
};

/** Puts the claim at the path if nothing is there: a link fails where a rename would overwrite. */
const place = async (path: string, claim: Claim): Promise<boolean> => {
  const draft = `${path}.${claim.token}`;
  await writeFile(draft, JSON.stringify(claim), { mode: 0o600, flag: 'wx', flush: true });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
};

/**
 * Replaces a dead owner's claim. Two starters may find the same dead claim, and the slower one must not throw out the
 * quicker one's: so whoever replaces holds a second lock for that, and looks again under it. That second lock is taken
 * like the first one, since its holder may be killed too.
 */
const replaceDead = async (path: string, claim: Claim): Promise<boolean> => {
  const guard = `${path}.takeover`;
  const guardClaim = { ...claim, token: randomUUID() };
  if (await acquire(guard, guardClaim)) return false;
  try {
    const current = await readClaim(path);
    if (current === null || isHeld(current)) return false;
    const draft = `${path}.${claim.token}`;
    await writeFile(draft, JSON.stringify(claim), { mode: 0o600, flush: true });
    await rename(draft, path);
    return true;
  } finally {
    await releaseClaim(guard, guardClaim.token);
  }
};

/** Takes the lock; returns null when it is ours, else the claim that holds it. */
const acquire = async (path: string, claim: Claim): Promise<Claim | null> => {
  for (;;) {
    if (await place(path, claim)) return null;
    const holder = await readClaim(path);
    if (holder !== null && isHeld(holder)) return holder;
    if (holder !== null && await replaceDead(path, claim)) return null;
    await pause(LOOK_AGAIN_MS);
  }
};

const intakeUrlIn = async (dataDir: string): Promise<string | undefined> => {
  try {
    const { intake } = JSON.parse(await readFile(join(dataDir, 'standalone.json'), 'utf8')) as { intake?: unknown };
    return typeof intake === 'string' ? intake : undefined;
  } catch {
    // Not up yet, or not readable for us: the pid has to do.
    return undefined;
  }
};

/**
 * Makes this process the one owner of the data directory, which is created where missing. Returns the live owner where
 * there is one. The lock of a killed owner is taken over, also when its pid runs another program by now. It holds among
 * processes that see each other's pids; containers that share a folder must not share a data directory.
 */
export const acquireOwnerLock = async (dataDir: string): Promise<OwnerLock | { heldBy: Owner }> => {
  await mkdir(dataDir, { recursive: true, mode: 0o700 }).catch(explainAccess(dataDir));
  const path = join(await realpath(dataDir), LOCK_NAME);
  const claim: Claim = { pid: process.pid, since: new Date().toISOString(), startMark: startMarkOf(process.pid), token: randomUUID() };
  const holder = await acquire(path, claim).catch(explainAccess(dataDir));
  if (holder === null) return { release: () => releaseClaim(path, claim.token) };
  const url = await intakeUrlIn(dataDir);
  return { heldBy: { pid: holder.pid, since: holder.since, ...(url ? { url } : {}) } };
};
