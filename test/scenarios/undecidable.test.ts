import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sweepDecisions } from '../../shared/delivery/sweep.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';

let database: TestDatabase;
let at = Date.UTC(2026, 5, 1);
const lines: string[] = [];
let engine: Awaited<ReturnType<typeof createTestEngine>>;
let stranger: Awaited<ReturnType<typeof createTestEngine>>;
beforeAll(async () => {
  database = await createTestDatabase();
  const log = createLogger({ level: 'error', service: 'test', redactPaths: [], destination: { write: (line: string) => { lines.push(line); } } });
  engine = await createTestEngine({ url: database.url, now: () => at, log });
  // Another key ring: what it seals cannot be opened by the engine under test.
  stranger = await createTestEngine({ url: database.url, now: () => at });
});
afterAll(async () => {
  await engine.close();
  await stranger.close();
  await database.drop();
});

test('a notification that cannot be decided on is told once, left alone for a while, and holds up no other', async () => {
  for (let index = 0; index < 3; index += 1) expect((await acceptNotification(stranger, urgentRequest('03'))).kind).toBe('accepted');
  const healthy = await acceptNotification(engine, urgentRequest('03'));
  at += 30_001;
  for (let round = 0; round < 20; round += 1) await sweepDecisions(engine, 'coordinator');
  expect(lines.filter((line) => line.includes('decision.failed'))).toHaveLength(3);
  if (healthy.kind !== 'accepted') throw new Error(healthy.kind);
  expect((await engine.load(healthy.eventId))?.state.attempts.map((attempt) => attempt.channel)).toEqual(['sms', 'email']);
  at += 30_001;
  await sweepDecisions(engine, 'coordinator');
  expect(lines.filter((line) => line.includes('decision.failed'))).toHaveLength(6);
});
