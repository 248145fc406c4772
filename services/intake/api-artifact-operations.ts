import { z } from 'zod';
import { MEDIA_TYPES } from '../../shared/content/artifacts/media-types.ts';
import type { Operation } from './api-operation.ts';
import { ARTIFACT_CURES, artifactQuerySchema } from './artifact-routes.ts';

const artifact = z.strictObject({
  artifact: z.string().regex(/^art_[0-9A-HJKMNP-TV-Z]{26}$/), sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.int(), type: z.string(), expires_at: z.iso.datetime(),
  replayed: z.literal(true).meta({ description: 'The same bytes were there already.' }).optional(),
});
const STORED = { artifact: 'art_01KB8Z5Q6W3T9X2M4N7P8R0S1V', sha256: '9f2c1d0e8b7a6f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6', bytes: 20_971_520, type: 'application/pdf', expires_at: '2026-12-29T18:30:00.000Z' };

const token = { name: 'token', in: 'path' as const, required: true, description: 'From the message.', example: 'k3Zt0m9yQ1c8w7v6u5t4s3r2q1p0o9n8m7l6k5j4h3g' };
const asked = z.strictObject({ status: z.literal('asked'), detail: z.string() });
const LIMITED = { 429: ['too_many_requests'], 503: ['database_away'] };

/** The calls about reports. */
export const artifactOperations = (): Operation[] => [{
  method: 'post', path: '/artifacts', id: 'storeArtifact', group: 'Notifications', needsKey: true, scope: 'artifacts:write', summary: 'Store a report for a notification to carry',
  description: 'The body is the report itself. It is encrypted under a key of its own and named by `artifact` from then on; the same bytes again are the same artifact, which then lives as long as the longest asked for.',
  parameters: [{ name: 'Content-Digest', in: 'header', required: false, description: 'RFC 9530; a report that arrives otherwise is refused.', example: 'sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:' }],
  query: { schema: artifactQuerySchema, cures: ARTIFACT_CURES, examples: { expires_at: '2026-12-29T18:30:00Z' } },
  binary: MEDIA_TYPES,
  answers: {
    201: { description: 'Stored.', schema: artifact, example: STORED },
    200: { description: 'The same bytes were stored before.', schema: artifact, example: { ...STORED, replayed: true } },
  },
  problems: { 400: ['invalid_field', 'unknown_field', 'digest_invalid'], 413: ['body_too_large'], 415: ['unsupported_content_type', 'unsupported_encoding'], 422: ['artifact_empty', 'checksum_mismatch', 'expiry_invalid'] },
}, {
  method: 'get', path: '/reports/:token', id: 'showReport', group: 'Pages', summary: 'The page behind a link to a report', description: 'The same for every link. Uses up nothing.', parameters: [token],
  answers: { 200: { description: 'The page.', mediaType: 'text/html' } }, problems: LIMITED,
}, {
  method: 'post', path: '/reports/:token/code', id: 'sendReportCode', group: 'Pages', summary: 'Ask for the code of a link', parameters: [token],
  description: 'It goes by the other channel than the link did, is good for ten minutes and once. The answer is the same whether or not there is such a link.',
  answers: { 202: { description: 'Asked.', schema: asked, example: { status: 'asked', detail: 'If this link is good, a code is on its way by the other way than the link came.' } } }, problems: LIMITED,
}, {
  method: 'post', path: '/reports/:token/open', id: 'openReport', group: 'Pages', summary: 'Open a report', parameters: [token],
  description: 'Uses up the code, and answers with the report itself as a download. Whatever is wrong, the answer is the same in body, status and time.',
  body: { schema: z.looseObject({ code: z.string() }), cures: { code: 'give the code as it came' }, example: { code: '012345' }, form: true },
  answers: { 200: { description: 'The report.', mediaType: 'application/octet-stream', headers: { 'Content-Digest': 'Its checksum (RFC 9530).' } } }, problems: { ...LIMITED, 403: ['not_opened'] },
}];
