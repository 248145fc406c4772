import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createFileArtifactStore } from '../../shared/content/artifacts/file-artifact-store.ts';
import { destroyExpired, openArtifact, storeArtifact, sweepDrafts } from '../../shared/delivery/artifacts.ts';
import type { StoreRequest } from '../../shared/delivery/artifacts.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { withClient } from './verify-support.ts';

const HOUR = 3_600_000;
let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };
let dir: string;
let now = Date.UTC(2026, 10, 20, 12);

beforeAll(async () => {
  database = await createTestDatabase();
  dir = await mkdtemp(join(tmpdir(), 'artifacts-'));
  const base = await createTestEngine({ url: database.url, now: () => now });
  engine = { ...base, artifacts: createFileArtifactStore(dir, base.ring) };
});
afterAll(async () => {
  await engine.close();
  await database.drop();
  await rm(dir, { recursive: true });
});

async function* once(bytes: Buffer): AsyncGenerator<Buffer> { yield bytes; }
const store = async (bytes: Buffer, over: Partial<StoreRequest> = {}) => {
  const outcome = await storeArtifact(engine, {
    tenant: 'acme', source: once(bytes), mediaType: 'application/pdf', maxBytes: 1_000_000, expiresAt: now + HOUR, expectedSha256: null, requestId: 'req-1', actor: 'key:k', ...over,
  });
  if (outcome.kind !== 'stored') throw new Error(outcome.kind);
  return outcome;
};
const readBack = async (artifact: { artifactId: string; sha256: string }): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of openArtifact(engine, artifact)) chunks.push(chunk);
  return Buffer.concat(chunks);
};
const filesIn = async (): Promise<string[]> => (await readdir(dir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
const fileCount = async (): Promise<number> => (await readdir(dir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length;

describe('artifacts', () => {
  test('are read back by id and checksum, and know the request that stored them', async () => {
    const bytes = randomBytes(100_000);
    const { artifact } = await store(bytes);
    expect(artifact).toMatchObject({ tenant: 'acme', bytes: 100_000, mediaType: 'application/pdf', requestId: 'req-1', sha256: createHash('sha256').update(bytes).digest('hex') });
    expect((await readBack(artifact)).equals(bytes)).toBe(true);
    await expect(readBack({ ...artifact, sha256: 'ab'.repeat(32) })).rejects.toMatchObject({ code: 'artifact_damaged' });
    await expect(readBack({ ...artifact, artifactId: 'art_00000000000000000000000000' })).rejects.toMatchObject({ code: 'artifact_missing' });
  });

  test('are the same one for the same bytes of a tenant, which lives as long as the longest asked for; another tenant or type has its own', async () => {
    const bytes = randomBytes(1_000);
    const first = await store(bytes);
    const files = await fileCount();
    const again = await store(bytes, { expiresAt: now + 3 * HOUR });
    const shorter = await store(bytes, { expiresAt: now + 2 * HOUR });
    expect([again.again, again.artifact.artifactId, again.artifact.expiresAt]).toEqual([true, first.artifact.artifactId, now + 3 * HOUR]);
    expect(shorter.artifact.expiresAt).toBe(now + 3 * HOUR);
    expect(await fileCount()).toBe(files);
    const others = [await store(bytes, { tenant: 'other' }), await store(bytes, { mediaType: 'text/csv' })];
    expect(new Set([first, ...others].map((one) => one.artifact.artifactId)).size).toBe(3);
  });

  test('with another checksum than was announced are not kept', async () => {
    const files = await fileCount();
    await expect(storeArtifact(engine, {
      tenant: 'acme', source: once(randomBytes(10)), mediaType: 'text/csv', maxBytes: 100, expiresAt: now + HOUR, expectedSha256: 'cd'.repeat(32), requestId: 'r', actor: 'a',
    })).resolves.toEqual({ kind: 'checksum_mismatch' });
    expect(await fileCount()).toBe(files);
  });

  test('are destroyed once they have expired, key and bytes; the same bytes then are a new one', async () => {
    const bytes = randomBytes(1_000);
    const { artifact } = await store(bytes, { tenant: 'expiring' });
    const files = await fileCount();
    expect(await destroyExpired(engine)).toBe(0);
    now += HOUR;
    expect(await destroyExpired(engine)).toBeGreaterThan(0);
    expect(await fileCount()).toBeLessThan(files);
    await expect(readBack(artifact)).rejects.toMatchObject({ code: 'artifact_missing' });
    const anew = await store(bytes, { tenant: 'expiring' });
    expect(anew.again).toBe(false);
    expect((await readBack(anew.artifact)).equals(bytes)).toBe(true);
  });

  const damage: [string, (path: string) => Promise<unknown>][] = [
    ['changed', async (path) => {
      const bytes = await readFile(path);
      bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
      await writeFile(path, bytes);
    }],
    ['cut short', (path) => truncate(path, 100)],
    ['gone', (path) => rm(path)],
  ];
  test.each(damage)('are healed by storing the same bytes again where they are %s, as the same artifact; sound ones are left as they are', async (how, spoil) => {
    const bytes = randomBytes(100_000);
    const tenant = `healed-${how}`;
    const before = new Set(await filesIn());
    const { artifact } = await store(bytes, { tenant });
    const path = (await filesIn()).find((one) => !before.has(one)) as string;
    const { mtimeMs } = await stat(path);
    expect(await store(bytes, { tenant })).toMatchObject({ again: true, healed: false });
    expect((await stat(path)).mtimeMs).toBe(mtimeMs);
    await spoil(path);
    await expect(readBack(artifact)).rejects.toMatchObject({ name: 'ArtifactError' });
    expect(await store(bytes, { tenant })).toMatchObject({ again: true, healed: true, artifact: { artifactId: artifact.artifactId } });
    expect((await readBack(artifact)).equals(bytes)).toBe(true);
    expect((await filesIn()).filter((one) => !before.has(one))).toEqual([path]);
  });

  test('are never replaced by other bytes, whoever brings them', async () => {
    const bytes = randomBytes(1_000);
    const { artifact } = await store(bytes, { tenant: 'kept' });
    const { sha256, sealed } = artifact;
    const place = { tenant: 'kept', artifact: artifact.artifactId };
    await expect(engine.artifacts.restore(place, { sha256, bytes: artifact.bytes, sealed: sealed as never }, once(randomBytes(1_000)))).rejects.toMatchObject({ code: 'artifact_damaged' });
    expect((await readBack(artifact)).equals(bytes)).toBe(true);
  });

  test('that were broken off are swept once nobody writes to them any more, and nothing else is', async () => {
    await store(randomBytes(10), { tenant: 'swept' });
    const [standing = ''] = await filesIn();
    const [dead, young] = [`${standing}.aaaaaaaaaaaa.part`, `${standing}.bbbbbbbbbbbb.part`];
    await Promise.all([writeFile(dead, 'x'), writeFile(young, 'x')]);
    await utimes(dead, new Date(), new Date(Date.now() - 25 * HOUR));
    const files = await fileCount();
    expect(await sweepDrafts(engine)).toBe(1);
    expect(await fileCount()).toBe(files - 1);
    expect(await filesIn()).toEqual(expect.arrayContaining([standing, young]));
    await rm(young);
  });

  test('cannot be changed, shortened or deleted in the database, by the owner neither', async () => {
    const { artifact } = await store(randomBytes(10));
    const id = artifact.artifactId;
    await withClient(database.url, async (client) => {
      for (const change of [
        `UPDATE artifact SET sha256 = sha256('x') WHERE artifact_id = '${id}'`,
        `UPDATE artifact SET expires_at = expires_at - interval '1 s' WHERE artifact_id = '${id}'`,
        `UPDATE artifact SET box = 'x' WHERE artifact_id = '${id}'`,
        `UPDATE artifact SET media_type = 'text/html' WHERE artifact_id = '${id}'`,
        `DELETE FROM artifact WHERE artifact_id = '${id}'`, 'TRUNCATE artifact CASCADE',
      ]) await expect(client.query(change)).rejects.toMatchObject({ code: '42501' });
      await client.query('SET ROLE tocsin_app');
      await expect(client.query(`UPDATE artifact SET bytes = 1 WHERE artifact_id = '${id}'`)).rejects.toMatchObject({ code: '42501' });
    });
  });
});
