import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { hearRecipients } from '../../shared/delivery/hear-recipients.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import type { InboundMessage, Transport } from '../../shared/transports/transport.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';

let at = Date.UTC(2026, 5, 1);
let database: Awaited<ReturnType<typeof createTestDatabase>>;
let engine: Awaited<ReturnType<typeof createTestEngine>>;
const lines: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  const destination = new Writable({ write: (chunk: Buffer, _encoding, done) => { lines.push(chunk.toString()); done(); } });
  engine = await createTestEngine({ url: database.url, now: () => at, log: createLogger({ level: 'warn', service: 'test', redactPaths: [], destination }) });
});
afterAll(async () => {
  await engine.close();
  await database.drop();
});

const STOP = (id: string, from: string): InboundMessage => ({ id, from, text: 'STOP', receivedAt: at });
// A date that no timestamp of the database can hold.
const UNBOOKABLE: InboundMessage = { ...STOP('SM2', '+12025554902'), receivedAt: -8.64e15 };

test('a word that cannot be booked keeps no other one unheard, is told, and is tried with every read', async () => {
  const since: number[] = [];
  const provider: Transport = {
    name: 'twilio', channel: 'sms', capabilities: engine.carriers.sms.capabilities, submit: async () => ({ kind: 'unknown', reason: 'lost_response' }), close: async () => {},
    readInbound: async (asked) => {
      since.push(asked.since);
      return { kind: 'read', messages: [STOP('SM3', '+12025554903'), UNBOOKABLE, STOP('SM1', '+12025554901')], next: null };
    },
  };
  for (let times = 0; times < 2; times += 1) {
    expect(await hearRecipients(engine, provider, { everyMs: 1_000, busyMs: 1_000 })).toBe(true);
    at += 60_000;
  }
  expect((await engine.db.pool.query("SELECT message_id, result FROM inbound_word ORDER BY message_id")).rows).toMatchObject([{ message_id: 'SM1' }, { message_id: 'SM3' }]);
  expect(since[1]).toBe(since[0]);
  expect(lines.filter((line) => line.includes('"level":50') && line.includes('inbound.failed'))).toHaveLength(2);
});
