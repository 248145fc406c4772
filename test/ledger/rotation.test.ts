import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createFileArtifactStore } from '../../shared/content/artifacts/file-artifact-store.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { openArtifact, storeArtifact } from '../../shared/delivery/artifacts.ts';
import { refuseWrongKeys } from '../../shared/delivery/check-keys.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { newErasure } from '../../shared/delivery/erase-person.ts';
import { openPart } from '../../shared/delivery/payload.ts';
import { readFeed } from '../../shared/delivery/read-feed.ts';
import { renderAgain } from '../../shared/delivery/render-again.ts';
import { reportToken } from '../../shared/delivery/report-links.ts';
import { suppressDestination } from '../../shared/delivery/suppression.ts';
import { appendToErasureFile, readErasureFile } from '../../shared/ledger/erasure-file.ts';
import { readTicket } from '../../shared/ledger/reads.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';
import { checkpointAt, verifyAll } from './verify-support.ts';

const [OLD, NEW] = [generateKeyRingText('k1'), generateKeyRingText('k2')];
let database: TestDatabase;
let folder: string;
let before: Engine & { close: () => Promise<void> };
let after: Engine & { close: () => Promise<void> };

const open = async (ring: string) => {
  const base = await createTestEngine({ url: database.url, ring });
  return { ...base, artifacts: createFileArtifactStore(join(folder, 'artifacts'), base.ring) };
};
const ticket = { category: 'c', region: 'US', locale: 'en', queue: 'q', urgency: 'urgent' as const, sealed: { message: 'locked out', playerRef: 'p-1', contact: { sms: null, email: null } } };
const request = urgentRequest('03', { ticket: { ...ticket, receiptToken: 'before' } });
const accept = async (engine: Engine, over: Parameters<typeof urgentRequest>[1] = {}): Promise<string> => {
  const outcome = await acceptNotification(engine, urgentRequest('04', over));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.eventId;
};
const store = (engine: Engine, text: string) => storeArtifact(engine, { tenant: 't', source: (async function* () { yield Buffer.from(text); })(), mediaType: 'text/plain', maxBytes: 100, expiresAt: engine.now() + 3_600_000, expectedSha256: null, requestId: 'r', actor: 'a' });
const readBack = async (engine: Engine, artifact: { artifactId: string; sha256: string }): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of openArtifact(engine, artifact)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
};
const rows = (text: string, values: unknown[] = []) => before.db.pool.query(text, values).then((result) => result.rows);
const checkpoints = (): string => join(folder, 'checkpoints.jsonl');

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'rotation-'));
  before = await open(OLD);
  after = await open(`${NEW},${OLD}`);
});
afterAll(async () => {
  await Promise.all([before.close(), after.close()]);
  await database.drop();
  await rm(folder, { recursive: true });
});

describe('a new key in front of the ring', () => {
  let eventId: string;
  test('opens all that was sealed before: payloads, tickets, reports', async () => {
    const outcome = await acceptNotification(before, request);
    eventId = (outcome as { eventId: string }).eventId;
    expect(await renderAgain(after, eventId)).toEqual([expect.objectContaining({ verdict: 'matches' })]);
    const kept = await readTicket(after.db, { eventId });
    expect(kept?.sealed && openPart(after.ring, eventId, 'ticket', kept.sealed)).toMatchObject({ message: 'locked out' });
    const stored = await store(before, 'the report');
    if (stored.kind !== 'stored') throw new Error(stored.kind);
    expect(await readBack(after, stored.artifact)).toBe('the report');
    expect(await store(after, 'the report')).toMatchObject({ again: true, healed: false, artifact: { artifactId: stored.artifact.artifactId } });
  });

  test('seals what is new, which the old ring alone cannot open, and says so', async () => {
    const fresh = await accept(after, { ticket: { ...ticket, receiptToken: 'after' } });
    const stored = await store(after, 'another');
    if (stored.kind !== 'stored') throw new Error(stored.kind);
    const keyIds = await rows(`SELECT key_id FROM sealed_payload WHERE event_id = $1 UNION SELECT key_id FROM recipient WHERE event_id = $1 UNION SELECT key_id FROM ticket WHERE event_id = $1 UNION SELECT key_id FROM artifact WHERE artifact_id = $2`, [fresh, stored.artifact.artifactId]);
    expect(keyIds).toEqual([{ key_id: 'k2' }]);
    await expect(readBack(before, stored.artifact)).rejects.toMatchObject({ code: 'artifact_damaged' });
    await expect(refuseWrongKeys(before.db, before.ring)).rejects.toThrow(/sealed with key k2/);
    await refuseWrongKeys(after.db, after.ring);
  });

  test('changes nothing by which things are found again: idempotency keys, suppressions, cursors, links to reports, erasures', async () => {
    expect(await acceptNotification(after, request)).toEqual({ kind: 'replayed', eventId });
    await suppressDestination(before, { tenant: 'default', channel: 'sms', address: '+12025550104', reason: 'requested', actor: 'test' });
    const barred = await accept(after);
    expect((await after.load(barred))?.state.steps[0]).toMatchObject({ channel: 'sms', phase: 'skipped', reason: 'suppressed' });
    const first = await readFeed(before, { tenant: 'default', after: null, limit: 1 });
    if (first.kind !== 'page') throw new Error(first.kind);
    expect(await readFeed(after, { tenant: 'default', after: first.nextCursor, limit: 200 })).toMatchObject({ kind: 'page' });
    expect(reportToken(after.ring, eventId, 'sms')).toBe(reportToken(before.ring, eventId, 'sms'));
    const file = join(folder, 'erasures.jsonl');
    const erasure = newErasure(before.ring, 'p-1', { tenant: 'default', at: 1, reason: 'requested', actor: 'test' });
    await appendToErasureFile(file, [erasure]);
    expect(await readErasureFile(file, after.ring)).toEqual({ erasures: [erasure], unreadable: 0 });
    expect(newErasure(after.ring, 'p-1', { tenant: 'default', at: 1, reason: 'requested', actor: 'test' }).playerPrint).toEqual(erasure.playerPrint);
  });

  test('signs the checkpoints from then on, and those of before still count', async () => {
    const now = Date.now();
    await checkpointAt(before, checkpoints(), now);
    await accept(after);
    await checkpointAt(after, checkpoints(), now + 60_000);
    const signers = await rows('SELECT count(DISTINCT key_id)::int AS n FROM checkpoint');
    expect([signers, (await verifyAll(after.db, { ring: after.ring, file: checkpoints() })).faults]).toEqual([[{ n: 2 }], []]);
  });
});

test('without its last key nothing is recognised any more: the ring is refused as soon as it is tried on what that key sealed', async () => {
  const alone = await open(NEW);
  try {
    expect(reportToken(alone.ring, 'evt_x', 'sms')).not.toBe(reportToken(after.ring, 'evt_x', 'sms'));
    const oldest = (await rows('SELECT event_id, key_id, box FROM recipient ORDER BY event_id LIMIT 1'))[0];
    expect(() => openPart(alone.ring, oldest.event_id, 'recipient', { keyId: oldest.key_id, box: oldest.box })).toThrow(/which is not in the ring; put it back at the end of TOCSIN_KEYS/);
  } finally {
    await alone.close();
  }
});
