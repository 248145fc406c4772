import { z } from 'zod';
import { MEDIA_TYPES } from '../../shared/content/artifacts/media-types.ts';
import type { Operation } from './api-operation.ts';
import { ARTIFACT_CURES, artifactQuerySchema } from './artifact-routes.ts';

const artifact = z.strictObject({
  artifact: z.string().regex(/^art_[0-9A-HJKMNP-TV-Z]{26}$/), sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.int(), type: z.string(), expires_at: z.iso.datetime(),
  replayed: z.literal(true).meta({ description: 'The same bytes were there already.' }).optional(),
});
const STORED = { artifact: 'art_01KB8Z5Q6W3T9X2M4N7P8R0S1V', sha256: '9f2c1d0e8b7a6f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6', bytes: 20_971_520, type: 'application/pdf', expires_at: '2026-12-29T18:30:00.000Z' };

/** The calls about reports. */
export const artifactOperations = (): Operation[] => [{
  method: 'post', path: '/artifacts', id: 'storeArtifact', group: 'Notifications', needsKey: true, summary: 'Store a report for a notification to carry',
  description: 'The body is the report itself. It is encrypted under a key of its own and named by `artifact` from then on; the same bytes again are the same artifact, which then lives as long as the longest asked for.',
  parameters: [{ name: 'Content-Digest', in: 'header', required: false, description: 'RFC 9530; a report that arrives otherwise is refused.', example: 'sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:' }],
  query: { schema: artifactQuerySchema, cures: ARTIFACT_CURES, examples: { expires_at: '2026-12-29T18:30:00Z' } },
  binary: MEDIA_TYPES,
  answers: {
    201: { description: 'Stored.', schema: artifact, example: STORED },
    200: { description: 'The same bytes were stored before.', schema: artifact, example: { ...STORED, replayed: true } },
  },
  problems: { 400: ['invalid_field', 'unknown_field', 'digest_invalid'], 413: ['body_too_large'], 415: ['unsupported_content_type', 'unsupported_encoding'], 422: ['checksum_mismatch', 'expiry_invalid'] },
}];
