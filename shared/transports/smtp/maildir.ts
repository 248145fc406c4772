import { readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A report returns at most a whole message of ours, whose attachments it need not hold; what is larger is not read. */
const MAX_BYTES = 4 * 1024 * 1024;
const BATCH = 100;

const isGone = (error: unknown): boolean => (error as { code?: string }).code === 'ENOENT';
const unlessGone = <T>(work: Promise<T>): Promise<T | null> => work.catch((error: unknown) => {
  if (isGone(error)) return null;
  throw error;
});

/**
 * Hands over the mails that are new in a Maildir, oldest name first, and marks each as seen once `handle` is through with it. A mail that `handle` throws
 * on stays new. Several readers may do so at once: a mail may then be handled twice, and never not at all.
 *
 * @returns how many were handed over
 * @throws where the folder is no Maildir or cannot be read
 */
export const readNewMail = async (folder: string, handle: (raw: Buffer) => Promise<void>): Promise<number> => {
  const names = (await readdir(join(folder, 'new'))).filter((name) => !name.startsWith('.')).sort();
  let handed = 0;
  for (const name of names) {
    if (handed >= BATCH) break;
    const path = join(folder, 'new', name);
    const found = await unlessGone(stat(path));
    // A folder, pipe or socket is no mail; reading one could take for ever.
    if (found === null || !found.isFile()) continue;
    const raw = found.size > MAX_BYTES ? null : await unlessGone(readFile(path));
    if (raw) {
      await handle(raw);
      handed += 1;
    }
    await unlessGone(rename(path, join(folder, 'cur', `${name}:2,S`)));
  }
  return handed;
};
