import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { createHands } from '../../shared/delivery/hands.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { createRecent } from '../../shared/delivery/recent.ts';
import type { Append } from '../../shared/ledger/rows.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { loseAnswers } from '../support/lost-answers.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';

let at = Date.UTC(2026, 5, 1);
let calls = 0;
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

const settings = () => {
  const transport: Transport = {
    name: 'twilio', channel: 'sms', capabilities: engine.carriers.sms.capabilities, readStatus: async () => ({ kind: 'not_found' }), lookUp: async () => ({ kind: 'none' }), close: async () => {},
    submit: async () => {
      calls += 1;
      return { kind: 'accepted', providerMessageId: `SM${calls}` };
    },
  };
  return { transport, submitStartWithinMs: 60_000, actor: 'test' };
};

/** Resolves once an entry of that kind is appended through this engine. */
const appended = (on: Engine, kind: string): Promise<void> => new Promise((resolve) => {
  const { append } = on;
  on.append = async (one: Append) => {
    const won = await append(one);
    if (won && one.rows.entries.some((entry) => entry['kind'] === kind)) {
      on.append = append;
      resolve();
    }
    return won;
  };
});
const kinds = async (eventId: string) => (await readEntries(engine.db, eventId)).map(({ kind }) => kind);
const QUEUED = ['NotificationAccepted', 'AttemptPlanned', 'AttemptQueued'];

test('a start whose append stood though its answer was lost was never called: it is tried again, and sent once', async () => {
  const outcome = await acceptNotification(engine, urgentRequest('01'));
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  const key = `${outcome.eventId}.sms.1` as const;
  const recorded = appended(engine, 'SubmissionAbandoned');
  const { lost } = loseAnswers(engine.db, 'SubmissionStarted');
  await expect(performAttempt(engine, key, settings())).rejects.toThrow('away in mid-append');
  await recorded;
  expect([lost(), calls, await kinds(outcome.eventId)]).toEqual([2, 0, [...QUEUED, 'SubmissionStarted', 'SubmissionAbandoned']]);
  at += 1_000;
  await performAttempt(engine, key, settings());
  expect([calls, (await engine.load(outcome.eventId))?.state.attempts]).toMatchObject([1, [{ state: 'submitted', submissions: 2, unknownSubmissions: [] }]]);
});

test('so it is with an acceptance that starts its first attempt at once', async () => {
  const hands = createHands();
  hands.serve('sms', { provider: 'twilio', place: () => ({ submit: () => { calls += 1; }, leave: () => undefined }) });
  const together: Engine = { ...engine, hands, recent: createRecent() };
  // What starts at once rests on what was last seen of the provider.
  const first = await acceptNotification(together, urgentRequest('03'));
  if (first.kind !== 'accepted') throw new Error(first.kind);
  await performAttempt(together, `${first.eventId}.sms.1`, settings());
  const request = urgentRequest('02');
  const recorded = appended(together, 'SubmissionAbandoned');
  const before = calls;
  const { lost } = loseAnswers(engine.db, 'SubmissionStarted');
  await expect(acceptNotification(together, request)).rejects.toThrow('Connection terminated');
  await recorded;
  const again = await acceptNotification(together, request);
  if (again.kind !== 'replayed') throw new Error(again.kind);
  expect([lost(), calls - before, await kinds(again.eventId)]).toEqual([2, 0, [...QUEUED, 'SubmissionStarted', 'SubmissionAbandoned']]);
});
