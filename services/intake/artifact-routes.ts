import type { Request, RequestHandler, Router } from 'express';
import { z } from 'zod';
import { ArtifactTooLargeError } from '../../shared/content/artifacts/artifact-store.ts';
import { MEDIA_TYPES, mediaTypeOf } from '../../shared/content/artifacts/media-types.ts';
import { storeArtifact } from '../../shared/delivery/artifacts.ts';
import type { StoreOutcome } from '../../shared/delivery/artifacts.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { ArtifactRecord } from '../../shared/ledger/artifacts.ts';
import { apiKeyOf, requireApiKey } from './api-key-auth.ts';
import type { Cures } from './faults.ts';
import { readFields } from './faults.ts';
import { faultyFields, Problem, WHOLE_BODY } from './problem.ts';
import { addRoute } from './routes.ts';

/** Most bytes of an artifact where nothing else is set: below what mail servers take, once it is written in base64. */
export const DEFAULT_MAX_BYTES = 25_000_000;
const DAY_MS = 86_400_000;
const LIVES_DAYS = 30;
const LONGEST_DAYS = 400;

export const artifactQuerySchema = z.strictObject({ expires_at: z.iso.datetime({ offset: true, error: 'is not an instant with its offset' }).optional() });
export const ARTIFACT_CURES: Cures = { expires_at: `write it as 2026-11-29T18:30:00Z or with an offset, at most ${LONGEST_DAYS} days away, or leave it out for ${LIVES_DAYS} days` };

const expiryOf = (query: unknown, now: number): number => {
  const { expires_at: text } = readFields(artifactQuerySchema, query, ARTIFACT_CURES);
  if (text === undefined) return now + LIVES_DAYS * DAY_MS;
  const at = Date.parse(text);
  if (at > now && at - now <= LONGEST_DAYS * DAY_MS) return at;
  throw faultyFields([{ field: 'expires_at', problem: at > now ? `is more than ${LONGEST_DAYS} days away` : 'is past', cure: 'give another instant, or leave it out' }], 'expiry_invalid', 422);
};

/** The sha-256 in `Content-Digest` (RFC 9530), hex; null without the header. Other algorithms beside it are not looked at. */
const announcedDigest = (request: Request): string | null => {
  const header = request.get('content-digest');
  if (header === undefined) return null;
  const encoded = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):/.exec(header)?.[1];
  if (encoded !== undefined) return Buffer.from(encoded, 'base64').toString('hex');
  throw faultyFields([{ field: 'Content-Digest', problem: 'has no sha-256', cure: 'write it as sha-256=:<base64 of the 32 bytes>:, or leave it out' }], 'digest_invalid');
};

const readType = (request: Request): string => {
  const type = mediaTypeOf(request.get('content-type'));
  if (type === null) {
    throw new Problem({ status: 415, code: 'unsupported_content_type', detail: `This type is not stored. Send one of ${MEDIA_TYPES.join(', ')}.`, headers: { Accept: MEDIA_TYPES.join(', ') }, members: { accepted: MEDIA_TYPES } });
  }
  const encoding = request.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') throw new Problem({ status: 415, code: 'unsupported_encoding', detail: 'A report is stored as it is. Send it without a content encoding.', headers: { 'Accept-Encoding': 'identity' } });
  return type;
};

const tooLarge = (maxBytes: number): Problem =>
  new Problem({ status: 413, code: 'body_too_large', detail: `The report has more than ${maxBytes.toLocaleString('en')} bytes. Make it smaller, or raise ARTIFACT_MAX_BYTES.`, members: { limit_bytes: maxBytes } });

/** The client only reads an answer once it has sent everything; how long it may take for that is the server's to limit. */
const discardRest = async (request: Request): Promise<void> => {
  if (request.readableEnded || request.destroyed) return;
  request.resume();
  await new Promise<void>((resolve) => request.once('end', resolve).once('close', resolve).once('error', () => resolve()));
};

const bodyOf = (artifact: ArtifactRecord) => ({
  artifact: artifact.artifactId, sha256: artifact.sha256, bytes: artifact.bytes, type: artifact.mediaType, expires_at: new Date(artifact.expiresAt).toISOString(),
});

/** `POST /artifacts`: the body is the report itself, streamed into the store; the same bytes again are the same artifact. */
const postArtifact = (engine: Engine, maxBytes: number): RequestHandler => async (request, response) => {
  const { id: keyId, tenant } = apiKeyOf(response);
  let outcome: StoreOutcome;
  try {
    const mediaType = readType(request);
    const expiresAt = expiryOf(request.query, engine.now());
    const expectedSha256 = announcedDigest(request);
    if (Number(request.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes);
    const source = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    outcome = await storeArtifact(engine, { tenant, source, mediaType, maxBytes, expiresAt, expectedSha256, requestId: String(request.id), actor: `key:${keyId}` });
  } catch (error) {
    // Nobody is there to be told, and nothing was kept.
    if (request.destroyed && !request.complete) return;
    await discardRest(request);
    throw error instanceof ArtifactTooLargeError ? tooLarge(maxBytes) : error;
  }
  if (outcome.kind === 'checksum_mismatch') {
    throw faultyFields([{ field: 'Content-Digest', problem: 'is not the checksum of what arrived', cure: 'send the report again, whole' }], 'checksum_mismatch', 422);
  }
  if (outcome.kind === 'empty') {
    throw faultyFields([{ field: WHOLE_BODY, problem: 'is empty', cure: 'send the bytes of the report; see that it was made before it was sent' }], 'artifact_empty', 422);
  }
  response.status(outcome.again ? 200 : 201).set('Cache-Control', 'no-store').json({ ...bodyOf(outcome.artifact), ...(outcome.again ? { replayed: true } : {}) });
};

/** Where reports are stored before a notification carries them. */
export const addArtifactRoutes = (router: Router, { engine, maxBytes }: { engine: Engine; maxBytes: number }): void => {
  addRoute(router, '/artifacts', { post: [requireApiKey(engine.db)('artifacts:write'), postArtifact(engine, maxBytes)] });
};
