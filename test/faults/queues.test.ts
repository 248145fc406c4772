import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ulid } from 'ulid';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import { retryAttempt } from '../../shared/delivery/retry-attempt.ts';
import { attemptJobId } from '../../shared/queue/queue-names.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { eventually } from '../queue/rig.ts';
import { describeOnBackends } from '../support/backends.ts';
import { urgentRequest } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import type { Told } from './accept-and-die.ts';
import { faultsOf, within } from './support.ts';
import type { Faults } from './support.ts';

const ACCEPT = { submit: 'accept' };

/** Runs a process that accepts a notification and dies before it enqueues; resolves to the signal that ended it. */
const acceptAndDie = async (told: Told): Promise<NodeJS.Signals | null> => {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(new URL('accept-and-die.ts', import.meta.url))], { stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  child.stdin?.end(JSON.stringify(told));
  return (await ended)[1];
};

describeOnBackends('the queue', (backend) => {
  const ring = generateKeyRingText();
  let world: World;
  let faults: Faults;
  beforeAll(async () => {
    world = await openWorld({ backend, providerTimeoutMs: 2_000, ring });
    faults = faultsOf(world);
  });
  afterAll(() => world.close());

  /** A process that commits and never enqueues. */
  const dead = (eventId: string) => ({ ...world.engine, onEnqueued: () => undefined, mint: { ...world.engine.mint, eventId: () => eventId } });
  const newId = (): string => `evt_${ulid(world.now())}`;
  const copies = (eventId: string, channel: 'sms' | 'email', count: number) =>
    Array.from({ length: count }, (_, copy) => ({ id: `copy-${copy}-${channel}-${eventId}`, name: 'attempt', payload: { eventId, channel, sequence: 1 } }));
  const idle = () => within(eventually(async () => {
    const { sms, email } = await world.queue.counts();
    if (sms.waiting + sms.active + email.waiting + email.active > 0) throw new Error('busy');
  }));

  test('fault 20: killed with -9 between the database write and the enqueue: a message all the same, and one', async () => {
    const { variables, ...request } = urgentRequest('01');
    expect(await acceptAndDie({ url: world.databaseUrl, ring, now: world.now(), request, variables: variables(newId()) })).toBe('SIGKILL');
    const [row] = await world.ask('SELECT event_id FROM notification WHERE request_id = $1', [request.requestId]);
    const eventId = String(row?.['event_id']);
    await faults.answered(eventId, 'sms');
    expect(faults.calls(eventId, 'sms')).toBe(1);
    await faults.pass(30_000);
    expect([await world.status(eventId), (await world.kinds(eventId)).at(-1)]).toEqual(['delivered', 'NotificationSettled']);
  });

  test('fault 21: jobs of either channel that are delivered several times make one message each', async () => {
    const eventId = await faults.send({ sms: [{ submit: 'accept', answerAfterMs: 100 }, { status: 'never' }], email: [{ submit: 'accept', answerAfterMs: 100 }] });
    await world.queue.addJobs('sms', copies(eventId, 'sms', 4));
    await faults.answered(eventId, 'sms');
    await idle();
    await faults.pass(31_000);
    await world.queue.addJobs('email', copies(eventId, 'email', 4));
    await faults.answered(eventId, 'email');
    await idle();
    expect([faults.calls(eventId, 'sms'), faults.calls(eventId, 'email'), await faults.count(eventId, 'SubmissionStarted')]).toEqual([1, 1, 2]);
  });

  test('fault 22: a job swallowed by another one of its id is enqueued anew under a new id; a repeated request is answered as such and goes out', async () => {
    const eventId = newId();
    // What a worker that died with a job in hand leaves behind: its id is taken, for longer than the step has.
    await world.queue.addJobs('sms', [{ ...copies(eventId, 'sms', 1)[0], id: attemptJobId(`${eventId}.sms.1`, 1), name: 'attempt', payload: {}, delayMs: 3_600_000 }]);
    await acceptNotification(dead(eventId), urgentRequest('01'));
    await world.relay.drain();
    for (const requeues of [1, 2]) {
      expect(faults.calls(eventId, 'sms')).toBe(0);
      world.jump(requeues * 5_000 + 1);
      await world.coordinator.sweep();
      await faults.soon(eventId, (state) => (state.attempts[0]?.requeues ?? 0) >= requeues || (state.attempts[0]?.submissions ?? 0) > 0);
    }
    await faults.answered(eventId, 'sms');
    expect(faults.calls(eventId, 'sms')).toBe(1);

    const request = urgentRequest('01');
    const repeated = newId();
    await acceptNotification(dead(repeated), request);
    expect(await acceptNotification(world.engine, request)).toEqual({ kind: 'replayed', eventId: repeated });
    await faults.answered(repeated, 'sms');
    expect(faults.calls(repeated, 'sms')).toBe(1);
    await faults.pass(30_000);
  });

  test('fault 23: the queue restarts while everything is idle: an overdue poll is made within seconds, without a restart of ours', async () => {
    const eventId = await faults.send({ sms: [ACCEPT, { status: 'delivered', afterMs: 1_000 }] });
    await faults.answered(eventId, 'sms');
    await idle();
    if (backend.kind === 'redis') await world.takeQueueAway();
    else world.databaseProxy.cut();
    await world.flushQueue();
    if (backend.kind === 'redis') await world.giveQueueBack();
    else world.databaseProxy.restore();
    // Nothing but the clock moves from here on; a second round is for a read that failed by the load on the machine.
    for (let round = 0; round < 2 && (await world.status(eventId)) !== 'delivered'; round += 1) {
      world.jump(6_000);
      await faults.soon(eventId, (state) => state.attempts[0]?.state === 'delivered', 6_000);
    }
    expect(await world.status(eventId)).toBe('delivered');
  }, 60_000);

  test('fault 24: the queue is flushed with a job waiting in it: rebuilt from Postgres, one message', async () => {
    await world.sandbox.setOutage('sms', 'closed');
    const eventId = await faults.send({ sms: [ACCEPT] });
    await faults.soon(eventId, (state) => (state.attempts[0]?.generation ?? 0) > 1);
    await world.flushQueue();
    await world.sandbox.setOutage('sms', 'off');
    world.jump(20_000);
    expect((await faults.soon(eventId, (state) => state.attempts[0]?.state === 'submitted')).attempts[0]?.state).toBe('submitted');
    expect(faults.got(eventId, 'sms')).toBe(1);
  }, 60_000);

  test('fault 25: an error of the queue is never read as a duplicate: the row waits, and goes once the queue is back', async () => {
    await world.takeQueueAway();
    const eventId = await world.accept('01');
    await expect(world.relay.drain()).rejects.toThrow();
    expect(await world.ask('SELECT attempt_key FROM outbox WHERE event_id = $1', [eventId])).toEqual([{ attempt_key: `${eventId}.sms.1` }]);
    await world.giveQueueBack();
    await within(eventually(() => world.relay.drain()));
    await faults.answered(eventId, 'sms');
    expect(faults.calls(eventId, 'sms')).toBe(1);
  }, 60_000);

  test('fault 26: a replay that races a live worker is refused, and so is its job: one call', async () => {
    const eventId = await faults.send({ sms: [{ submit: 'accept', answerAfterMs: 700 }, { status: 'never' }] });
    await faults.soon(eventId, (state) => state.attempts[0]?.state === 'submitting');
    const request = { tenant: null, attempt: `${eventId}.sms.1`, reason: 'looks_stuck', overrides: {}, actor: 'ana', requestId: 'r' };
    expect(await retryAttempt(world.engine, request)).toEqual({ kind: 'refused', refusal: 'still_live' });
    await world.queue.addJobs('sms', copies(eventId, 'sms', 3));
    await faults.answered(eventId, 'sms');
    await idle();
    expect([faults.calls(eventId, 'sms'), await faults.count(eventId, 'SubmissionStarted')]).toEqual([1, 1]);
  });

  test('fault 28: a restart in the waiting window changes nothing: polls and claim come at the instants that were laid down before', async () => {
    const eventId = await faults.send({ sms: [ACCEPT, { status: 'never' }], email: [ACCEPT] });
    const deadline = (await faults.answered(eventId, 'sms')).attempts[0]?.decisionDeadlineAt;
    await faults.pass(12_000);
    const clocks = () => world.ask('SELECT next_poll_at, decide_at FROM attempt JOIN notification_state USING (event_id) WHERE event_id = $1', [eventId]);
    const before = await clocks();
    await world.restart();
    expect(await clocks()).toEqual(before);
    expect(before[0]?.['next_poll_at']).toBeInstanceOf(Date);
    await faults.pass(19_000);
    expect(await faults.claimedAt(eventId)).toBe(deadline);
    await faults.answered(eventId, 'email');
    expect([(await faults.observed(eventId)).length >= 4, faults.got(eventId, 'email')]).toEqual([true, 1]);
  });

  test('fault 30: every provider down, then up: the next job works, without a restart', async () => {
    await Promise.all([world.sandbox.setOutage('sms', 'closed'), world.sandbox.setOutage('email', 'closed')]);
    // More than there are connections to any of them.
    const during = await Promise.all(Array.from({ length: 20 }, (_, index) => faults.send(index < 4 ? { sms: [ACCEPT] } : { email: [ACCEPT] })));
    for (const eventId of during) await faults.soon(eventId, (state) => (state.attempts[0]?.submissions ?? 0) > 0 && state.attempts[0]?.state === 'queued');
    await Promise.all([world.sandbox.setOutage('sms', 'off'), world.sandbox.setOutage('email', 'off')]);
    const next = [await faults.send({ sms: [ACCEPT] }), await faults.send({ email: [ACCEPT] })];
    for (const eventId of next) expect((await faults.soon(eventId, (state) => state.attempts[0]?.state === 'submitted')).attempts[0]?.state).toBe('submitted');
    world.jump(3_000);
    for (const eventId of during) expect((await faults.soon(eventId, (state) => state.attempts[0]?.state === 'submitted')).attempts[0]?.state).toBe('submitted');
  }, 60_000);
});
