import { ulid } from 'ulid';
import type { ArtifactPlace, StoredBytes } from '../content/artifacts/artifact-store.ts';
import { ArtifactError } from '../content/artifacts/artifact-store.ts';
import type { ArtifactRecord } from '../ledger/artifacts.ts';
import { destroyExpiredArtifacts, findArtifacts, keepArtifact } from '../ledger/artifacts.ts';
import type { Engine } from './engine.ts';

export type ArtifactEngine = Pick<Engine, 'db' | 'artifacts' | 'now'>;

export interface StoreRequest {
  tenant: string;
  source: AsyncIterable<Uint8Array>;
  /** One of the allowed types. */
  mediaType: string;
  maxBytes: number;
  expiresAt: number;
  /** Refused, with nothing kept, where the bytes have another checksum; hex. */
  expectedSha256: string | null;
  requestId: string;
  actor: string;
}

export type StoreOutcome = { kind: 'stored'; artifact: ArtifactRecord; again: boolean; /** What stood of it could not be read any more, and can now. */ healed: boolean } | { kind: 'checksum_mismatch' }
  /** There was not one byte: no report is empty, so that something failed where it was made. */
  | { kind: 'empty' };

/**
 * Stores an artifact of a tenant; the same bytes of the same type again are the same artifact, which then lives at least as long.
 * @throws ArtifactTooLargeError; whatever the source throws. Nothing is kept then.
 */
export const storeArtifact = async (engine: ArtifactEngine, request: StoreRequest): Promise<StoreOutcome> => {
  const { tenant, mediaType, expiresAt, requestId, actor } = request;
  const artifactId = `art_${ulid(engine.now())}`;
  const place = { tenant, artifact: artifactId };
  const { sha256, bytes, sealed } = await engine.artifacts.put(place, request.source, request.maxBytes);
  if (request.expectedSha256 !== null && request.expectedSha256 !== sha256) {
    await engine.artifacts.remove(place);
    return { kind: 'checksum_mismatch' };
  }
  if (bytes === 0) {
    await engine.artifacts.remove(place);
    return { kind: 'empty' };
  }
  // The bytes are there before the row is: a crash in between leaves a file that nobody can read, never a row without bytes.
  const artifact = await keepArtifact(engine.db, { artifactId, tenant, sha256, bytes, mediaType, sealed, storedAt: engine.now(), expiresAt, requestId, actor });
  const again = artifact.artifactId !== artifactId;
  if (!again) return { kind: 'stored', artifact, again, healed: false };
  const healed = await healFrom(engine, artifact, engine.artifacts.open(place, { sha256, bytes, sealed })).finally(() => engine.artifacts.remove(place));
  return { kind: 'stored', artifact, again, healed };
};

/** Whether the stored bytes can still be read, to their end. */
const isReadable = async (engine: Pick<Engine, 'artifacts'>, place: ArtifactPlace, stored: StoredBytes): Promise<boolean> => {
  try {
    for await (const chunk of engine.artifacts.open(place, stored)) void chunk;
    return true;
  } catch (error) {
    if (error instanceof ArtifactError) return false;
    throw error;
  }
};

/** Puts the same bytes, which somebody brought again, in the place of damaged ones; false where nothing was to be done, or could be. */
const healFrom = async (engine: Pick<Engine, 'artifacts'>, { tenant, artifactId, sha256, bytes, sealed }: ArtifactRecord, source: AsyncIterable<Uint8Array>): Promise<boolean> => {
  if (!sealed) return false;
  const [place, stored] = [{ tenant, artifact: artifactId }, { sha256, bytes, sealed: { keyId: sealed.keyId, box: Buffer.from(sealed.box) } }];
  if (await isReadable(engine, place, stored)) return false;
  try {
    await engine.artifacts.restore(place, stored, source);
    return true;
  } catch (error) {
    // Its key does not open: the bytes alone do not help.
    if (error instanceof ArtifactError) return false;
    throw error;
  }
};

/**
 * The bytes of an artifact, verified as they are read.
 * @throws ArtifactError where it is gone, was changed or is another than `sha256` says.
 */
export async function* openArtifact(engine: Pick<Engine, 'db' | 'artifacts'>, { artifactId, sha256 }: { artifactId: string; sha256: string }): AsyncGenerator<Buffer> {
  const [found] = await findArtifacts(engine.db, [artifactId]);
  if (!found?.sealed) throw new ArtifactError('artifact_missing', 'the artifact was destroyed or never stored');
  if (found.sha256 !== sha256) throw new ArtifactError('artifact_damaged', 'the row of the artifact was changed');
  const sealed = { keyId: found.sealed.keyId, box: Buffer.from(found.sealed.box) };
  yield* engine.artifacts.open({ tenant: found.tenant, artifact: artifactId }, { sha256, bytes: found.bytes, sealed });
}

const BATCH = 100;

/** A store takes minutes; what was not written to for a day is dead. */
const DRAFT_LIVES_MS = 24 * 3_600_000;

/** Removes what stores that were broken off left behind; returns how many. */
export const sweepDrafts = (engine: Pick<Engine, 'artifacts'>): Promise<number> => engine.artifacts.sweepDrafts(DRAFT_LIVES_MS);

/** Destroys what has expired, keys first, then bytes; returns how many. Any number of processes may do so at once. */
export const destroyExpired = async (engine: ArtifactEngine): Promise<number> => {
  let destroyed = 0;
  for (;;) {
    const gone = await destroyExpiredArtifacts(engine.db, engine.now(), BATCH);
    await Promise.all(gone.map(({ tenant, artifactId }) => engine.artifacts.remove({ tenant, artifact: artifactId })));
    destroyed += gone.length;
    if (gone.length < BATCH) return destroyed;
  }
};
