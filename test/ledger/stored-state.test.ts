import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { emptyState } from '../../shared/domain/state.ts';
import { packState, unpackState } from '../../shared/ledger/stored-state.ts';
import type { StoredState } from '../../shared/ledger/stored-state.ts';
import { marked } from '../support/marked.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';

let engine: Engine & { close: () => Promise<void> };
beforeAll(async () => { engine = await createTestEngine({ url: (await createTestDatabase()).url }); });
afterAll(() => engine.close());

const stored = async (eventId: string): Promise<{ state: StoredState; bytes: number }> =>
  (await engine.db.pool.query('SELECT state, length(state::text) AS bytes FROM notification_state WHERE event_id = $1', [eventId])).rows[0];
const accepted = async (): Promise<string> => {
  const outcome = await acceptNotification(engine, urgentRequest('01'));
  return outcome.kind === 'accepted' ? outcome.eventId : '';
};

test('a state is stored without what says nothing, and read back whole', async () => {
  const eventId = await accepted();
  const { state, bytes } = await stored(eventId);
  const loaded = await engine.load(eventId);
  expect(loaded?.state).toMatchObject({ ...emptyState(eventId), version: 3, purpose: 'game-support-urgent', policyVersion: expect.anything(), requestedAt: expect.anything(), expiresAt: expect.anything(), reconcileUntil: expect.anything(), steps: expect.anything(), attempts: expect.anything() });
  expect(loaded?.state.attempts[0]).toMatchObject({ state: 'queued', submissions: 0, evidence: null, unknownSubmissions: [], held: false, settledAt: null });
  expect(state).not.toHaveProperty('settledAt');
  expect(bytes).toBeLessThan(JSON.stringify(loaded?.state).length * 0.7);
});

test('a state that was stored whole, before that, reads the same', async () => {
  const eventId = await accepted();
  const before = (await engine.load(eventId))?.state;
  await engine.db.pool.query('UPDATE notification_state SET state = $2 WHERE event_id = $1', [eventId, JSON.stringify(before)]);
  expect((await engine.load(eventId))?.state).toEqual(before);
});

test('what says something is kept, whatever it is', () => {
  const state = { ...emptyState('evt_1'), closed: { reason: 'taken', at: 5 }, expired: true, paused: null, steps: [{ channel: 'sms' as const, phase: 'skipped' as const, reason: 'no_address' as const }] };
  expect(packState(state)).toEqual({
    eventId: 'evt_1', version: 0, purpose: '', policyVersion: 0, strategy: 'escalate', requestedAt: 0, expiresAt: 0, reconcileUntil: 0, closed: { reason: 'taken', at: 5 }, expired: true,
    steps: [{ channel: 'sms', phase: 'skipped', reason: 'no_address' }], attempts: [],
  });
  expect(unpackState(JSON.parse(JSON.stringify(packState(state))) as StoredState)).toEqual(state);
});

test('every member of a state and of its attempts is stored and read as it was', async () => {
  const state = (await engine.load(await accepted()))?.state as NotificationState;
  const whole = {
    ...marked({ ...state, erased: {}, quietHours: {}, payload: {} }), steps: [{ ...state.steps[0], reason: 'no_address' }],
    attempts: [{ ...marked({ ...state.attempts[0], shadow: true, reportsByMail: true, foundMeanwhile: true }), unknownSubmissions: [{ bookedAt: 1 }] }],
  } as unknown as NotificationState;
  expect(unpackState(JSON.parse(JSON.stringify(packState(whole))) as StoredState)).toStrictEqual(whole);
});

test('what is not known here is read, and stored again, as it stands: a later release may have written it, and verify sees what was forged', () => {
  const attempt = { key: 'evt_1.sms.1', sequence: 1, later: 1, ['__proto__']: { shadow: true } } as unknown as StoredState['attempts'][number];
  const stored = { ...packState(emptyState('evt_1')), later: 2, attempts: [attempt], steps: [{ channel: 'sms', phase: 'waiting', later: 3 }] } as unknown as StoredState;
  const state = unpackState(stored);
  expect(state).toMatchObject({ later: 2, attempts: [{ key: 'evt_1.sms.1', later: 1, polls: 0, evidence: null, unknownSubmissions: [] }], steps: [{ reason: null, later: 3 }] });
  expect(state.attempts[0]?.shadow).toBeUndefined();
  expect(packState(state)).toMatchObject({ later: 2, attempts: [{ key: 'evt_1.sms.1', later: 1 }], steps: [{ later: 3 }] });
});
