import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ArtifactError, ArtifactTooLargeError } from '../../shared/content/artifacts/artifact-store.ts';
import type { ArtifactPlace, StoredBytes } from '../../shared/content/artifacts/artifact-store.ts';
import { CHUNK_BYTES } from '../../shared/content/artifacts/chunk-cipher.ts';
import { createFileArtifactStore } from '../../shared/content/artifacts/file-artifact-store.ts';
import { generateKeyRingText, parseKeyRing } from '../../shared/security/key-ring.ts';

let dir: string;
const keys = generateKeyRingText();
const store = () => createFileArtifactStore(join(dir, 'of', 'artifacts'), parseKeyRing(keys));
beforeAll(async () => { dir = await mkdtemp(join(tmpdir(), 'artifact-store-')); });
afterAll(() => rm(dir, { recursive: true }));

let count = 0;
const place = (): ArtifactPlace => ({ tenant: 'acme', artifact: `art_${String(count += 1).padStart(26, '0')}` });
/** In pieces that fit no chunk. */
async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 10_007) yield bytes.subarray(at, at + 10_007);
}
const readAll = async (from: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of from) chunks.push(chunk);
  return Buffer.concat(chunks);
};
const files = async (): Promise<string[]> => (await readdir(dir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
/** Stores, and says which file it became. */
const put = async (bytes: Buffer, at = place()): Promise<{ at: ArtifactPlace; stored: StoredBytes; path: string }> => {
  const before = new Set(await files());
  const stored = await store().put(at, pieces(bytes), 10_000_000);
  const added = (await files()).filter((path) => !before.has(path));
  return { at, stored, path: added[0] as string };
};
const readError = async (at: ArtifactPlace, stored: StoredBytes): Promise<unknown> => readAll(store().open(at, stored)).then(() => null, (error: unknown) => error);
const damaged = (problem: RegExp) => expect.objectContaining({ name: 'ArtifactError', code: 'artifact_damaged', message: expect.stringMatching(problem) });

describe('the artifact store', () => {
  test.each([0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 1_000_003])('gives back %d bytes as they came, with their checksum', async (size) => {
    const bytes = randomBytes(size);
    const { at, stored } = await put(bytes);
    expect(stored).toMatchObject({ bytes: size, sha256: createHash('sha256').update(bytes).digest('hex') });
    expect((await readAll(store().open(at, stored))).equals(bytes)).toBe(true);
  });

  test('keeps nothing in clear: neither the bytes nor the tenant nor the id stands in a file or its name', async () => {
    const { at, path } = await put(Buffer.from('the account of Ada. '.repeat(10_000)));
    const kept = await readFile(path);
    expect(kept.includes('Ada')).toBe(false);
    expect(path).not.toContain(at.tenant);
    expect(path).not.toContain(at.artifact);
  });

  test('encrypts each artifact under a key of its own: the same bytes twice are two different files', async () => {
    const [one, other] = [await put(Buffer.alloc(1_000)), await put(Buffer.alloc(1_000))];
    expect((await readFile(one.path)).subarray(11).equals((await readFile(other.path)).subarray(11))).toBe(false);
    expect(one.stored.sealed.box.equals(other.stored.sealed.box)).toBe(false);
  });

  test('finds a flipped byte wherever it is, and gives out nothing of that chunk', async () => {
    const bytes = randomBytes(2 * CHUNK_BYTES + 100);
    const { at, stored, path } = await put(bytes);
    const whole = await readFile(path);
    for (const position of [0, 5, 11, 11 + CHUNK_BYTES, 11 + CHUNK_BYTES + 16 + 7, whole.length - 1]) {
      const changed = Buffer.from(whole);
      changed[position] = (changed[position] as number) ^ 1;
      await writeFile(path, changed);
      const given: Buffer[] = [];
      const read = async () => { for await (const chunk of store().open(at, stored)) given.push(chunk); };
      await expect(read()).rejects.toEqual(damaged(/chunk|format/));
      const before = Buffer.concat(given);
      expect(before.equals(bytes.subarray(0, before.length))).toBe(true);
      expect(before.length).toBeLessThan(bytes.length);
    }
    await writeFile(path, whole);
    expect((await readAll(store().open(at, stored))).equals(bytes)).toBe(true);
  });

  test('finds chunks that were swapped, cut off at a chunk\'s end, or appended to', async () => {
    const { at, stored, path } = await put(randomBytes(3 * CHUNK_BYTES));
    const whole = await readFile(path);
    const sealed = CHUNK_BYTES + 16;
    const chunk = (index: number) => whole.subarray(11 + index * sealed, 11 + (index + 1) * sealed);
    await writeFile(path, Buffer.concat([whole.subarray(0, 11), chunk(1), chunk(0), chunk(2)]));
    expect(await readError(at, stored)).toEqual(damaged(/chunk 0/));
    await writeFile(path, whole);
    await truncate(path, whole.length - sealed);
    expect(await readError(at, stored)).toEqual(damaged(/size/));
    // The row forged to fit: the last chunk that is left does not call itself the last.
    expect(await readError(at, { ...stored, bytes: 2 * CHUNK_BYTES })).toEqual(damaged(/key of the artifact/));
    await writeFile(path, Buffer.concat([whole, Buffer.from('x')]));
    expect(await readError(at, stored)).toEqual(damaged(/size/));
  });

  test('does not open the file of another artifact or tenant in its place, nor with another checksum in its row', async () => {
    const [one, other] = [await put(randomBytes(500)), await put(randomBytes(500))];
    await rename(other.path, one.path);
    expect(await readError(one.at, one.stored)).toEqual(damaged(/chunk 0/));
    expect(await readError(one.at, { ...one.stored, sha256: other.stored.sha256 })).toEqual(damaged(/key of the artifact/));
    expect(await readError({ ...one.at, tenant: 'other' }, one.stored)).toEqual(damaged(/key of the artifact/));
  });

  test('says that an artifact is missing where its file is gone', async () => {
    const { at, stored } = await put(randomBytes(10));
    await store().remove(at);
    await store().remove(at);
    expect(await readError(at, stored)).toEqual(expect.objectContaining({ code: 'artifact_missing' }));
    expect(await readError(at, stored)).toBeInstanceOf(ArtifactError);
  });

  test('keeps nothing of what is too large, nor of a source that breaks off', async () => {
    const before = await files();
    await expect(store().put(place(), pieces(randomBytes(200_000)), 199_999)).rejects.toThrow(ArtifactTooLargeError);
    const broken = async function* () { yield randomBytes(100_000); throw new Error('the client went away'); };
    await expect(store().put(place(), broken(), 1_000_000)).rejects.toThrow('the client went away');
    expect(await files()).toEqual(before);
    await expect(store().put(place(), pieces(randomBytes(200_000)), 200_000)).resolves.toMatchObject({ bytes: 200_000 });
  });
});
