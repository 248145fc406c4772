import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { pollAttempt } from '../../shared/delivery/poll-attempt.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { loseAnswers } from '../support/lost-answers.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';

const START = Date.UTC(2026, 5, 1);
const PAST_DEADLINE_MS = 40_000;
let at = START;
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

test('an acceptance that waits for the database past its deadline is asked about once more, and what was delivered meanwhile is followed by nothing', async () => {
  const transport: Transport = {
    name: 'twilio', channel: 'sms', capabilities: engine.carriers.sms.capabilities, submit: async () => ({ kind: 'accepted', providerMessageId: 'SM1' }),
    readStatus: async () => ({ kind: 'observed', outcome: 'delivered', reason: null }), lookUp: async () => ({ kind: 'none' }), close: async () => {},
  };
  const outcome = await acceptNotification(engine, urgentRequest('01'));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  const { append } = engine;
  engine.append = async (one) => {
    if (!one.rows.entries.some((entry) => entry['kind'] === 'SubmissionAccepted')) return append(one);
    engine.append = append;
    at += PAST_DEADLINE_MS;
    throw Object.assign(new Error('connection terminated'), { code: 'ECONNRESET' });
  };
  const key = `${outcome.eventId}.sms.1` as const;
  await performAttempt(engine, key, { transport, submitStartWithinMs: 60_000, actor: 'test' });
  const told = async () => (await readEntries(engine.db, outcome.eventId)).map(({ kind, body }) => ({ kind, ...JSON.parse(body).details as object }));
  const entries = await told();
  expect(entries.find(({ kind }) => kind === 'SubmissionAccepted')).toMatchObject({ answered_at: START });
  expect(entries.map(({ kind }) => kind)).toContain('LookRequested');
  await pollAttempt(engine, key, { transports: new Map([['twilio', transport]]), actor: 'test' });
  expect((await engine.load(outcome.eventId))?.state.attempts).toMatchObject([{ state: 'delivered' }]);
  expect((await told()).map(({ kind }) => kind)).not.toContain('FallbackClaimed');
});

test('an acceptance that was written though the database went away before it said so is written once, also where that could not be asked at first', async () => {
  const transport: Transport = {
    name: 'twilio', channel: 'sms', capabilities: engine.carriers.sms.capabilities, submit: async () => ({ kind: 'accepted', providerMessageId: 'SM2' }),
    readStatus: async () => ({ kind: 'not_found' }), lookUp: async () => ({ kind: 'none' }), close: async () => {},
  };
  const { lost } = loseAnswers(engine.db, 'SubmissionAccepted');
  const outcome = await acceptNotification(engine, urgentRequest('02'));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  await performAttempt(engine, `${outcome.eventId}.sms.1`, { transport, submitStartWithinMs: 60_000, actor: 'test' });
  expect(lost()).toBe(2);
  expect((await readEntries(engine.db, outcome.eventId)).map(({ kind }) => kind)).toEqual(['NotificationAccepted', 'AttemptPlanned', 'AttemptQueued', 'SubmissionStarted', 'SubmissionAccepted']);
});
