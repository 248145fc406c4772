import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { performAttempt } from '../../shared/delivery/perform-attempt.ts';
import { sweepDecisions } from '../../shared/delivery/sweep.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { PROVIDERS } from '../../shared/transports/carriers.ts';
import type { Transport } from '../../shared/transports/transport.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine, urgentRequest } from '../support/test-engine.ts';

describe('an attempt that was planned for another provider than a worker has', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let engine: Awaited<ReturnType<typeof createTestEngine>>;
  let at = Date.now();
  beforeAll(async () => {
    database = await createTestDatabase();
    engine = await createTestEngine({ url: database.url, now: () => at });
  });
  afterAll(async () => {
    await engine.close();
    await database.drop();
  });

  const worker = (name: 'twilio' | 'sinch') => {
    const submitted: string[] = [];
    const transport: Transport = {
      ...PROVIDERS[name], channel: 'sms', close: () => Promise.resolve(),
      submit: ({ attemptKey }) => {
        submitted.push(attemptKey);
        return Promise.resolve({ kind: 'accepted', providerMessageId: `${name}-${attemptKey}` });
      },
    };
    return { submitted, perform: (key: string) => performAttempt(engine, key, { transport, submitStartWithinMs: 2_000, actor: name }) };
  };
  const accept = async (): Promise<string> => {
    const outcome = await acceptNotification(engine, urgentRequest());
    if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
    return outcome.eventId;
  };
  const kinds = async (eventId: string) => (await readEntries(engine.db, eventId)).map(({ kind }) => kind);
  const first = async (eventId: string) => (await engine.load(eventId))?.state.attempts[0];

  test('is left queued for a worker of its own, which submits it', async () => {
    const eventId = await accept();
    const before = await kinds(eventId);
    const sinch = worker('sinch');
    expect(await sinch.perform(`${eventId}.sms.1`)).toBe('done');
    expect([await kinds(eventId), sinch.submitted]).toEqual([before, []]);
    const twilio = worker('twilio');
    await twilio.perform(`${eventId}.sms.1`);
    expect(twilio.submitted).toEqual([`${eventId}.sms.1`]);
    expect(await first(eventId)).toMatchObject({ state: 'submitted', provider: 'twilio' });
  });

  test('is a dead letter, never a call, where no worker of its own has come after two requeues', async () => {
    const eventId = await accept();
    const sinch = worker('sinch');
    for (let requeues = 0; requeues < 2; requeues += 1) {
      await sinch.perform(`${eventId}.sms.1`);
      expect(await first(eventId)).toMatchObject({ state: 'queued', requeues });
      at = (await first(eventId))?.requeueAt ?? at;
      await sweepDecisions(engine, 'sweep');
    }
    await sinch.perform(`${eventId}.sms.1`);
    expect(sinch.submitted).toEqual([]);
    expect(await first(eventId)).toMatchObject({ state: 'dead_lettered', reason: 'carrier_changed' });
    expect(await kinds(eventId)).toContain('FallbackClaimed');
  });
});
