import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { renderAttempt } from '../../shared/content/render-attempt.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { decideAndAppend, inputFor } from '../../shared/delivery/decide-and-append.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { sealRaw } from '../../shared/delivery/observe.ts';
import { openPart, renderFor } from '../../shared/delivery/payload.ts';
import { sweepDecisions } from '../../shared/delivery/sweep.ts';
import { templateKey } from '../../shared/delivery/versions.ts';
import { decide } from '../../shared/domain/decide.ts';
import { appendGroup } from '../../shared/ledger/append-group.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { toAppend } from '../../shared/ledger/rows.ts';
import { collectFaults } from '../../shared/ledger/verify-fault.ts';
import { verifyNotifications } from '../../shared/ledger/verify-database.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, SENDER, urgentRequest } from '../support/test-engine.ts';
import { withClient } from './verify-support.ts';

let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };
let now = Date.UTC(2026, 10, 20, 12);

beforeAll(async () => {
  database = await createTestDatabase();
  engine = await createTestEngine({ url: database.url, now: () => now });
});
afterAll(async () => {
  await engine.close();
  await database.drop();
});

const accept = async (): Promise<string> => {
  const outcome = await acceptNotification(engine, urgentRequest());
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.eventId;
};
const rows = (text: string, values: unknown[] = []) => engine.db.pool.query(text, values).then((result) => result.rows);
const asOwner = (text: string, values: unknown[] = []) => withClient(database.url, (client) => client.query(text, values));
const close = (eventId: string) => closeNotification(engine, { tenant: null, eventId, reason: 'taken', actor: 'test', requestId: 'r' });
const parts = (eventId: string) => rows('SELECT part, key_id, box, destroyed_at FROM sealed_payload WHERE event_id = $1 ORDER BY part', [eventId]);
const faultsFound = async () => {
  const faults = collectFaults();
  await verifyNotifications(engine.db, { faults, ring: engine.ring });
  return faults.list;
};

describe('the parts of a payload', () => {
  test('are sealed apart: what a template marks as secret, the other variables, the addresses', async () => {
    const eventId = await accept();
    const opened = (await parts(eventId)).map((row) => [row.part, openPart(engine.ring, eventId, row.part, { keyId: row.key_id, box: row.box })]);
    expect(opened).toEqual([
      ['secrets', { values: { player_ref: 'p-1', message: 'locked out' }, salt: expect.stringMatching(/^[0-9a-f]{64}$/) }],
      ['variables', expect.not.objectContaining({ message: expect.anything() })],
    ]);
    expect(opened[1]?.[1]).toMatchObject({ category: 'payment_lockout', queue: 'payments' });
  });

  test('that nobody can be reached with are not even written', async () => {
    const request = urgentRequest();
    const outcome = await acceptNotification(engine, { ...request, recipient: { ...request.recipient, sms: null, email: null } });
    const { eventId } = outcome as { eventId: string };
    expect((await parts(eventId)).map((row) => [row.part, row.box === null, row.destroyed_at?.getTime() ?? null])).toEqual([['secrets', true, now], ['variables', false, null]]);
  });

  test('are destroyed in the transaction of the entry that says so, at its instant, and the chain is as sound as before', async () => {
    const eventId = await accept();
    now += 1_000;
    await close(eventId);
    const [secrets, variables] = await parts(eventId);
    expect(secrets).toMatchObject({ part: 'secrets', box: null, key_id: null, destroyed_at: new Date(now) });
    expect(variables).toMatchObject({ part: 'variables', destroyed_at: null });
    expect(await rows('SELECT count(DISTINCT xid)::int AS transactions FROM ledger_entry WHERE event_id = $1 AND kind IN (\'NotificationClosed\', \'PayloadDestroyed\')', [eventId])).toEqual([{ transactions: 1 }]);
    now += 24 * 3_600_000;
    await sweepDecisions(engine, 'test');
    expect(await rows('SELECT box, key_id, erased_at, sms_print IS NULL AS unfindable FROM recipient WHERE event_id = $1', [eventId])).toEqual([{ box: null, key_id: null, erased_at: new Date(now), unfindable: false }]);
    now += 400 * 24 * 3_600_000;
    await sweepDecisions(engine, 'test');
    expect((await parts(eventId)).map((row) => row.box)).toEqual([null, null]);
    expect((await readEntries(engine.db, eventId)).filter((entry) => entry.kind === 'PayloadDestroyed')).toHaveLength(3);
    expect(await rows('SELECT decide_at FROM notification_state WHERE event_id = $1', [eventId])).toEqual([{ decide_at: null }]);
    expect(await faultsFound()).toEqual([]);
  });

  test('of one notification are left alone when the append of another one in its group destroys, or when its own loses', async () => {
    const [closed, stale, other] = [await accept(), await accept(), await accept()];
    const appendOf = async (eventId: string, command: Parameters<typeof decide>[0]) => {
      const loaded = await engine.load(eventId);
      if (!loaded) throw new Error('not loaded');
      const bound = await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
      return toAppend(decide(command, loaded.state, inputFor(engine, loaded, bound)), { before: loaded.state, prevHash: loaded.headHash, provenance: { actor: 'test', requestId: 'r' } });
    };
    const closing = { kind: 'close' as const, reason: 'taken' };
    const group = [await appendOf(closed, closing), await appendOf(stale, closing), await appendOf(other, { kind: 'start_submission', attempt: `${other}.sms.1` })];
    await engine.append(await appendOf(stale, { kind: 'start_submission', attempt: `${stale}.sms.1` }));
    expect(await appendGroup(engine.db, group)).toEqual(new Set([closed, other]));
    const kept = async (eventId: string) => (await engine.load(eventId))?.secrets !== null;
    expect([await kept(closed), await kept(stale), await kept(other)]).toEqual([false, true, true]);
  });

  test('leave no hash behind that tells a short secret by trial: the hash of a message takes a salt that goes with the secrets', async () => {
    const eventId = await accept();
    const loaded = await engine.load(eventId);
    if (!loaded) throw new Error('not loaded');
    const [attempt] = loaded.state.attempts;
    const bound = await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
    const [step] = bound.policy.steps;
    const template = step && bound.templates.get(templateKey(step.template, step.templateVersion));
    if (!attempt || !step || !template) throw new Error('not planned');
    const planned = { attemptKey: attempt.key, plannedAt: attempt.plannedAt };
    expect(renderFor(engine, loaded, bound, { step, ...planned })).toMatchObject({ ok: true, hash: attempt.renderHash });
    const guessed = renderAttempt({ template, channel: 'sms', locale: 'en', variables: urgentRequest().variables(eventId), to: '+12025550103', sender: SENDER, ...planned });
    expect(guessed).toMatchObject({ ok: true });
    expect(guessed.ok && guessed.hash).not.toBe(attempt.renderHash);
    expect(renderFor(engine, { ...loaded, secrets: null }, bound, { step, ...planned })).toMatchObject({ ok: false, reason: 'payload_destroyed' });
  });

  test('of a notification with secrets include no word of a provider, who may quote the message: status and code are kept', async () => {
    const eventId = await accept();
    const raw = { httpStatus: 201, code: 'queued', text: '{"body":"locked out"}' };
    await decideAndAppend(engine, eventId, { provenance: { actor: 'test', requestId: 'r' }, command: () => ({ kind: 'start_submission', attempt: `${eventId}.sms.1` }) });
    await decideAndAppend(engine, eventId, {
      provenance: { actor: 'test', requestId: 'r' }, command: () => ({ kind: 'record_submission', attempt: `${eventId}.sms.1`, submission: 1, result: { kind: 'accepted', providerMessageId: `M-${eventId}`, raw } }),
      enrich: sealRaw(engine, eventId, raw),
    });
    const [row] = await rows('SELECT key_id, box FROM observation_raw WHERE event_id = $1', [eventId]);
    expect(openPart(engine.ring, eventId, 'observation', { keyId: row.key_id, box: row.box })).toEqual({ httpStatus: 201, code: 'queued' });
  });
});

describe('the database', () => {
  const CHANGES: [string, string][] = [
    ['rewrites a box', 'UPDATE sealed_payload SET box = \'\\x00\'::bytea WHERE event_id = $1'],
    ['seals it under another key', 'UPDATE sealed_payload SET key_id = \'k9\' WHERE event_id = $1'],
    ['moves it to another part', 'UPDATE sealed_payload SET part = \'operator_text\' WHERE event_id = $1 AND part = \'secrets\''],
    ['rewrites an address', 'UPDATE recipient SET box = \'\\x00\'::bytea WHERE event_id = $1'],
    ['gives it to another recipient', 'UPDATE recipient SET sms_print = \'\\x00\'::bytea WHERE event_id = $1'],
  ];
  test.each(CHANGES)('refuses who %s, be it the application or the owner', async (_, statement) => {
    const eventId = await accept();
    await expect(rows(statement, [eventId])).rejects.toThrow(/permission denied|and nothing else/);
    await expect(asOwner(statement, [eventId])).rejects.toThrow(/and nothing else/);
  });

  test.each(['DELETE FROM sealed_payload WHERE event_id = $1', 'DELETE FROM recipient WHERE event_id = $1'])('refuses the application %s', async (statement) => {
    await expect(rows(statement, [await accept()])).rejects.toThrow(/permission denied/);
  });

  test('refuses who brings a destroyed box back, or moves the instant of its destruction', async () => {
    const eventId = await accept();
    await close(eventId);
    for (const statement of [
      'UPDATE sealed_payload SET box = \'\\x00\'::bytea, key_id = \'k1\', destroyed_at = NULL WHERE event_id = $1 AND part = \'secrets\'',
      'UPDATE sealed_payload SET destroyed_at = destroyed_at - interval \'1 day\' WHERE event_id = $1 AND part = \'secrets\'',
    ]) await expect(asOwner(statement, [eventId])).rejects.toThrow(/and nothing else/);
  });

  test('lets the application erase a recipient with its prints', async () => {
    const eventId = await accept();
    await rows('UPDATE recipient SET box = NULL, key_id = NULL, erased_at = $2, reference_print = NULL, sms_print = NULL, email_print = NULL WHERE event_id = $1', [eventId, new Date(now)]);
    expect(await rows('SELECT box, sms_print FROM recipient WHERE event_id = $1', [eventId])).toEqual([{ box: null, sms_print: null }]);
  });
});
