import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { pollAttempt } from '../../shared/delivery/poll-attempt.ts';
import type { LookUpResult, SubmitResult } from '../../shared/domain/provider-answers.ts';
import type { AttemptKey } from '../../shared/domain/words.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';

let at = Date.UTC(2026, 5, 1);
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let engine: Awaited<ReturnType<typeof createTestEngine>>;

beforeAll(async () => {
  database = await createTestDatabase();
  engine = await createTestEngine({ url: database.url, now: () => at });
});
afterAll(async () => {
  await engine.close();
  await database.drop();
});

const TAKEN: SubmitResult = { kind: 'accepted', providerMessageId: 'SM1', raw: { httpStatus: 201 } };

/** A provider that answers every call so. */
const answering = (submitted: SubmitResult, lookedUp: LookUpResult): Transport => ({
  name: 'twilio', channel: 'sms', capabilities: engine.carriers.sms.capabilities,
  submit: async () => submitted, readStatus: async () => ({ kind: 'not_found' }), lookUp: async () => lookedUp, close: async () => {},
});

const submitted = async (result: SubmitResult): Promise<AttemptKey> => {
  const outcome = await acceptNotification(engine, urgentRequest('01'));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  const key = `${outcome.eventId}.sms.1` as const;
  await performAttempt(engine, key, { transport: answering(result, { kind: 'none' }), submitStartWithinMs: 60_000, actor: 'test' });
  return key;
};
const lookedUp = async (key: AttemptKey, result: LookUpResult): Promise<void> => {
  at += 10_000;
  await pollAttempt(engine, key, { transports: new Map([['twilio', answering(TAKEN, result)]]), actor: 'test' });
};
const attemptOf = async (key: AttemptKey) => (await engine.load(key.split('.')[0] as string))?.state.attempts[0];
const observed = async (key: AttemptKey) => (await readEntries(engine.db, key.split('.')[0] as string)).map(({ kind, body }) => ({ kind, ...JSON.parse(body).details as object })).slice(-2);

test('a provider that gives one id twice has accepted the first message alone: the second is unknown, nothing is lost, and nobody waits', async () => {
  const first = await submitted(TAKEN);
  expect(await attemptOf(first)).toMatchObject({ state: 'submitted', providerMessageId: 'SM1' });
  const second = await submitted(TAKEN);
  expect(await attemptOf(second)).toMatchObject({ state: 'submitted_unknown', reason: 'answer_not_understood', providerMessageId: null, submissions: 1 });
  await lookedUp(second, { kind: 'found', providerMessageId: 'SM1', outcome: 'delivered', reason: null });
  expect(await attemptOf(second)).toMatchObject({ state: 'submitted_unknown', providerMessageId: null, failedReads: 1 });
  expect(await attemptOf(first)).toMatchObject({ state: 'submitted', providerMessageId: 'SM1' });
  await lookedUp(second, { kind: 'found', providerMessageId: 'SM2', outcome: 'delivered', reason: null });
  expect(await attemptOf(second)).toMatchObject({ state: 'delivered', providerMessageId: 'SM2' });
});

test('a look-up whose append stood though its answer was lost is recorded again, and counts once', async () => {
  const key = await submitted({ kind: 'unknown', reason: 'lost_response' });
  const { append } = engine;
  engine.append = async (one) => {
    await append(one);
    engine.append = append;
    throw Object.assign(new Error('connection terminated'), { code: 'ECONNRESET' });
  };
  await lookedUp(key, { kind: 'none' });
  expect(await observed(key)).toMatchObject([
    { kind: 'StatusObserved', outcome: 'not_found', counts: true, asked_at: at }, { kind: 'StatusObserved', outcome: 'not_found', counts: false, asked_at: at },
  ]);
});
