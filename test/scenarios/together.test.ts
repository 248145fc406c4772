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

  test('what is accepted is sent by this process, also while the queue is away; its outbox row then goes without a job', async () => {
    await world.takeQueueAway();
    const eventId = await world.accept('01');
    await submitted(eventId);
    expect(await rows()).toBe(1);
    // Rejects where there is anything to enqueue.
    await world.relay.drain();
    expect([await rows(), got(eventId)]).toEqual([0, 1]);
    await world.giveQueueBack();
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
  });

  test('a suppression that came after what this process last saw keeps the message from being sent', async () => {
    let begin: () => void = () => undefined;
    const mayBegin = new Promise<void>((resolve) => { begin = resolve; });
    world.handOver?.serve('sms', async () => { await mayBegin; return false; });
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
