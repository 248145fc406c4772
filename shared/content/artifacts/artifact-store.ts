import type { Sealed } from '../../security/sealing.ts';

/** Which artifact of which tenant; where its bytes lie follows from both. */
export interface ArtifactPlace { tenant: string; artifact: string }

/** What has to be kept of stored bytes to read them again. */
export interface StoredBytes {
  /** Of the plain bytes, hex. */
  sha256: string;
  bytes: number;
  /** The data key of this artifact alone, sealed by the key ring for this place, checksum and size. */
  sealed: Sealed;
}

/**
 * Stored bytes that are not what was stored: changed, cut short, swapped (`artifact_damaged`), or away (`artifact_missing`). The
 * text names no tenant and no path.
 */
export class ArtifactError extends Error {
  override readonly name = 'ArtifactError';
  readonly code: 'artifact_damaged' | 'artifact_missing';
  constructor(code: 'artifact_damaged' | 'artifact_missing', problem: string) {
    super(problem);
    this.code = code;
  }
}

/** More bytes came than may be stored; nothing of them is kept. */
export class ArtifactTooLargeError extends Error {
  override readonly name = 'ArtifactTooLargeError';
}

/** Where the bytes of artifacts are kept. Knows nothing of types, expiry or who may read. */
export interface ArtifactStore {
  /**
   * Stores a stream under a new place, encrypted under a key of its own; durable once it resolves. Holds one chunk in memory.
   * @throws ArtifactTooLargeError beyond `maxBytes`; whatever the source throws. Nothing is left behind then.
   */
  put: (place: ArtifactPlace, source: AsyncIterable<Uint8Array>, maxBytes: number) => Promise<StoredBytes>;
  /**
   * The plain bytes, chunk by chunk. Each is authenticated before it is given out, and the checksum of the whole before the end, so
   * whoever waits for the end has exactly what was stored.
   * @throws ArtifactError, possibly after some chunks.
   */
  open: (place: ArtifactPlace, stored: StoredBytes) => AsyncIterable<Buffer>;
  /** Removes the bytes; nothing happens where there are none. */
  remove: (place: ArtifactPlace) => Promise<void>;
  /**
   * Puts the very bytes that were stored in their place again, under the same key.
   * @throws ArtifactError where the key does not open or the bytes are others; what stands there is then left as it is.
   */
  restore: (place: ArtifactPlace, stored: StoredBytes, source: AsyncIterable<Uint8Array>) => Promise<void>;
  /** Removes what broken-off stores left behind, unless it was written to within so many milliseconds; returns how many. */
  sweepDrafts: (untouchedForMs: number) => Promise<number>;
}

/** The store of a process that was given none. */
export const noArtifactStore: ArtifactStore = {
  put: () => Promise.reject(new Error('this process was given no artifact store')),
  open: () => { throw new ArtifactError('artifact_missing', 'this process was given no artifact store'); },
  remove: () => Promise.reject(new Error('this process was given no artifact store')),
  restore: () => Promise.reject(new Error('this process was given no artifact store')),
  sweepDrafts: () => Promise.resolve(0),
};
