import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { suppressDestination } from '../../shared/delivery/suppression.ts';
import { describeOnBackends } from '../support/backends.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

describeOnBackends('all services in one process', (backend) => {
  let world: World;
  beforeAll(async () => { world = await openWorld({ backend, together: true, providerTimeoutMs: 1_000 }); });
  afterAll(() => world.close());

  const rows = async (): Promise<number> => Number((await world.ask('SELECT count(*) AS n FROM outbox'))[0]?.['n']);
  const got = (eventId: string) => world.sandbox.messages().filter((message) => message.attempt_key?.startsWith(eventId)).length;
  const submitted = (eventId: string) => world.until(eventId, (state) => state.attempts[0]?.state === 'submitted');

  /** Every place is taken. Returns the way to undo it. */
  const nobodyAtHand = (): (() => void) => {
    const hands = world.handOver?.hands;
    const place = hands?.placeFor;
    if (hands) hands.placeFor = () => null;
    return () => { if (hands && place) hands.placeFor = place; };
  };

  test('what is accepted is sent by this process, also while the queue is away; its outbox row then goes without a job', async () => {
    await world.takeQueueAway();
    const eventId = await world.accept('01');
    try {
      await submitted(eventId);
      while (world.handOver?.inHand().length !== 0) await new Promise((resolve) => { setImmediate(resolve); });
      // Rejects where there is anything to enqueue.
      await world.relay.drain();
      expect([await rows(), got(eventId)]).toEqual([0, 1]);
    } finally {
      await world.giveQueueBack();
    }
  });

  test('an undelivered SMS has its email sent, each message once', async () => {
    const eventId = await world.accept('02');
    await submitted(eventId);
    await world.advance(6_000);
    await world.until(eventId, (state) => state.attempts[1]?.state === 'submitted');
    expect(got(eventId)).toBe(2);
  });

  test('what a worker has in hand is not enqueued; what it could not do is', async () => {
    let finish: (isDone: boolean) => void = () => undefined;
    const held = new Promise<boolean>((resolve) => { finish = resolve; });
    world.handOver?.serve('sms', () => held);
    const free = nobodyAtHand();
    await world.relay.drain();
    const eventId = await world.accept('01');
    await world.relay.drain();
    expect([await rows(), got(eventId), world.handOver?.inHand().length]).toEqual([1, 0, 1]);
    finish(false);
    await held;
    await Promise.resolve();
    await world.relay.drain();
    await submitted(eventId);
    expect([await rows(), got(eventId)]).toEqual([0, 1]);
    free();
  });

  const versionsOf = (eventId: string) => world.ask('SELECT kind, xid::text FROM ledger_entry WHERE event_id = $1 ORDER BY version', [eventId]);

  test('what a worker has a place for is started by the acceptance itself: one transaction, no outbox row, one message', async () => {
    const eventId = await world.accept('01');
    expect(await rows()).toBe(0);
    await submitted(eventId);
    const entries = await versionsOf(eventId);
    expect(entries.slice(0, 4).map(({ kind }) => kind)).toEqual(['NotificationAccepted', 'AttemptPlanned', 'AttemptQueued', 'SubmissionStarted']);
    expect(new Set(entries.slice(0, 4).map(({ xid }) => xid)).size).toBe(1);
    expect(entries[4]?.['xid']).not.toBe(entries[3]?.['xid']);
    expect(got(eventId)).toBe(1);
  });

  test('the claim after an undelivered SMS starts its email in the same transaction', async () => {
    const eventId = await world.accept('02');
    await submitted(eventId);
    await world.advance(6_000);
    await world.until(eventId, (state) => state.attempts[1]?.state === 'submitted');
    const entries = await versionsOf(eventId);
    const claimed = entries.find(({ kind }) => kind === 'FallbackClaimed');
    expect(entries.filter(({ xid }) => xid === claimed?.['xid']).map(({ kind }) => kind)).toEqual(['AttemptUndelivered', 'FallbackClaimed', 'AttemptPlanned', 'AttemptQueued', 'SubmissionStarted']);
    expect(got(eventId)).toBe(2);
  });

  test('an acceptance that knew its provider as it was starts nothing by itself, and is sent all the same', async () => {
    await world.ask(`INSERT INTO provider_state (provider, revision, state, failures) VALUES ('twilio', 1, 'closed', 0) ON CONFLICT (provider) DO UPDATE SET revision = provider_state.revision + 1`);
    const eventId = await world.accept('01');
    expect(await rows()).toBe(1);
    await submitted(eventId);
    const entries = await versionsOf(eventId);
    expect(entries.find(({ kind }) => kind === 'SubmissionStarted')?.['xid']).not.toBe(entries[0]?.['xid']);
    await world.relay.drain();
    expect([await rows(), got(eventId)]).toEqual([0, 1]);
  });

  test('a destination that was suppressed is not sent to by an acceptance either', async () => {
    await suppressDestination(world.engine, { tenant: 'default', channel: 'sms', address: '+12025550107', reason: 'requested', actor: 'ana' });
    const eventId = await world.accept('07');
    await world.until(eventId, (state) => state.attempts[0]?.state === 'submitted');
    const { attempts, steps } = await world.state(eventId);
    expect([steps[0]?.phase, attempts.map(({ channel }) => channel)]).toEqual(['skipped', ['email']]);
  });

  test('a suppression that came after what this process last saw keeps the message from being sent', async () => {
    let begin: () => void = () => undefined;
    const mayBegin = new Promise<void>((resolve) => { begin = resolve; });
    world.handOver?.serve('sms', async () => { await mayBegin; return false; });
    nobodyAtHand();
    const eventId = await world.accept('01');
    expect(world.engine.recent.find(eventId)).not.toBeNull();
    await suppressDestination(world.engine, { tenant: 'default', channel: 'sms', address: '+12025550101', reason: 'requested', actor: 'ana' });
    begin();
    await world.relay.drain();
    await world.until(eventId, (state) => state.attempts[0]?.state !== 'queued');
    expect((await world.state(eventId)).attempts[0]).toMatchObject({ state: 'suppressed', submissions: 0 });
    expect(world.sandbox.messages().filter((message) => message.attempt_key === `${eventId}.sms.1`)).toEqual([]);
  });
});
