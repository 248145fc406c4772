import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeOnBackends } from '../support/backends.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import { faultsOf, within } from './support.ts';
import type { Faults } from './support.ts';

describeOnBackends('sent or not', (backend) => {
  let world: World;
  let faults: Faults;
  beforeAll(async () => {
    world = await openWorld({ backend, providerTimeoutMs: 400 });
    faults = faultsOf(world);
  });
  afterAll(() => world.close());

  test('fault 1: the answer to a submit is lost: unknown, and exactly one POST of the attempt', async () => {
    const eventId = await faults.send({ sms: [{ submit: 'lose_response' }, { listed: false }], email: [{ submit: 'accept' }] });
    expect((await faults.answered(eventId, 'sms')).attempts[0]).toMatchObject({ state: 'submitted_unknown', reason: 'lost_response' });
    await faults.pass(60_000);
    expect(await faults.attempt(eventId, 'sms')).toMatchObject({ state: 'submitted_unknown', submissions: 1 });
    expect([faults.calls(eventId, 'sms'), faults.got(eventId, 'email')]).toEqual([1, 1]);
  });

  test('fault 2: the line is reset before the message was written: tried again under the same key; after it: looked for, and not sent again', async () => {
    const before = await faults.send({ email: [{ submit: 'drop_before_read' }, { submit: 'accept' }] });
    expect((await faults.answered(before, 'email')).attempts[0]).toMatchObject({ state: 'queued', reason: 'reset_before_write', submissions: 1 });
    await faults.pass(5_000);
    expect((await faults.answered(before, 'email', 2)).attempts[0]).toMatchObject({ key: `${before}.email.1`, state: 'submitted', submissions: 2 });
    expect(faults.got(before, 'email')).toBe(1);
    const after = await faults.send({ sms: [{ submit: 'lose_response' }, { status: 'delivered', afterMs: 3_000 }] });
    expect((await faults.answered(after, 'sms')).attempts[0]?.state).toBe('submitted_unknown');
    await faults.pass(25_000);
    expect(await faults.count(after, 'AttemptAdopted')).toBe(1);
    expect([await world.status(after), faults.calls(after, 'sms')]).toEqual(['delivered', 1]);
  });

  test('fault 3: the connection drops after the DATA dot: unknown, and one message in the mailbox', async () => {
    const eventId = await faults.send({ email: [{ submit: 'lose_response' }] });
    expect((await faults.answered(eventId, 'email')).attempts[0]).toMatchObject({ state: 'submitted_unknown', reason: 'lost_response' });
    await faults.pass(120_000);
    expect(await faults.attempt(eventId, 'email')).toMatchObject({ state: 'submitted_unknown', submissions: 1 });
    expect(faults.got(eventId, 'email')).toBe(1);
  });

  test('fault 4: send calls that never return end at their own limit: unknown, and every worker slot is free again', async () => {
    // As many as the worker has slots.
    const hung = await Promise.all(Array.from({ length: 8 }, () => faults.send({ sms: [{ submit: 'hang' }], email: [{ submit: 'accept' }] })));
    await within(Promise.all(hung.map((eventId) => world.until(eventId, (state) => state.attempts[0]?.state === 'submitting'))));
    const next = await faults.send({ sms: [{ submit: 'accept' }] });
    expect((await faults.answered(next, 'sms')).attempts[0]?.state).toBe('submitted');
    for (const eventId of hung) expect((await faults.answered(eventId, 'sms')).attempts[0]).toMatchObject({ state: 'submitted_unknown', reason: 'request_timeout', submissions: 1 });
  });

  test('fault 5: a provider answers 5xx and sends all the same: found by our own reference, one POST, no email', async () => {
    const eventId = await faults.send({ sms: [{ submit: 'fail_after_accept', httpStatus: 500 }, { status: 'delivered', afterMs: 3_000 }], email: [{ submit: 'accept' }] });
    expect((await faults.answered(eventId, 'sms')).attempts[0]).toMatchObject({ state: 'submitted_unknown', reason: 'provider_error' });
    await faults.pass(20_000);
    expect(await faults.count(eventId, 'AttemptAdopted')).toBe(1);
    expect([await world.status(eventId), faults.calls(eventId, 'sms'), faults.got(eventId, 'email')]).toEqual(['delivered', 1, 0]);
  });
});
