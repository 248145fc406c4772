import { constants, rmSync } from 'node:fs';
import { access, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';

/** Writes a file that only its owner may read, all of it or nothing. */
export const writePrivately = async (path: string, text: string): Promise<void> => {
  const draft = `${path}.${process.pid}.draft`;
  const file = await open(draft, 'w', 0o600);
  await file.writeFile(text);
  await file.sync();
  await file.close();
  await rename(draft, path);
};

/** The text of a secret kept in the data directory; made at its first use. */
export const keptSecret = async (dataDir: string, name: string, make: () => string | Promise<string>): Promise<string> => {
  const path = join(dataDir, name);
  const kept = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    // Only what is not there is made: a secret that cannot be read must never be overwritten by a new one.
    if (error.code === 'ENOENT') return null;
    throw new Error(`${path} cannot be read (${String(error.code)}): make it readable for this user`);
  });
  if (kept !== null && kept.trim() === '') throw new Error(`${path} is empty: put the kept ${name} back; or remove the file, if nothing was sealed with it`);
  if (kept !== null) return kept.trim();
  const made = await make();
  await writePrivately(path, `${made}\n`);
  return made;
};

/** Makes a folder and what is missing above it. Step by step: the recursive mkdir of Node never returns in some file systems. */
const makeFolder = async (path: string): Promise<boolean> => {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return false;
    if (code !== 'ENOENT' || dirname(path) === path || !(await makeFolder(dirname(path)))) throw error;
    await mkdir(path, { mode: 0o700 });
    return true;
  }
};

/** Makes the data directory, readable by its owner alone. One that is there already is used as it is. @throws Error saying what to do. */
export const ensureDataDir = async (dataDir: string): Promise<void> => {
  try {
    if (await makeFolder(dataDir)) await writeFile(join(dataDir, '.gitignore'), '*\n', { flag: 'wx' });
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Error(`the data directory ${dataDir} cannot be used (${String((error as NodeJS.ErrnoException).code)}): set TOCSIN_DATA_DIR to a folder that this user may make and write to`);
  }
};

/** A password that can be typed. */
export const makePassword = (): string => randomBytes(12).toString('base64url');

/** What other programs need to find a running standalone. */
export interface StandaloneFile {
  intake: string; dashboard: string; sandbox: string; smtp: string; database: string; queue: string; api_key: string;
  operator: { user: string; password: string };
}

export const standalonePath = (dataDir: string): string => join(dataDir, 'standalone.json');
/** Says where everything answers; removed again when it stops. */
export const writeStandaloneFile = (dataDir: string, content: StandaloneFile): Promise<void> =>
  writePrivately(standalonePath(dataDir), `${JSON.stringify(content, null, 2)}\n`);
export const removeStandaloneFile = (dataDir: string): Promise<void> => rm(standalonePath(dataDir), { force: true });
/** The same from an exit handler, which cannot wait. */
export const removeStandaloneFileNow = (dataDir: string): void => rmSync(standalonePath(dataDir), { force: true });
