import { chmod, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { rmSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

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
export const keptSecret = async (dataDir: string, name: string, make: () => string): Promise<string> => {
  const path = join(dataDir, name);
  const kept = await readFile(path, 'utf8').catch(() => '');
  if (kept.trim() !== '') return kept.trim();
  const made = make();
  await writePrivately(path, `${made}\n`);
  return made;
};

/** Makes the data directory, readable by its owner alone. */
export const ensureDataDir = async (dataDir: string): Promise<void> => {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await chmod(dataDir, 0o700).catch(() => undefined);
  await writeFile(join(dataDir, '.gitignore'), '*\n').catch(() => undefined);
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
