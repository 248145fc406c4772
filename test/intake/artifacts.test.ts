import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { openArtifact } from '../../shared/delivery/artifacts.ts';
import { readCount } from './artifact-support.ts';
import type { Answer, Rig } from './rig.ts';
import { ask, createRig, postJson } from './rig.ts';

let rig: Rig;
let intake: RunningIntake;
let auth: Record<string, string>;
let foreign: Record<string, string>;
const LIMIT = 300_000;

beforeAll(async () => {
  rig = await createRig();
  intake = await rig.start({ artifactMaxBytes: LIMIT });
  auth = { Authorization: `Bearer ${await rig.createKey('acme')}` };
  foreign = { Authorization: `Bearer ${await rig.createKey('other')}` };
});
afterAll(() => rig.close());

const post = (bytes: Buffer, headers: Record<string, string> = {}, query = ''): Promise<Answer> =>
  ask(`${intake.url}/artifacts${query}`, { method: 'POST', headers: { 'Content-Type': 'application/pdf', ...auth, ...headers }, body: new Uint8Array(bytes) });
const digestOf = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();
const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

let count = 0;
const notify = (artifacts: unknown, over: Record<string, unknown> = {}, headers = auth): Promise<Answer> => {
  count += 1;
  return postJson(`${intake.url}/notifications`, {
    purpose: 'account-report', variables: { report_title: 'October' }, artifacts,
    recipient: { ref: 'acct-1', sms: '+12025550101', email: 'a@example.com', region: 'US', locale: 'en', consent: ['email:account_holder', 'sms:report_notice'] }, ...over,
  }, { 'Idempotency-Key': `artifacts-${count}`, ...headers });
};

describe('POST /artifacts', () => {
  it('stores what it is sent and answers with its name, checksum, size, type and expiry', async () => {
    const bytes = randomBytes(LIMIT);
    const { status, body } = await post(bytes, { 'Content-Digest': `sha-256=:${digestOf(bytes).toString('base64')}:` });
    expect([status, body]).toEqual([201, {
      artifact: expect.stringMatching(/^art_[0-9A-Z]{26}$/), sha256: digestOf(bytes).toString('hex'), bytes: LIMIT, type: 'application/pdf', expires_at: expect.stringMatching(/Z$/),
    }]);
    const chunks: Buffer[] = [];
    for await (const chunk of openArtifact(rig.engine, { artifactId: String(body['artifact']), sha256: String(body['sha256']) })) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
  });

  it('answers the same bytes with the same artifact, and lets it live as long as the longest asked for', async () => {
    const bytes = randomBytes(1_000);
    const [first, again] = [await post(bytes, {}, `?expires_at=${inDays(2)}`), await post(bytes, {}, `?expires_at=${inDays(3)}`)];
    expect([first.status, again.status, again.body['replayed']]).toEqual([201, 200, true]);
    expect(again.body['artifact']).toBe(first.body['artifact']);
    expect(Date.parse(String(again.body['expires_at']))).toBeGreaterThan(Date.parse(String(first.body['expires_at'])));
    expect((await post(bytes, foreign)).body['artifact']).not.toBe(first.body['artifact']);
  });

  test.each<[string, () => Promise<Answer>, number, string]>([
    ['no key', () => post(randomBytes(10), { Authorization: 'x' }), 401, 'unauthorized'],
    ['a type that is not on the list', () => post(randomBytes(10), { 'Content-Type': 'text/html' }), 415, 'unsupported_content_type'],
    ['a compressed body', () => post(randomBytes(10), { 'Content-Encoding': 'gzip' }), 415, 'unsupported_encoding'],
    ['a body that is announced too large', () => post(randomBytes(LIMIT + 1)), 413, 'body_too_large'],
    ['another checksum than was announced', () => post(randomBytes(10), { 'Content-Digest': `sha-256=:${digestOf(Buffer.alloc(0)).toString('base64')}:` }), 422, 'checksum_mismatch'],
    ['a report without a byte', () => post(Buffer.alloc(0)), 422, 'artifact_empty'],
    ['one whose checksum is that of nothing', () => post(Buffer.alloc(0), { 'Content-Digest': `sha-256=:${digestOf(Buffer.alloc(0)).toString('base64')}:` }), 422, 'artifact_empty'],
    ['a digest that is none', () => post(randomBytes(10), { 'Content-Digest': 'md5=:AAAA:' }), 400, 'digest_invalid'],
    ['an expiry that is past', () => post(randomBytes(10), {}, '?expires_at=2020-01-01T00:00:00Z'), 422, 'expiry_invalid'],
    ['an expiry in another century', () => post(randomBytes(10), {}, '?expires_at=2126-01-01T00:00:00Z'), 422, 'expiry_invalid'],
    ['an expiry that is no instant', () => post(randomBytes(10), {}, '?expires_at=soon'), 400, 'invalid_field'],
  ])('refuses %s, and keeps nothing', async (_what, send, status, code) => {
    const before = await readCount(rig);
    const answer = await send();
    expect([answer.status, answer.body['code']]).toEqual([status, code]);
    expect(await readCount(rig)).toBe(before);
  });

  it('names the body where that is empty', async () => {
    expect((await post(Buffer.alloc(0))).body).toMatchObject({ field: 'body', detail: expect.stringMatching(/^The body is empty: /), errors: [{ field: 'body' }] });
  });

  it('refuses a body without a length that grows too large, once it has read it, and keeps nothing', async () => {
    const before = await readCount(rig);
    const status = await new Promise<number>((resolve, reject) => {
      const request = http.request(`${intake.url}/artifacts`, { method: 'POST', headers: { 'Content-Type': 'application/pdf', ...auth } }, (response) => resolve(response.resume().statusCode ?? 0));
      request.on('error', reject);
      for (let index = 0; index < 6; index += 1) request.write(randomBytes(60_000));
      request.end();
    });
    expect([status, await readCount(rig)]).toEqual([413, before]);
  });

  it('keeps nothing of a client that goes away, and logs no error for it', async () => {
    const before = await readCount(rig);
    await new Promise<void>((resolve) => {
      const request = http.request(`${intake.url}/artifacts`, { method: 'POST', headers: { 'Content-Type': 'application/pdf', 'Content-Length': '1000', ...auth } });
      request.on('error', () => undefined).once('close', resolve);
      request.write(randomBytes(500), () => request.destroy());
    });
    // A whole request afterwards: the broken one is over by then.
    await post(randomBytes(10), { 'Content-Type': 'text/html' });
    expect(await readCount(rig)).toBe(before);
    expect(rig.logged()).not.toContain('request.failed');
  });
});

describe('a notification that carries an artifact', () => {
  const stored = async (query = '', headers = {}): Promise<string> => String((await post(randomBytes(100), headers, query)).body['artifact']);

  it('is accepted with a reference to it, and with one that has expired since it stays accepted', async () => {
    const artifact = await stored();
    const { status, body } = await notify([artifact], {}, { ...auth, 'Idempotency-Key': 'kept' });
    expect([status, body['status']]).toEqual([202, 'accepted']);
    const [row] = (await rig.engine.db.pool.query('SELECT artifact_references, request_id FROM notification WHERE artifact_references @> $1::jsonb', [JSON.stringify([artifact])])).rows as { artifact_references: string[] }[];
    expect(row?.artifact_references).toEqual([artifact]);
    await rig.engine.db.pool.query('UPDATE artifact SET key_id = NULL, box = NULL, destroyed_at = expires_at WHERE artifact_id = $1', [artifact]);
    expect((await notify([artifact], {}, { ...auth, 'Idempotency-Key': 'kept' })).body).toMatchObject({ event_id: body['event_id'], replayed: true });
  });

  it('has its links in the messages and their hashes in the database, and neither in the ledger nor a log', async () => {
    const { body } = await notify([await stored()]);
    const { rows } = await rig.engine.db.pool.query('SELECT channel, encode(token_hash, \'hex\') AS hash FROM report_link WHERE event_id = $1 ORDER BY channel', [body['event_id']]);
    expect(rows.map((row: { channel: string }) => row.channel)).toEqual(['email', 'sms']);
    const kept = JSON.stringify((await rig.engine.db.pool.query('SELECT n.*, e.body FROM notification n JOIN ledger_entry e USING (event_id) WHERE event_id = $1', [body['event_id']])).rows);
    expect(kept + rig.logged()).not.toContain('/reports/');
  });

  test.each<[string, () => Promise<Answer>, string, string]>([
    ['one that was never stored', () => notify(['art_01KB8Z5Q6W3T9X2M4N7P8R0S1V']), 'artifact_unknown', 'artifacts.0'],
    ['another tenant\'s', async () => notify([await stored('', foreign)]), 'artifact_unknown', 'artifacts.0'],
    ['one that expires before it does', async () => notify([await stored(`?expires_at=${inDays(0.5)}`)]), 'artifact_expires_too_soon', 'artifacts.0'],
    ['none, where its purpose needs one', () => notify(undefined), 'artifact_required', 'artifacts'],
    ['a link of the caller\'s own', async () => notify([await stored()], { variables: { report_title: 'x', report_url_sms: 'https://example.com' } }), 'unknown_variable', 'variables.report_url_sms'],
  ])('is refused with %s, and told what to do', async (_what, send, code, field) => {
    const answer = await send();
    expect([answer.status, answer.body['code'], answer.body['field']]).toEqual([422, code, field]);
    expect((answer.body['errors'] as { cure: string }[])[0]?.cure).toMatch(/\w+ \w+/);
  });
});
