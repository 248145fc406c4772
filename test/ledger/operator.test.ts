import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { decideAndAppend } from '../../shared/delivery/decide-and-append.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { pauseNotification, resumeNotification } from '../../shared/delivery/pause-notification.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { retryAttempt } from '../../shared/delivery/retry-attempt.ts';
import type { RetryOutcome } from '../../shared/delivery/retry-attempt.ts';
import type { Command } from '../../shared/domain/decide.ts';
import { fold } from '../../shared/domain/evolve.ts';
import type { SubmitResult } from '../../shared/domain/provider-answers.ts';
import type { RetryOverrides } from '../../shared/domain/retry.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import type { Stamped, Transition } from '../../shared/domain/transitions.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import type { SubmitRequest, Transport } from '../../shared/transports/transport.ts';
import { RECONCILING } from '../domain/policies.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, untiringPolicies, urgentRequest } from '../support/test-engine.ts';

let database: TestDatabase;
let engine: Engine & { close: () => Promise<void> };
let now = Date.now();

/** The shipped urgent policy, with a choice of what to do about an unknown outcome. */
const policies = untiringPolicies().map((policy) => ({ ...policy, steps: policy.steps.map((step) => ({ ...step, onUnknown: 'replay' as const })) }));

beforeAll(async () => {
  database = await createTestDatabase();
  engine = await createTestEngine({ url: database.url, now: () => now, policies });
});
afterAll(async () => {
  await engine.close();
  await database.drop();
});

const accept = async (over: Partial<Engine> = {}): Promise<string> => {
  const outcome = await acceptNotification({ ...engine, ...over }, urgentRequest());
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.eventId;
};
const act = (eventId: string, command: Command) => decideAndAppend(engine, eventId, { provenance: { actor: 'test', requestId: 'r' }, command: () => command });
const start = (attempt: string) => act(attempt.slice(0, 30), { kind: 'start_submission', attempt });
const answer = (attempt: string, result: SubmitResult, submission = 1) => act(attempt.slice(0, 30), { kind: 'record_submission', attempt, submission, result });
const stateOf = async (eventId: string): Promise<NotificationState> => (await engine.load(eventId))?.state as NotificationState;
const rows = (text: string, values: unknown[]) => engine.db.pool.query(text, values).then((result) => result.rows);
const retry = (attempt: string, overrides: RetryOverrides = {}, reason = 'checked', tenant: string | null = null): Promise<RetryOutcome> =>
  retryAttempt(engine, { tenant, attempt, overrides, reason, actor: 'ana', requestId: 'retry' });
const refused: SubmitResult = { kind: 'rejected', outcome: 'rejected', reason: 'invalid_destination' };

/** The ledger's own words, read back from Postgres, fold to the stored state. */
const expectFold = async (eventId: string): Promise<void> => {
  const entries = (await readEntries(engine.db, eventId)).map((entry): Stamped => {
    const body = JSON.parse(entry.body) as { at: number; kind: string; details: unknown };
    return { at: body.at, transition: { kind: body.kind, details: body.details } as Transition };
  });
  expect(fold(eventId, entries)).toEqual(await stateOf(eventId));
};

/** Both channels refused: nothing more follows by itself. */
const failedEverywhere = async (): Promise<string> => {
  const eventId = await accept();
  for (const channel of ['sms', 'email']) {
    await start(`${eventId}.${channel}.1`);
    await answer(`${eventId}.${channel}.1`, refused);
  }
  expect((await stateOf(eventId)).settledAt).not.toBeNull();
  return eventId;
};

describe('an operator retries an attempt', () => {
  test('that failed for good: sequence n+1 is planned in a settled notification, with its outbox row, and says who decided it', async () => {
    const eventId = await failedEverywhere();
    expect(await retry(`${eventId}.sms.1`)).toEqual({ kind: 'retried', means: 'new_attempt', attempt: `${eventId}.sms.2` });
    expect(await rows('SELECT origin, sequence, state FROM attempt WHERE attempt_key = $1', [`${eventId}.sms.2`])).toEqual([{ origin: 'operator', sequence: 2, state: 'queued' }]);
    expect(await rows('SELECT generation FROM outbox WHERE attempt_key = $1', [`${eventId}.sms.2`])).toEqual([{ generation: 1 }]);
    const entry = (await readEntries(engine.db, eventId)).find((one) => one.kind === 'OperatorRetried');
    expect(entry).toMatchObject({ actor: 'ana', requestId: 'retry' });
    await expectFold(eventId);
  });
  test('twice at the same time: one sequence n+1, and the loser is refused', async () => {
    const eventId = await failedEverywhere();
    const outcomes = await Promise.all([retry(`${eventId}.email.1`), retry(`${eventId}.email.1`)]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['refused', 'retried']);
    expect((await stateOf(eventId)).attempts.filter((attempt) => attempt.channel === 'email')).toHaveLength(2);
  });
  test('with a sentence as the reason: the ledger says `other`, the sentence is sealed beside the entry', async () => {
    const eventId = await failedEverywhere();
    await retry(`${eventId}.sms.1`, {}, 'Ada confirmed her number');
    expect(JSON.stringify((await readEntries(engine.db, eventId)).map((one) => one.body))).not.toContain('Ada');
    expect(await rows('SELECT 1 FROM observation_raw WHERE event_id = $1', [eventId])).toHaveLength(1);
  });
  test.each<[string, (eventId: string) => Promise<unknown>, string, string]>([
    ['once closed', (eventId) => act(eventId, { kind: 'close', reason: 'taken' }), 'sms', 'closed'],
    ['while paused', (eventId) => pauseNotification(engine, { tenant: null, eventId, reason: 'wrong_person', actor: 'ana', requestId: 'p' }), 'sms', 'paused'],
    ['while it is live', () => Promise.resolve(), 'sms', 'still_live'],
    ['that was never planned', () => Promise.resolve(), 'email', 'no_such_attempt'],
  ])('%s: refused with its reason, and nothing is appended', async (_, before, channel, refusal) => {
    const eventId = await accept();
    await before(eventId);
    const { version } = await stateOf(eventId);
    expect(await retry(`${eventId}.${channel}.1`)).toEqual({ kind: 'refused', refusal });
    expect((await stateOf(eventId)).version).toBe(version);
  });
  test('of another tenant, or of nothing: not found alike', async () => {
    const eventId = await failedEverywhere();
    expect(await retry(`${eventId}.sms.1`, {}, 'checked', 'another')).toEqual({ kind: 'not_found' });
    expect(await retry('nonsense')).toEqual({ kind: 'not_found' });
    expect(await retry('evt_00000000000000000000000000.sms.1')).toEqual({ kind: 'not_found' });
  });
});

describe('pause and resume', () => {
  const hold = (eventId: string, reason = 'maintenance') => pauseNotification(engine, { tenant: null, eventId, reason, actor: 'ana', requestId: 'p' });
  const free = (eventId: string) => resumeNotification(engine, { tenant: null, eventId, reason: 'done', actor: 'ana', requestId: 'r' });
  test('a paused notification has no alarm before its expiry, and a resumed one is enqueued at once', async () => {
    const eventId = await accept();
    expect(await hold(eventId)).toMatchObject({ kind: 'paused', reason: 'maintenance', inFlight: false, replayed: false, pausedAt: now });
    expect(await hold(eventId, 'another')).toMatchObject({ kind: 'paused', reason: 'maintenance', replayed: true });
    expect(await rows('SELECT decide_at FROM notification_state WHERE event_id = $1', [eventId])).toEqual([{ decide_at: new Date((await stateOf(eventId)).expiresAt) }]);
    expect(await free(eventId)).toEqual({ kind: 'resumed', status: 'accepted', replayed: false });
    expect(await free(eventId)).toMatchObject({ kind: 'resumed', replayed: true });
    expect(await rows('SELECT generation FROM outbox WHERE event_id = $1 ORDER BY id', [eventId])).toEqual([{ generation: 1 }, { generation: 2 }]);
    await expectFold(eventId);
  });
  test('a call in flight is named, and what is closed is neither paused nor resumed', async () => {
    const eventId = await accept();
    await start(`${eventId}.sms.1`);
    expect(await hold(eventId)).toMatchObject({ inFlight: true });
    await act(eventId, { kind: 'close', reason: 'taken' });
    expect([(await hold(eventId)).kind, (await free(eventId)).kind]).toEqual(['not_open', 'not_open']);
  });
  test('an id that is not there is not found', async () => {
    expect(await hold('evt_00000000000000000000000000')).toEqual({ kind: 'not_found' });
    expect(await free('evt_00000000000000000000000000')).toEqual({ kind: 'not_found' });
  });
});

describe('an unknown outcome at a provider that drops duplicates', () => {
  test('is replayed by the ordinary worker: the same key and the same bytes, and one attempt', async () => {
    const carriers = { sms: { ...RECONCILING.email, name: 'sinch' as const }, email: RECONCILING.email };
    const eventId = await accept({ carriers });
    const key = `${eventId}.sms.1`;
    const calls: SubmitRequest[] = [];
    const transport: Transport = {
      name: 'sinch', channel: 'sms', capabilities: carriers.sms.capabilities, close: () => Promise.resolve(),
      submit: (request) => Promise.resolve(calls.push(request) === 1 ? { kind: 'unknown', reason: 'lost_response' } : { kind: 'accepted', providerMessageId: `m-${eventId}` }),
    };
    const work = () => performAttempt(engine, key, { transport, submitStartWithinMs: 2_000, actor: 'delivery' });
    await work();
    await work();
    expect(calls).toHaveLength(1);
    now = (await stateOf(eventId)).attempts[0]?.resubmitAt as number;
    await act(eventId, { kind: 'tick' });
    await work();
    await work();
    expect(calls).toHaveLength(2);
    expect([calls[1]?.attemptKey, calls[1]?.message]).toEqual([calls[0]?.attemptKey, calls[0]?.message]);
    expect((await stateOf(eventId)).attempts).toMatchObject([{ key, state: 'submitted', submissions: 2 }]);
    await expectFold(eventId);
  });
});
