import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fingerprint } from '../../security/fingerprint.ts';
import type { KeyRing } from '../../security/key-ring.ts';
import { open as unseal, seal } from '../../security/sealing.ts';
import { ArtifactError, ArtifactTooLargeError } from './artifact-store.ts';
import type { ArtifactPlace, ArtifactStore, StoredBytes } from './artifact-store.ts';
import { CHUNK_BYTES, chunkCount, openChunk, PREFIX_BYTES, sealChunk, sealedBytes, TAG_BYTES } from './chunk-cipher.ts';
import type { ChunkKey } from './chunk-cipher.ts';

const MAGIC = Buffer.from('TCA1', 'ascii');
const HEAD_BYTES = MAGIC.length + PREFIX_BYTES;

const contextOf = ({ tenant, artifact }: ArtifactPlace): string => JSON.stringify(['artifact', tenant, artifact]);
const sealContext = (place: ArtifactPlace, { sha256, bytes }: { sha256: string; bytes: number }): string => `${contextOf(place)}/${sha256}/${bytes}`;

/** Step by step: the recursive mkdir of Node never returns in some file systems. */
const makeFolder = async (path: string): Promise<void> => {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await makeFolder(path);
  }
};

/** A rename is durable once its folder is. */
const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

/** Full chunks of the source, and the rest as the last one. The chunk that is given out is overwritten by the next. */
async function* chunksOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<{ plain: Buffer; last: boolean }> {
  const held = Buffer.allocUnsafe(CHUNK_BYTES);
  let used = 0;
  for await (const piece of source) {
    for (let at = 0; at < piece.length;) {
      // A full chunk is only given out once more comes: it may be the last one.
      if (used === CHUNK_BYTES) {
        yield { plain: held, last: false };
        used = 0;
      }
      const taken = Math.min(CHUNK_BYTES - used, piece.length - at);
      held.set(piece.subarray(at, at + taken), used);
      used += taken;
      at += taken;
    }
  }
  yield { plain: held.subarray(0, used), last: true };
}

const writeSealed = async (file: FileHandle, chunkKey: ChunkKey, { source, maxBytes }: { source: AsyncIterable<Uint8Array>; maxBytes: number }) => {
  const hash = createHash('sha256');
  let bytes = 0;
  let index = 0;
  await file.writeFile(Buffer.concat([MAGIC, chunkKey.prefix]));
  for await (const { plain, last } of chunksOf(source)) {
    bytes += plain.length;
    if (bytes > maxBytes) throw new ArtifactTooLargeError('more bytes came than may be stored');
    hash.update(plain);
    await file.writeFile(sealChunk(chunkKey, plain, { index, last }));
    index += 1;
  }
  await file.sync();
  return { sha256: hash.digest('hex'), bytes };
};

const openOrMissing = async (path: string): Promise<FileHandle> => {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new ArtifactError('artifact_missing', 'the bytes of the artifact are not in the store');
    throw error;
  }
};

const readWhole = async (file: FileHandle, into: Buffer, position: number): Promise<void> => {
  for (let used = 0; used < into.length;) {
    const { bytesRead } = await file.read(into, used, into.length - used, position + used);
    if (bytesRead === 0) throw new ArtifactError('artifact_damaged', 'the stored artifact was cut short');
    used += bytesRead;
  }
};

const keyFor = (ring: KeyRing, place: ArtifactPlace, stored: StoredBytes): Buffer => {
  try {
    return unseal(ring, stored.sealed, sealContext(place, stored));
  } catch {
    throw new ArtifactError('artifact_damaged', 'the key of the artifact does not open: its row was changed, or the key that sealed it is not in TOCSIN_KEYS');
  }
};

async function* readSealed(file: FileHandle, { key, context, stored }: { key: Buffer; context: string; stored: StoredBytes }): AsyncGenerator<Buffer> {
  const head = Buffer.alloc(HEAD_BYTES);
  if ((await file.stat()).size !== HEAD_BYTES + sealedBytes(stored.bytes)) throw new ArtifactError('artifact_damaged', 'the stored artifact has another size than was stored');
  await readWhole(file, head, 0);
  if (!head.subarray(0, MAGIC.length).equals(MAGIC)) throw new ArtifactError('artifact_damaged', 'the stored artifact is not of a known format');
  const chunkKey = { key, prefix: head.subarray(MAGIC.length), context };
  const hash = createHash('sha256');
  const chunks = chunkCount(stored.bytes);
  const sealed = Buffer.allocUnsafe(CHUNK_BYTES + TAG_BYTES);
  for (let index = 0; index < chunks; index += 1) {
    const last = index === chunks - 1;
    const size = (last ? stored.bytes - index * CHUNK_BYTES : CHUNK_BYTES) + TAG_BYTES;
    await readWhole(file, sealed.subarray(0, size), HEAD_BYTES + index * (CHUNK_BYTES + TAG_BYTES));
    const plain = openChunk(chunkKey, sealed.subarray(0, size), { index, last });
    hash.update(plain);
    if (last && hash.digest('hex') !== stored.sha256) throw new ArtifactError('artifact_damaged', 'the stored artifact has another checksum than was stored');
    yield plain;
  }
}

/** What a store that is under way, or was broken off, is called. */
const DRAFT = '.part';
type Written = Pick<StoredBytes, 'sha256' | 'bytes'>;

const namesIn = async (path: string): Promise<string[]> => readdir(path).catch((error: NodeJS.ErrnoException) => {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
  throw error;
});

/** By the clock of the file system alone: a draft is as old as its last write. */
const sweepDrafts = async (dir: string, untouchedForMs: number): Promise<number> => {
  let swept = 0;
  for (const tenant of await namesIn(dir)) {
    for (const name of (await namesIn(join(dir, tenant))).filter((one) => one.endsWith(DRAFT))) {
      const path = join(dir, tenant, name);
      const found = await stat(path).catch(() => null);
      if (!found || Date.now() - found.mtimeMs < untouchedForMs) continue;
      await rm(path, { force: true });
      swept += 1;
    }
  }
  return swept;
};

/**
 * Artifacts as files under a folder that every service shares: `<keyed hash of the tenant>/<keyed hash of tenant and id>`, so that a
 * listing tells neither. A file is written aside, flushed and renamed: it is there whole or not at all. What a crash leaves aside
 * ends in `.part`, and what it leaves without a row cannot be read: its key was never kept.
 */
export const createFileArtifactStore = (dir: string, ring: KeyRing): ArtifactStore => {
  const pathOf = ({ tenant, artifact }: ArtifactPlace): string => join(
    dir, fingerprint(ring, 'artifact-tenant', tenant).toString('hex').slice(0, 32), fingerprint(ring, 'artifact-file', JSON.stringify([tenant, artifact])).toString('hex').slice(0, 48),
  );
  const write = async (place: ArtifactPlace, key: Buffer, from: { source: AsyncIterable<Uint8Array>; maxBytes: number; accept?: (written: Written) => void }): Promise<Written> => {
    const path = pathOf(place);
    const draft = `${path}.${randomBytes(6).toString('hex')}${DRAFT}`;
    await makeFolder(dirname(path));
    const file = await open(draft, 'wx', 0o600);
    try {
      const written = await writeSealed(file, { key, prefix: randomBytes(PREFIX_BYTES), context: contextOf(place) }, from);
      from.accept?.(written);
      await file.close();
      await rename(draft, path);
      await syncFolder(dirname(path));
      return written;
    } catch (error) {
      await file.close().catch(() => undefined);
      await rm(draft, { force: true });
      throw error;
    }
  };
  return {
    put: async (place, source, maxBytes) => {
      const key = randomBytes(32);
      const written = await write(place, key, { source, maxBytes });
      return { ...written, sealed: seal(ring, key, sealContext(place, written)) };
    },
    restore: async (place, stored, source) => {
      await write(place, keyFor(ring, place, stored), {
        source, maxBytes: stored.bytes,
        accept: ({ sha256, bytes }) => { if (sha256 !== stored.sha256 || bytes !== stored.bytes) throw new ArtifactError('artifact_damaged', 'the bytes are not those that were stored'); },
      });
    },
    sweepDrafts: (untouchedForMs) => sweepDrafts(dir, untouchedForMs),
    open: async function* (place, stored) {
      const key = keyFor(ring, place, stored);
      const file = await openOrMissing(pathOf(place));
      try {
        yield* readSealed(file, { key, context: contextOf(place), stored });
      } finally {
        await file.close();
      }
    },
    remove: (place) => rm(pathOf(place), { force: true }),
  };
};
