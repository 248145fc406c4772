import type { Database, Statement } from './database.ts';
import { toHexBytes, toTimestamp } from './instants.ts';
import type { SealedBox } from './rows.ts';

/** An artifact as its row has it; `sealed` is null once it was destroyed. */
export interface ArtifactRecord {
  artifactId: string; tenant: string;
  /** Hex. */
  sha256: string;
  bytes: number; mediaType: string; sealed: SealedBox | null; storedAt: number; expiresAt: number; requestId: string;
}

export interface NewArtifact extends Omit<ArtifactRecord, 'sealed'> { sealed: SealedBox; actor: string }

interface Row {
  artifact_id: string; tenant: string; sha256: Buffer; bytes: string; media_type: string; key_id: string | null; box: Buffer | null; stored_at: Date; expires_at: Date; request_id: string;
}
const COLUMNS = 'artifact_id, tenant, sha256, bytes, media_type, key_id, box, stored_at, expires_at, request_id';

const recordOf = (row: Row): ArtifactRecord => ({
  artifactId: row.artifact_id, tenant: row.tenant, sha256: row.sha256.toString('hex'), bytes: Number(row.bytes), mediaType: row.media_type,
  sealed: row.key_id !== null && row.box !== null ? { keyId: row.key_id, box: row.box } : null, storedAt: row.stored_at.getTime(), expiresAt: row.expires_at.getTime(),
  requestId: row.request_id,
});

const KEEP: Statement = {
  name: 'tocsin_keep_artifact_v1',
  text: `INSERT INTO artifact (${COLUMNS}, actor) VALUES ($1, $2, $3::bytea, $4, $5, $6, $7::bytea, $8::timestamptz, $9::timestamptz, $10, $11)
         ON CONFLICT (tenant, sha256, media_type) WHERE destroyed_at IS NULL
         DO UPDATE SET expires_at = greatest(artifact.expires_at, EXCLUDED.expires_at)
         RETURNING ${COLUMNS}`,
};

/** Keeps an artifact, or makes the one of the same tenant, bytes and type live at least as long. The record that stands; its id tells which. */
export const keepArtifact = async (db: Database, one: NewArtifact): Promise<ArtifactRecord> => {
  const rows = await db.query<Row>(KEEP, [
    one.artifactId, one.tenant, `\\x${one.sha256}`, one.bytes, one.mediaType, one.sealed.keyId, toHexBytes(one.sealed.box), toTimestamp(one.storedAt), toTimestamp(one.expiresAt), one.requestId, one.actor,
  ]);
  return recordOf(rows[0] as Row);
};

const FIND: Statement = { name: 'tocsin_find_artifacts_v1', text: `SELECT ${COLUMNS} FROM artifact WHERE artifact_id = ANY($1::text[])` };

/** Those of the artifacts that there are, of whatever tenant, in no order. */
export const findArtifacts = async (db: Database, artifactIds: readonly string[]): Promise<ArtifactRecord[]> => (await db.query<Row>(FIND, [artifactIds])).map(recordOf);

const DESTROY: Statement = {
  name: 'tocsin_destroy_artifacts_v1',
  text: `UPDATE artifact SET key_id = NULL, box = NULL, destroyed_at = $1::timestamptz
          WHERE artifact_id IN (SELECT artifact_id FROM artifact WHERE destroyed_at IS NULL AND expires_at <= $1::timestamptz ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)
         RETURNING ${COLUMNS}`,
};

/** Destroys the keys of expired artifacts; their bytes can be read no more, and are the caller's to remove. */
export const destroyExpiredArtifacts = async (db: Database, now: number, limit: number): Promise<ArtifactRecord[]> => (await db.query<Row>(DESTROY, [toTimestamp(now), limit])).map(recordOf);
